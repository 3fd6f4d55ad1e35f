//! The close barrier: asks a process to end, then makes it, and returns only when nothing of it is left.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::exit;
use super::kin;
use super::process::Process;
use super::procfs::Stat;

/// The part of the bound that a server has after its stdin was closed, and again after SIGTERM. What is left is for
/// SIGKILL to take effect.
const PATIENCE: f64 = 0.3;
/// What a family has, at most, to follow its leader on its own.
const GRACE: Duration = Duration::from_millis(500);
/// Pauses between looks at the family: the first, and the longest.
const FIRST_LOOK: Duration = Duration::from_millis(10);
const LAST_LOOK: Duration = Duration::from_millis(100);
/// Pauses between kills: the first, and the longest.
const FIRST_KILL: Duration = Duration::from_millis(100);
const LAST_KILL: Duration = Duration::from_secs(1);

impl Process {
    /// As [`Child::close`](super::Child::close) promises.
    pub(super) async fn close(&self, bound: Duration) {
        let mut turn = self.turn.lock().await;
        if turn.is_none() {
            return;
        }
        let patience = bound.mul_f64(PATIENCE);
        let asked = if self.is_over() { Duration::ZERO } else { patience };
        if !self.is_gone_within(asked).await {
            self.signal(Signal::TERM).await;
            // A stopped process can't act on SIGTERM.
            self.signal(Signal::CONT).await;
            if !self.is_gone_within(patience).await {
                let mut pause = FIRST_KILL;
                self.signal(Signal::KILL).await;
                while !self.is_gone_within(pause).await {
                    self.signal(Signal::KILL).await;
                    pause = (pause * 2).min(LAST_KILL);
                }
            }
        }
        // Its last words are read by now; whoever else holds the pipe is none of us.
        self.exited().await;
        self.attendant.abort();
        exit::reap(&*self.descriptor);
        self.registry.disown(self.id());
        *turn = None;
    }

    fn is_over(&self) -> bool {
        exit::peek(self.descriptor.as_fd()).is_some()
    }

    /// Whether the end is proved within this time; says no earlier where the leader is over and its family stays.
    async fn is_gone_within(&self, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        let mut leaderless: Option<Instant> = None;
        let mut pause = FIRST_LOOK;
        loop {
            if self.is_over() {
                if self.is_alone().await {
                    return true;
                }
                let since = *leaderless.get_or_insert_with(Instant::now);
                if since.elapsed() >= GRACE || Instant::now() >= until {
                    return false;
                }
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LAST_LOOK);
            } else if tokio::time::timeout_at(until.into(), self.exited()).await.is_err() {
                return false;
            }
        }
    }

    /// Whether nothing of the family runs, seen twice: one walk through `/proc` can miss what forks or executes
    /// meanwhile.
    async fn is_alone(&self) -> bool {
        if !self.living().await.is_some_and(|family| family.is_empty()) {
            return false;
        }
        tokio::time::sleep(FIRST_LOOK).await;
        self.living().await.is_some_and(|family| family.is_empty())
    }

    /// `None` if that can't be told.
    async fn living(&self) -> Option<Vec<Stat>> {
        let kin = self.kin.clone();
        tokio::task::spawn_blocking(move || kin.living()).await.ok()
    }

    async fn signal(&self, signal: Signal) {
        // The leader is not reaped yet, so the group's id is still its own.
        let _ = rustix::process::kill_process_group(self.pid, signal);
        let group = self.id();
        let mut rest = self.living().await.unwrap_or_default();
        rest.retain(|member| member.group != group);
        kin::signal_all(&rest, signal);
    }
}
