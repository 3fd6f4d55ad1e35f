//! The state machine of supervision: its table, and its rules one by one. `tests/sim` has the histories.

mod bench;
mod budget;
mod closing;
mod liveness;
mod orders;
mod outages;
mod state_table;
