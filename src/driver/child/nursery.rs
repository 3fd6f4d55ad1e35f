//! Where processes are started, and what is done so that none outlives its purpose.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use super::command::{self, Launched, Order};
use super::forker::Forker;
use super::guard::Guard;
use super::leftover::{self, Leftover};
use super::mark::Mark;
use super::process::{self, Child, Pipes, Turn};
use super::registry::Registry;
use super::{control, reaper};
use crate::config::settings::StdioSettings;
use crate::core::cause::{Cause, CauseKind};
use crate::core::generation::Generation;
use crate::telemetry::Telemetry;
use crate::telemetry::note::Note;

/// What a nursery needs to know.
#[derive(Clone, Debug)]
pub struct NurseryOptions {
    /// Our own binary, for the guardian; `/proc/self/exe` also where it was replaced meanwhile. Its `main` passes what
    /// follows the argument `__guardian` to [`guardian_main`](super::guardian_main).
    pub program: PathBuf,
    /// Where stderr of servers, leftovers and trouble with the guardian are reported.
    pub telemetry: Telemetry,
}

/// Starts processes that don't survive us. One per program; clones are the same.
#[derive(Clone)]
pub struct Nursery {
    inner: Arc<Inner>,
}

struct Inner {
    mark: Mark,
    registry: Registry,
    forker: Forker,
    guard: Guard,
    telemetry: Telemetry,
    /// Per server: held from the start of a process until its end is proved.
    turns: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
}

impl fmt::Debug for Nursery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nursery").finish_non_exhaustive()
    }
}

impl Nursery {
    /// Makes this process a subreaper, and starts the guardian, the reaper and the thread that forks. Needs no runtime.
    ///
    /// # Errors
    /// When one of them can't be had, or this program has a nursery already: it reaps every child of the process that is
    /// not its own.
    pub fn open(options: NurseryOptions) -> io::Result<Self> {
        static OPENED: AtomicBool = AtomicBool::new(false);
        if OPENED.swap(true, Ordering::SeqCst) {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "this process has a nursery already"));
        }
        let mark = Mark::of_ourselves()?;
        control::keep_descriptors_from_exec();
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        let (registry, telemetry) = (Registry::default(), options.telemetry);
        let guard = Guard::start(options.program, mark.clone(), registry.clone(), telemetry.clone())?;
        reaper::start(registry.clone(), guard.clone())?;
        let forker = Forker::start()?;
        let turns = Mutex::default();
        Ok(Self { inner: Arc::new(Inner { mark, registry, forker, guard, telemetry, turns }) })
    }

    /// Starts one generation's process. Has to be called on a runtime, which then watches the process.
    ///
    /// Waits for as long as the end of this server's last process is not proved. Dropping the future does not stop a
    /// start under way: its process is then killed as soon as it is there.
    ///
    /// # Errors
    /// `CommandNotFound` or `SpawnFailed`, in words for the operator and without secrets.
    pub async fn spawn(
        &self,
        server: &str,
        generation: Generation,
        settings: &StdioSettings,
    ) -> Result<(Child, Pipes), Cause> {
        let turn = self.turn(server).lock_owned().await;
        let (mark, server, settings) = (self.inner.mark.clone(), server.to_owned(), settings.clone());
        let order = Arc::new(Order { mark, server, generation, settings });
        let (reply, answer) = oneshot::channel();
        tokio::spawn(self.clone().deliver(order, turn, reply));
        answer.await.unwrap_or_else(|_| Err(Cause::new(CauseKind::Internal, "starting the process broke off")))
    }

    /// Ends processes whose supervisor is provably dead; those of other sidecars that live are left alone. To be called
    /// before anything is started. Takes at most `bound`, and returns those that can't be ended: to start their
    /// servers would make two of them.
    pub async fn end_leftovers(&self, bound: Duration) -> Vec<Leftover> {
        let us = self.inner.mark.clone();
        let found = tokio::task::spawn_blocking(move || leftover::end_all(&us, bound)).await.unwrap_or_default();
        for (leftover, ended) in &found {
            let (server, pid, ended) = (leftover.server.clone(), leftover.pid, *ended);
            self.inner.telemetry.note(&Note::LeftoverFound { server, pid, ended });
        }
        found.into_iter().filter(|(_, ended)| !ended).map(|(leftover, _)| leftover).collect()
    }

    /// Starts nothing any more, and sends the guardian home if nothing is left for it. Returns how many processes are
    /// not proved dead: those the guardian ends once we are gone. Takes at most about a second.
    pub async fn shutdown(&self) -> usize {
        let left = self.inner.registry.close();
        let guard = self.inner.guard.clone();
        if left == 0 {
            let _ = tokio::task::spawn_blocking(move || guard.goodbye()).await;
        }
        left
    }

    /// Sees a start through; an answer that nobody takes is dropped, and with it the process.
    async fn deliver(self, order: Arc<Order>, turn: Turn, reply: oneshot::Sender<Result<(Child, Pipes), Cause>>) {
        let launched = self.launch(order.clone()).await;
        let (registry, telemetry) = (self.inner.registry.clone(), self.inner.telemetry.clone());
        let outcome = launched.and_then(|launched| Child::adopt(launched, &order, registry, telemetry, turn));
        let _ = reply.send(outcome);
    }

    async fn launch(&self, order: Arc<Order>) -> Result<Launched, Cause> {
        let (report, reported) = oneshot::channel();
        let registry = self.inner.registry.clone();
        self.inner.forker.run(move || {
            if let Err(Ok(launched)) = report.send(command::launch(&order, &registry)) {
                // The runtime is gone, and nobody will ever ask for it.
                process::abandon(launched.pid, &registry);
            }
        });
        reported.await.unwrap_or_else(|_| Err(Cause::new(CauseKind::Internal, "the thread that forks panicked")))
    }

    fn turn(&self, server: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut turns = self.inner.turns.lock().unwrap_or_else(PoisonError::into_inner);
        turns.retain(|_, turn| Arc::strong_count(turn) > 1);
        turns.entry(server.to_owned()).or_default().clone()
    }
}
