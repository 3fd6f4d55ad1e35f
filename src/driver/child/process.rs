//! One process of ours: its pipes, its end, its last words.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use tokio::io::unix::AsyncFd;
use tokio::net::unix::pipe;
use tokio::runtime::Handle;
use tokio::sync::{OwnedMutexGuard, watch};
use tokio::task::AbortHandle;

use super::command::{Launched, Order};
use super::control;
use super::exit::{self, ExitInfo};
use super::kin::{self, Kin};
use super::redact::Redactor;
use super::registry::Registry;
use super::stderr::{StderrLog, Tail};
use super::stdin::Stdin;
use crate::core::cause::{Cause, CauseKind};
use crate::telemetry::Telemetry;
use crate::telemetry::note::Note;

/// What is read of stderr at once, in bytes.
const CHUNK: usize = 64 << 10;
/// What is read of stderr per second in the long run, and at once, in bytes. Above that the child waits: a flood must
/// not cost a CPU.
const READ_RATE: f64 = 1024.0 * 1024.0;
const READ_BURST: f64 = 4.0 * READ_RATE;
/// What is read of stderr, at most, before an exit is told: the last words, not a flood of the survivors.
const LAST_WORDS: usize = 1 << 20;
/// How often to look for an exit that nobody announces any more.
const LOOK: Duration = Duration::from_millis(100);

/// The right to have a process of one server.
pub(super) type Turn = OwnedMutexGuard<()>;

/// One process of ours. Clones are the same process.
///
/// When the last clone is dropped before [`close`](Child::close) has returned, the process and its family are killed.
/// Whatever happens, no other process of this server is started before the end of this one is proved.
#[derive(Clone)]
pub struct Child {
    held: Arc<Held>,
}

/// Our ends of stdin and stdout. Dropping stdin is what asks a server to end.
#[derive(Debug)]
pub struct Pipes {
    /// The server reads this.
    pub stdin: Stdin,
    /// The server writes this.
    pub stdout: pipe::Receiver,
}

struct Held {
    process: Arc<Process>,
    runtime: Handle,
}

/// What is known of a process, and what closing it takes.
pub(super) struct Process {
    pub(super) pid: Pid,
    pub(super) descriptor: Arc<OwnedFd>,
    pub(super) kin: Arc<Kin>,
    pub(super) registry: Registry,
    pub(super) attendant: AbortHandle,
    /// Keeps other processes of this server from being started; `None` once the end of the whole family is proved.
    pub(super) turn: tokio::sync::Mutex<Option<Turn>>,
    exit: watch::Receiver<Option<ExitInfo>>,
    tail: Tail,
}

impl fmt::Debug for Child {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Child").field("pid", &self.pid()).finish_non_exhaustive()
    }
}

impl Child {
    /// Watches a process that was launched, on the present runtime.
    pub(super) fn adopt(
        launched: Launched,
        order: &Order,
        registry: Registry,
        telemetry: Telemetry,
        turn: Turn,
    ) -> Result<(Self, Pipes), Cause> {
        let pid = launched.pid;
        Self::watch(launched, order, &registry, telemetry, turn).map_err(|error| {
            abandon(pid, &registry);
            Cause::new(CauseKind::SpawnFailed, format!("cannot watch `{}`: {error}", order.settings.command))
        })
    }

    fn watch(
        launched: Launched,
        order: &Order,
        registry: &Registry,
        telemetry: Telemetry,
        turn: Turn,
    ) -> io::Result<(Self, Pipes)> {
        let pipes = Pipes {
            stdin: Stdin::new(launched.stdin, launched.kin.clone())?,
            stdout: pipe::Receiver::from_owned_fd(launched.stdout)?,
        };
        let descriptor = Arc::new(launched.process);
        let (tail, redactor) = (Tail::default(), Redactor::new(&order.settings));
        let note = move |note: &Note| telemetry.note(note);
        let log = StderrLog::new(&order.server, order.generation, redactor, tail.clone(), Instant::now(), note);
        let (announce, exit) = watch::channel(None);
        let attendant = Attendant {
            process: control::watch(descriptor.clone())?,
            stderr: pipe::Receiver::from_owned_fd(launched.stderr)?,
            log,
            buffer: vec![0; CHUNK],
        };
        let process = Process {
            pid: launched.pid,
            descriptor,
            kin: launched.kin,
            registry: registry.clone(),
            attendant: tokio::spawn(attendant.attend(announce)).abort_handle(),
            turn: tokio::sync::Mutex::new(Some(turn)),
            exit,
            tail,
        };
        let held = Held { process: Arc::new(process), runtime: Handle::current() };
        Ok((Self { held: Arc::new(held) }, pipes))
    }

