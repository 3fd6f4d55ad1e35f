//! Reaps the orphans that come to us because we are a subreaper (or PID 1), and keeps an eye on families and guardian.

use std::os::unix::net::UnixStream;
use std::time::Duration;
use std::{io, thread};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, WaitOptions};
use signal_hook::consts::SIGCHLD;

use super::control;
use super::guard::Guard;
use super::procfs::Stat;
use super::registry::Registry;

/// How often families are looked at, so that a descendant is known before it loses its parents.
const TICK: Duration = Duration::from_secs(1);
/// How soon to look again where a fork was going on.
const AGAIN: Duration = Duration::from_millis(20);

/// Starts the reaper's thread, for the life of the process.
///
/// # Errors
/// When the handler of SIGCHLD or the thread can't be set up.
pub fn start(registry: Registry, guard: Guard) -> io::Result<()> {
    let (mut news, notify) = UnixStream::pair()?;
    news.set_nonblocking(true)?;
    // Also undoes an inherited "ignore", under which the kernel would reap our own children behind our back.
    signal_hook::low_level::pipe::register(SIGCHLD, notify)?;
    let work = move || {
        let mut pause = TICK;
        loop {
            wait_for_news(&mut news, pause);
            let done = registry.with_orphans(|is_owned| reap_orphans(is_owned));
            pause = if done { TICK } else { AGAIN };
            guard.keep();
            for family in registry.families() {
                family.remember();
            }
        }
    };
    thread::Builder::new().name("reaper".to_owned()).stack_size(256 << 10).spawn(work)?;
    Ok(())
}

fn wait_for_news(news: &mut UnixStream, pause: Duration) {
    let limit = Timespec { tv_sec: 0, tv_nsec: 0 };
    let limit = Timespec::try_from(pause).unwrap_or(limit);
    let _ = rustix::event::poll(&mut [PollFd::new(&*news, PollFlags::IN)], Some(&limit));
    let mut buffer = [0; 256];
    while matches!(io::Read::read(news, &mut buffer), Ok(length) if length > 0) {}
}

fn reap_orphans(is_owned: &dyn Fn(u32) -> bool) {
    while let Some(zombie) = control::any_zombie() {
        if is_owned(id(zombie)) {
            // It hides the others from this question.
            return reap_behind_owned(is_owned);
        }
        reap(zombie);
    }
}

fn reap_behind_owned(is_owned: &dyn Fn(u32) -> bool) {
    let us = std::process::id();
    for zombie in Stat::all().iter().filter(|stat| stat.parent == us && !stat.alive && !is_owned(stat.pid)) {
        if let Some(pid) = i32::try_from(zombie.pid).ok().and_then(Pid::from_raw) {
            reap(pid);
        }
    }
}

fn reap(zombie: Pid) {
    let _ = rustix::process::waitpid(Some(zombie), WaitOptions::NOHANG);
}

fn id(pid: Pid) -> u32 {
    pid.as_raw_nonzero().get().unsigned_abs()
}
