//! One generation, from its start to its proven end: the only owner of its process and its session.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{Mutex, OwnedMutexGuard, mpsc};
use tokio_util::sync::CancellationToken;

use super::child::{Child, Leftover, Nursery};
use super::connect::{self, Memory};
use super::live::{Live, Pulse};
use super::session::{Session, Signal};
use super::target::Message;
use super::wire::http::HttpClient;
use crate::catalogue::snapshot::UpstreamTool;
use crate::config::settings::ServerSettings;
use crate::core::cause::{Cause, CauseKind};
use crate::core::event::Event;
use crate::core::generation::Generation;
use crate::telemetry::Telemetry;
use crate::telemetry::note::Note;

/// How long the two signs of one ending (exit, end of stream) wait for each other: the stream's last answers are
/// still read after the exit, and the exit code still makes it into the cause after the end of the stream.
const ENDING_GRACE: Duration = Duration::from_millis(100);

/// What every generation of one target shares.
#[derive(Debug)]
pub struct Workshop {
    /// The server's settings.
    pub server: Arc<ServerSettings>,
    /// Starts processes.
    pub nursery: Nursery,
    /// Processes of it that a dead supervisor left behind and that could not be ended.
    pub leftovers: Vec<Leftover>,
    /// Talks HTTP.
    pub http: HttpClient,
    /// What was learned about the server in earlier generations.
    pub memory: Memory,
    /// Where facts and notes go.
    pub telemetry: Telemetry,
    /// The target's loop.
    pub inbox: mpsc::UnboundedSender<Message>,
}

impl Workshop {
    /// Tells the target's loop. A loop that is gone needs no news.
    fn tell(&self, message: impl Into<Message>) {
        let _ = self.inbox.send(message.into());
    }
}

/// The process of a generation, kept outside of the task that opens it so that whatever happens to that task, the
/// close barrier still has something to prove the end of.
#[derive(Clone, Debug, Default)]
pub struct Cradle(Arc<Mutex<Option<Child>>>);

impl Cradle {
    /// Held while a process is being started: nobody sees the cradle empty that is about to be filled.
    pub async fn fill(&self) -> OwnedMutexGuard<Option<Child>> {
        Arc::clone(&self.0).lock_owned().await
    }

    /// The process, if one was started.
    pub async fn child(&self) -> Option<Child> {
        self.0.lock().await.clone()
    }
}

/// Runs one generation. Answers with exactly one `Established` or `ConnectFailed` (unless `close` comes first), then at
/// most one `Ended`, and exactly one `Closed` once `close` was cancelled and the end is proved.
pub async fn run(workshop: Arc<Workshop>, generation: Generation, close: CancellationToken) {
    let began = Instant::now();
    let cradle = Cradle::default();
    let (signals, mut heard) = mpsc::channel(64);
    let mut opening = tokio::spawn({
        let (workshop, cradle) = (Arc::clone(&workshop), cradle.clone());
        async move { connect::open(&workshop, generation, &cradle, signals).await }
    });
    let opened = tokio::select! {
        opened = &mut opening => Some(opened),
        () = close.cancelled() => None,
    };
    let session = match opened {
        Some(Ok(Ok((session, tools)))) => {
            let live = Arc::new(Live {
                generation,
                server: Arc::from(workshop.server.name.as_str()),
                opened_in: began.elapsed(),
                session: session.clone(),
                child: cradle.child().await,
                pulse: Pulse::new(Instant::now()),
            });
            serve(&workshop, live, tools, &mut heard, &close).await;
            Some(session)
        }
        Some(Ok(Err(cause))) => {
            workshop.tell(Event::ConnectFailed { generation, cause });
            None
        }
        Some(Err(panic)) => {
            workshop.telemetry.note(&Note::TaskPanicked { task: "connect", message: panic.to_string() });
            let cause = Cause::new(CauseKind::Internal, "the connecting task panicked");
            workshop.tell(Event::ConnectFailed { generation, cause });
            None
        }
        None => {
            opening.abort();
            // It may have finished before it noticed; either way nothing of it runs any more after this.
            opening.await.ok().and_then(Result::ok).map(|(session, _)| session)
        }
    };
    if let Some(session) = session {
        session.close().await;
    }
    close.cancelled().await;
    if let Some(child) = cradle.child().await {
        child.close(workshop.server.timeouts.close).await;
    }
    workshop.tell(Event::Closed { generation });
}

/// From the finished first sync to the ending, whichever sign of it comes first.
async fn serve(
    workshop: &Workshop,
    live: Arc<Live>,
    tools: Vec<UpstreamTool>,
    heard: &mut mpsc::Receiver<Signal>,
    close: &CancellationToken,
) {
    let generation = live.generation;
    workshop.tell(Message::Opened { live: Arc::clone(&live), tools });
    let ended = ending(&live.session, live.child.as_ref());
    tokio::pin!(ended);
    let cause = loop {
        tokio::select! {
            cause = &mut ended => break cause,
            () = close.cancelled() => return,
            Some(signal) = heard.recv() => match signal {
                Signal::ProofOfLife => live.pulse.beat(Instant::now()),
                Signal::ToolsChanged => workshop.tell(Message::ToolsChanged { generation }),
            },
        }
    };
    workshop.tell(Event::Ended { generation, cause });
}

/// Waits until the generation is over and tells why. A process that exited while a relative of it holds the pipes is as
/// over as a closed pipe of a process that lives.
async fn ending(session: &Session, child: Option<&Child>) -> Cause {
    let Some(child) = child else { return session.ended().await };
    tokio::select! {
        cause = session.ended() => match tokio::time::timeout(ENDING_GRACE, child.exited()).await {
            Ok(exit) if cause.kind == CauseKind::TransportClosed => {
                Cause::new(CauseKind::ProcessExited, format!("the server's process {exit}"))
            }
            Ok(_) | Err(_) => cause,
        },
        exit = child.exited() => {
            let _ = tokio::time::timeout(ENDING_GRACE, session.ended()).await;
            Cause::new(CauseKind::ProcessExited, format!("the server's process {exit}"))
        }
    }
}
