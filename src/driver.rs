//! The only clock and I/O of supervision. Carries out what the core orders; decides nothing.
//!
//! One [`target::run`] loop per target steps the machine; one [`incarnation`] per generation owns its process and
//! session from start to proven end; [`calls`] carries a client's call through outages; [`fleet`] is what the gateway
//! sees of all targets.

pub mod calls;
pub mod child;
pub mod connect;
pub mod fleet;
pub mod flight;
pub mod incarnation;
pub mod live;
pub mod refusal;
pub mod session;
pub mod sync;
pub mod target;
pub mod wire;
