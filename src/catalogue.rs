//! What clients see: the tools of all servers, as one atomic, byte-stable snapshot.

pub mod snapshot;
