//! Opens one generation: process or connection, handshake, first full sync, each with its deadline.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::child::{Child, Pipes};
use super::incarnation::{Cradle, Workshop};
use super::session::{Era, OpenError, Session, SessionOptions, Signal};
use super::wire;
use crate::catalogue::snapshot::UpstreamTool;
use crate::config::settings::{ProtocolChoice, ServerSettings, StdioSettings, Transport};
use crate::core::cause::{Cause, CauseKind};
use crate::core::generation::Generation;

/// What one generation learns for the next ones of the same server.
#[derive(Debug, Default)]
pub struct Memory(Mutex<Learned>);

#[derive(Clone, Copy, Debug, Default)]
struct Learned {
    era: Option<Era>,
    /// A child died of the modern probe once; the extra spawn that this earns is given once per server.
    extra_spawn_used: bool,
}

impl Memory {
    /// The era that the server last spoke.
    #[must_use]
    pub fn era(&self) -> Option<Era> {
        self.read().era
    }

    fn learn(&self, era: Era) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).era = Some(era);
    }

    /// Whether the extra spawn is still to be had; takes it.
    fn take_extra_spawn(&self) -> bool {
        let mut learned = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        !std::mem::replace(&mut learned.extra_spawn_used, true)
    }

    fn read(&self) -> Learned {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Opens a generation up to and including its first full sync.
pub async fn open(
    workshop: &Workshop,
    generation: Generation,
    cradle: &Cradle,
    signals: mpsc::Sender<Signal>,
) -> Result<(Session, Vec<UpstreamTool>), Cause> {
    let started = Instant::now();
    let start = workshop.server.timeouts.start;
    let session = tokio::time::timeout(start, shake_hands(workshop, generation, cradle, started, &signals))
        .await
        .unwrap_or_else(|_| Err(Cause::new(CauseKind::StartTimeout, format!("no handshake within {start:?}"))))?;
    workshop.memory.learn(session.era());
    let tools = if session.tools_offered() { session.list_tools().await? } else { Vec::new() };
    Ok((session, tools))
}

async fn shake_hands(
    workshop: &Workshop,
    generation: Generation,
    cradle: &Cradle,
    started: Instant,
    signals: &mpsc::Sender<Signal>,
) -> Result<Session, Cause> {
    let server = &workshop.server;
    let wire = match &server.transport {
        Transport::Stdio(stdio) => {
            return shake_hands_with_child(workshop, stdio, generation, cradle, started, signals).await;
        }
        Transport::Http(http) => wire::http::open(&server.name, http, &workshop.http, workshop.telemetry.clone()),
        Transport::Sse(http) => wire::sse::open(&server.name, http, &workshop.http, workshop.telemetry.clone()).await?,
    };
    let options = options(workshop, server.protocol, started.elapsed());
    Session::open(wire, options, signals.clone()).await.map_err(|error| error.cause)
}

/// As [`shake_hands`], with one extra spawn for a child that dies of being asked for the modern era.
async fn shake_hands_with_child(
    workshop: &Workshop,
    stdio: &StdioSettings,
    generation: Generation,
    cradle: &Cradle,
    started: Instant,
    signals: &mpsc::Sender<Signal>,
) -> Result<Session, Cause> {
    if let Some(leftover) = workshop.leftovers.iter().find(|leftover| leftover.still_runs()) {
        let detail = format!(
            "process {} of an earlier sidecar's {} still runs and can't be ended",
            leftover.pid, leftover.server
        );
        return Err(Cause::new(CauseKind::Leftover, detail));
    }
    let mut protocol = workshop.server.protocol;
    loop {
        let (child, pipes) = launch(workshop, stdio, generation, cradle).await?;
        let wire = wire::stdio::open(&workshop.server.name, pipes.stdout, pipes.stdin, workshop.telemetry.clone());
        let options = options(workshop, protocol, started.elapsed());
        let OpenError { cause, probe_killed_it } = match Session::open(wire, options, signals.clone()).await {
            Ok(session) => return Ok(session),
            Err(error) => error,
        };
        if !(probe_killed_it && workshop.memory.take_extra_spawn()) {
            return Err(told_by_exit(cause, &child).await);
        }
        child.close(workshop.server.timeouts.close).await;
        workshop.memory.learn(Era::Legacy);
        protocol = ProtocolChoice::Legacy;
    }
}

/// Starts the process in a task of its own: this one may be cancelled, a half-started process may not be forgotten.
async fn launch(
    workshop: &Workshop,
    stdio: &StdioSettings,
    generation: Generation,
    cradle: &Cradle,
) -> Result<(Child, Pipes), Cause> {
    let mut place = cradle.fill().await;
    let (nursery, name, stdio) = (workshop.nursery.clone(), workshop.server.name.clone(), stdio.clone());
    let launching = tokio::spawn(async move {
        let (child, pipes) = nursery.spawn(&name, generation, &stdio).await?;
        *place = Some(child.clone());
        Ok((child, pipes))
    });
    launching.await.unwrap_or_else(|panic| Err(Cause::new(CauseKind::Internal, format!("the launching task: {panic}"))))
}

/// A pipe that closed during the handshake is best explained by how the process ended.
async fn told_by_exit(cause: Cause, child: &Child) -> Cause {
    if cause.kind != CauseKind::TransportClosed {
        return cause;
    }
    match tokio::time::timeout(Duration::from_millis(100), child.exited()).await {
        Ok(exit) => {
            Cause::new(CauseKind::ProcessExited, format!("the server's process {exit} before the handshake was done"))
        }
        Err(_) => cause,
    }
}

fn options(workshop: &Workshop, protocol: ProtocolChoice, elapsed: Duration) -> SessionOptions {
    let ServerSettings { name, timeouts, .. } = &*workshop.server;
    SessionOptions {
        server: name.clone(),
        protocol,
        remembered: workshop.memory.era(),
        start: timeouts.start.saturating_sub(elapsed),
        list: timeouts.list,
        call: timeouts.call,
        call_max: timeouts.call_max,
        telemetry: workshop.telemetry.clone(),
    }
}