    /// Its process id, also that of its process group.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.held.process.id()
    }

    /// Resolves once the process itself has exited, for any number of waiters, now or later. Its descendants may still
    /// live, and what it wrote to stderr is in [`stderr_tail`](Self::stderr_tail).
    pub async fn exited(&self) -> ExitInfo {
        self.held.process.exited().await
    }

    /// The last lines of stderr: at most 8 KiB, lossy UTF-8 without control characters and known secrets.
    #[must_use]
    pub fn stderr_tail(&self) -> String {
        self.held.process.tail.text()
    }

    /// Ends the process and its whole family: waits for the end of its input to do it, SIGTERM, waits, SIGKILL, and
    /// again. The caller has dropped its end of stdin before. A family whose leader is over already gets SIGTERM at once.
    ///
    /// Returns when the end is proved, however late: the process has exited, and nothing that still runs is in its
    /// group, descends from it or carries its generation's mark. `bound` (0.3 of it per step) only sets the pace; who
    /// wants to give up drops the future, and may come back.
    pub async fn close(&self, bound: Duration) {
        self.held.process.close(bound).await;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let process = self.process.clone();
        // On a runtime that is over this does nothing, and the process's own drop is what is left.
        self.runtime.spawn(async move { process.close(Duration::ZERO).await });
    }
}

impl Process {
    pub(super) fn id(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    pub(super) async fn exited(&self) -> ExitInfo {
        let mut exit = self.exit.clone();
        if let Ok(info) = exit.wait_for(Option::is_some).await {
            return info.unwrap_or(ExitInfo::Unknown);
        }
        loop {
            if let Some(info) = exit::peek(self.descriptor.as_fd()) {
                return info;
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.turn.get_mut().is_some() {
            kin::signal_all(&self.kin.living(), Signal::KILL);
            abandon(self.pid, &self.registry);
        }
    }
}

/// Unwatched a process must not live; the reaper takes what is left.
pub(super) fn abandon(pid: Pid, registry: &Registry) {
    // It is not reaped yet, so the group's id is still its own.
    let _ = rustix::process::kill_process_group(pid, Signal::KILL);
    registry.disown(pid.as_raw_nonzero().get().unsigned_abs());
}

/// Reads stderr and watches for the exit, as long as there is either.
struct Attendant<N> {
    process: AsyncFd<Arc<OwnedFd>>,
    stderr: pipe::Receiver,
    log: StderrLog<N>,
    buffer: Vec<u8>,
}

impl<N: FnMut(&Note)> Attendant<N> {
    async fn attend(mut self, announce: watch::Sender<Option<ExitInfo>>) {
        let (mut over, mut open) = (false, true);
        let (mut allowance, mut refilled) = (READ_BURST, Instant::now());
        while open || !over {
            let pause = Duration::from_secs_f64((-allowance / READ_RATE).max(0.0));
            let words = async {
                tokio::time::sleep(pause).await;
                self.stderr.readable().await
            };
            tokio::select! {
                biased;
                ready = self.process.readable(), if !over => {
                    let info = exit::peek(self.process.as_fd());
                    if let (Ok(mut ready), None) = (ready, info) {
                        ready.clear_ready();
                    }
                    if let Some(info) = info {
                        over = true;
                        open = open && self.read(LAST_WORDS).is_some();
                        self.log.flush(Instant::now());
                        announce.send_replace(Some(info));
                    }
                }
                ready = words, if open => {
                    let read = ready.ok().and_then(|()| self.read(CHUNK));
                    open = read.is_some();
                    let now = Instant::now();
                    let refill = now.saturating_duration_since(refilled).as_secs_f64() * READ_RATE;
                    refilled = now;
                    allowance = (allowance + refill).min(READ_BURST) - read.unwrap_or(0) as f64;
                }
            }
        }
        self.log.flush(Instant::now());
    }

    /// Reads what is there, up to a limit, in bytes. `None` at the end.
    fn read(&mut self, limit: usize) -> Option<usize> {
        let mut total = 0;
        while total < limit {
            match self.stderr.try_read(&mut self.buffer) {
                Ok(0) => return None,
                Ok(length) => {
                    self.log.feed(&self.buffer[..length], Instant::now());
                    total += length;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
        Some(total)
    }
}
