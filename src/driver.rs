//! The only clock and I/O of supervision. Carries out what the core orders; decides nothing.

pub mod child;
pub mod session;
pub mod wire;
