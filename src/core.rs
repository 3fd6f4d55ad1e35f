//! Supervision as a pure state machine: events in, actions and facts out, time passed in.
//!
//! Nothing in here reads a clock, touches a socket or a process, writes a log line or counts a metric; only `std` is
//! used, which a test (`tests/it/layering.rs`) proves. One [`machine::Machine`] supervises one target.

// A new state or event has to be thought about wherever one is told from another.
#![deny(clippy::wildcard_enum_match_arm)]

pub mod action;
pub mod admission;
pub mod backoff;
pub mod budget;
pub mod cause;
pub mod event;
pub mod fact;
pub mod generation;
pub mod machine;
pub mod poison;
pub mod policy;
pub mod status;
pub mod verdict;
