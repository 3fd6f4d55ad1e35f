//! Seeded histories of the state machine against a plain reference model and against the promises it makes.
//!
//! `SIM_SEED=… SIM_RUNS=… cargo test --test sim` replays: a failure prints both.

#![expect(clippy::expect_used, reason = "the tests' helpers fail their test by panicking, like the tests themselves")]

mod choices;
mod histories;
mod judge;
mod model;
mod order;
mod permutations;
mod seeds;
mod tally;
mod world;
