//! How a process ended.

use std::fmt;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::process::{WaitId, WaitIdOptions, WaitIdStatus};

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitInfo {
    /// It exited with this code.
    Code(i32),
    /// This signal killed it.
    Signal(i32),
    /// It is gone, and how it went is lost.
    Unknown,
}

impl fmt::Display for ExitInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exited with code {code}"),
            Self::Signal(signal) => match signal_hook::low_level::signal_name(*signal) {
                Some(name) => write!(f, "was killed by {name}"),
                None => write!(f, "was killed by signal {signal}"),
            },
            Self::Unknown => f.write_str("ended"),
        }
    }
}

/// Looks whether the process has ended, and leaves it to be reaped.
pub fn peek(process: BorrowedFd<'_>) -> Option<ExitInfo> {
    wait(process, WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT)
}

/// Reaps the process if it has ended.
pub fn reap(process: impl AsFd) -> Option<ExitInfo> {
    wait(process.as_fd(), WaitIdOptions::NOHANG)
}

fn wait(process: BorrowedFd<'_>, options: WaitIdOptions) -> Option<ExitInfo> {
    let id = WaitId::PidFd(process);
    match rustix::io::retry_on_intr(|| rustix::process::waitid(id.clone(), options | WaitIdOptions::EXITED)) {
        Ok(None) => None,
        Ok(Some(status)) => Some(told_by(&status)),
        // Not our child any more: reaped, by whomever.
        Err(rustix::io::Errno::CHILD) => Some(ExitInfo::Unknown),
        // Whatever this is, it is no proof of an end.
        Err(_) => None,
    }
}

fn told_by(status: &WaitIdStatus) -> ExitInfo {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => ExitInfo::Code(code),
        (None, Some(signal)) => ExitInfo::Signal(signal),
        (None, None) => ExitInfo::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ending_reads_as_a_sentence() {
        assert_eq!(format!("it {}", ExitInfo::Code(3)), "it exited with code 3");
        assert_eq!(format!("it {}", ExitInfo::Signal(9)), "it was killed by SIGKILL");
    }
}
