//! What the process tests share: the real binary under test, a client that hides nothing, level-triggered waits.

#![allow(dead_code, reason = "each helper serves some of the tests; which ones changes with them")]

pub mod client;
pub mod configs;
pub mod endpoint;
pub mod exchange;
pub mod freezer;
pub mod journal;
pub mod nursery;
pub mod ports;
pub mod procfs;
pub mod refusing;
pub mod sidecar;
pub mod upstream;
pub mod wait;
