//! The only unsafe code: what has to happen between `fork` and `exec`, and a few calls without a safe
//! wrapper.

#![expect(unsafe_code, reason = "pre_exec hooks, and a few calls without a safe wrapper")]

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;

use rustix::process::{Pid, Signal};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Ties the process that `command` starts to us: group leader, dead when the calling THREAD ends, default signal
/// dispositions, and no descriptor of ours but 0, 1 and 2.
pub fn tie_to_us(command: &mut Command) {
    let parent = rustix::process::getpid();
    command.process_group(0);
    let before_exec = move || {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        // We may have died before that took effect; then nobody would send the signal.
        if rustix::process::getppid() != Some(parent) {
            return Err(io::Error::from(rustix::io::Errno::SRCH));
        }
        set_all_signals(libc::SIG_DFL);
        keep_descriptors_from_exec();
        Ok(())
    };
    // SAFETY: the closure makes system calls only: it neither allocates nor locks, and unwinds nowhere.
    unsafe { command.pre_exec(before_exec) };
}

/// Frees the process that `command` starts from us: a session of its own, deaf to every signal that can be ignored, and
/// no descriptor of ours but 0, 1 and 2.
pub fn cut_loose(command: &mut Command) {
    let before_exec = || {
        rustix::process::setsid()?;
        set_all_signals(libc::SIG_IGN);
        keep_descriptors_from_exec();
        Ok(())
    };
    // SAFETY: as in `tie_to_us`.
    unsafe { command.pre_exec(before_exec) };
}

/// Marks all descriptors from 3 on close-on-exec: those we were started with as well as our own. (Kernels before 5.11
/// can't; there only what somebody leaked to us leaks further, as everything of ours is opened close-on-exec.)
pub fn keep_descriptors_from_exec() {
    let (first, last) = (3 as libc::c_uint, libc::c_uint::MAX);
    // SAFETY: only changes flags of descriptors, which no memory depends on.
    unsafe { libc::syscall(libc::SYS_close_range, first, last, libc::CLOSE_RANGE_CLOEXEC) };
}

/// A child of ours that is over and not reaped, and leaves it so.
pub fn any_zombie() -> Option<Pid> {
    // SAFETY: all-zero bytes are a valid `siginfo_t`, a C struct of integers and pointers that the kernel fills in.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: `info` is valid for writes during the call.
    let result = unsafe { libc::waitid(libc::P_ALL, 0, &raw mut info, options) };
    if result != 0 {
        return None;
    }
    // SAFETY: `waitid` succeeded, so the fields of SIGCHLD are set; without a zombie the pid is 0.
    Pid::from_raw(unsafe { info.si_pid() })
}

/// Watches a process by its descriptor: readable once it has exited.
///
/// # Errors
/// When it can't be registered with the runtime's poller.
pub fn watch(process: Arc<OwnedFd>) -> io::Result<AsyncFd<Arc<OwnedFd>>> {
    // SAFETY: an `Arc<OwnedFd>` gives the same descriptor each time, and keeps it open for as long as it exists.
    let registered = unsafe { AsyncFd::register_with_interest(process, Interest::READABLE) };
    registered.map_err(Into::into)
}

/// Handlers are undone by `exec`, but what is ignored stays ignored. `libc::signal` would leave out the two signals that
/// the C library keeps to itself.
fn set_all_signals(disposition: libc::sighandler_t) {
    // The kernel's `struct sigaction` begins with the handler; all the rest is zero, and fits.
    let mut action = [0_usize; 8];
    action[0] = disposition;
    let none = std::ptr::null_mut::<libc::c_void>();
    for signal in 1..=64 {
        // SAFETY: `action` is valid for reads, and names no handler; refused for SIGKILL and SIGSTOP.
        unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, action.as_ptr(), none, 8) };
    }
}
