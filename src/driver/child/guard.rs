//! Our side of the guardian: starts it, keeps it, says goodbye to it.

use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags};

use super::guardian::{GOODBYE, SUBCOMMAND};
use super::mark::Mark;
use super::registry::Registry;
use super::{control, exit};
use crate::telemetry::Telemetry;
use crate::telemetry::note::Note;

/// The least time between two starts.
const PACE: Duration = Duration::from_secs(5);
/// How long a goodbye is waited for.
const FAREWELL: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// Keeps a guardian running.
#[derive(Clone)]
pub struct Guard {
    inner: Arc<Inner>,
}

struct Inner {
    program: PathBuf,
    mark: Mark,
    registry: Registry,
    telemetry: Telemetry,
    state: Mutex<State>,
}

struct State {
    guardian: Option<Guardian>,
    started: Instant,
}

struct Guardian {
    pid: u32,
    process: OwnedFd,
    /// It ends what is left when this is closed, by whatever closes it.
    line: io::PipeWriter,
}

impl Guard {
    /// Starts the guardian.
    ///
    /// # Errors
    /// When it can't be started.
    pub fn start(program: PathBuf, mark: Mark, registry: Registry, telemetry: Telemetry) -> io::Result<Self> {
        let state = Mutex::new(State { guardian: None, started: Instant::now() });
        let guard = Self { inner: Arc::new(Inner { program, mark, registry, telemetry, state }) };
        let guardian = guard.spawn()?;
        guard.state().guardian = Some(guardian);
        Ok(guard)
    }

    /// Starts it again if it has ended; not more often than once in five seconds.
    pub fn keep(&self) {
        let mut state = self.state();
        if let Some(info) = state.guardian.as_ref().and_then(|guardian| exit::reap(&guardian.process)) {
            self.forget(&mut state);
            let text = format!(
                "the guardian process {info}; until the next one runs, servers could survive a SIGKILL of the sidecar"
            );
            self.inner.telemetry.note(&Note::Warning { text });
        }
        if state.guardian.is_some() || state.started.elapsed() < PACE {
            return;
        }
        state.started = Instant::now();
        match self.spawn() {
            Ok(guardian) => state.guardian = Some(guardian),
            // Not once we are closed.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                let text = format!("the guardian process can't be started again: {error}");
                self.inner.telemetry.note(&Note::Warning { text });
            }
        }
    }

    /// Sends it home: nothing is left for it to do. Waits for its end, at most a second.
    pub fn goodbye(&self) {
        let mut state = self.state();
        if let Some(guardian) = &mut state.guardian {
            let _ = guardian.line.write_all(&[GOODBYE]);
            let _ = rustix::event::poll(&mut [PollFd::new(&guardian.process, PollFlags::IN)], Some(&FAREWELL));
            exit::reap(&guardian.process);
            self.forget(&mut state);
        }
    }

    fn forget(&self, state: &mut State) {
        if let Some(guardian) = state.guardian.take() {
            self.inner.registry.disown(guardian.pid);
        }
    }

    fn spawn(&self) -> io::Result<Guardian> {
        let permit = self.inner.registry.permit().ok_or(io::ErrorKind::Interrupted)?;
        let (end, line) = io::pipe()?;
        let mut command = Command::new(&self.inner.program);
        command.arg0("mcp-sidecar").arg(SUBCOMMAND).arg(self.inner.mark.to_string());
        command.env_clear().current_dir("/");
        command.stdin(end).stdout(Stdio::null()).stderr(Stdio::null());
        control::cut_loose(&mut command);
        let mut child = command.spawn()?;
        let pid = child.id();
        let process = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidData);
        match process.map_err(Into::into).and_then(|pid| Ok(rustix::process::pidfd_open(pid, PidfdFlags::empty())?)) {
            Ok(process) => {
                permit.own(pid, None);
                Ok(Guardian { pid, process, line })
            }
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(error)
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
