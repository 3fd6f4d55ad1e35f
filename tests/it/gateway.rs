//! The downstream side by itself, on real sockets.

mod calls;
mod changes;
mod eras;
mod guards;
mod limits;
mod sessions;
mod stop;
