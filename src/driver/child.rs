//! A stdio server's process: spawned by us, owned by us, its end proved by us.
//!
//! [`Nursery`] starts processes and keeps the promise that none of them survives us; [`Child`] is one of them. What
//! makes the promise hold, from the inside out:
//!
//! * a process group per child, and its parent-death signal set from a thread that lives as long as we do (`forker`);
//! * we are a subreaper: what a child leaves behind becomes ours, and is reaped (`reaper`) or ended (`close`);
//! * a guardian, the same binary in a session of its own, ends what is left when we die of SIGKILL (`guardian`);
//! * an environment mark on every process (`mark`), by which the next start finds what even that missed
//!   (`leftover`).
//!
//! Linux 5.4 or newer: process descriptors (`pidfd`) are what makes watching and signalling free of races.

mod close;
pub mod command;
mod control;
pub mod exit;
mod forker;
mod guard;
pub mod guardian;
mod kin;
mod leftover;
pub mod mark;
pub mod nursery;
pub mod process;
mod procfs;
mod reaper;
mod redact;
mod registry;
mod stderr;
mod stdin;

pub use exit::ExitInfo;
pub use guardian::guardian_main;
pub use leftover::Leftover;
pub use nursery::{Nursery, NurseryOptions};
pub use process::{Child, Pipes};
pub use stdin::Stdin;
