//! One MCP session with one server, for the length of one generation.
//!
//! A [`Wire`] brings raw frames. A router hands answers and progress of our own raw requests (`tools/list`,
//! `tools/call`, probes) to their waiters as the same JSON text, and everything else to an rmcp client, which owns the
//! life cycle: handshake, pings, what servers ask of clients, subscriptions.

mod exchange;
mod handshake;
mod listen;
mod mirror;
mod news;
mod peer;
mod router;
mod text;
mod tools;

use std::sync::Arc;
use std::time::Duration;

use rmcp::service::{ClientCacheConfig, RunningServiceCancellationToken};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::catalogue::snapshot::UpstreamTool;
use crate::config::settings::ProtocolChoice;
use crate::core::cause::{Cause, CauseKind};
use crate::driver::wire::{Mirrored, Wire};
use crate::jsonrpc::Reply;
use crate::telemetry::Telemetry;
use crate::telemetry::note::Note;
use exchange::{Bystanders, Link, Patience};
use handshake::Agreement;
use mirror::Mirrors;
use news::News;
use router::Router;
use text::Request;

/// Which of the two incompatible halves of MCP's history a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// `initialize` and sessions: revisions up to 2025-11-25.
    Legacy,
    /// Stateless: 2026-07-28.
    Modern,
}

/// What a session tells its driver besides its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// `notifications/tools/list_changed`, or it may have been missed.
    ToolsChanged,
    /// An answered request, or a call's progress. Several within 10 ms are one.
    ProofOfLife,
}

/// Why a call has no reply of the server.
#[derive(Clone, Debug)]
pub enum CallError {
    /// The generation ended with the call in flight; the server may have acted on it.
    OutcomeUnknown(Cause),
    /// The generation has ended, and the server can't have acted on the call: it may be sent to another generation.
    NotExecuted(Cause),
    /// This call failed on its way (an HTTP status, an answer that is none); the generation lives. Whether the server
    /// acted on it, the cause's detail tells.
    Failed(Cause),
    /// Our deadline passed; `notifications/cancelled` was sent.
    Timeout(Duration),
    /// The client cancelled; `notifications/cancelled` was sent.
    Cancelled,
}

/// Why a session could not be opened.
#[derive(Clone, Debug)]
pub struct OpenError {
    /// Why.
    pub cause: Cause,
    /// The server is a child that may have ended or stumbled because it was asked `server/discover`. Spawned once more
    /// with [`ProtocolChoice::Legacy`], it may well work.
    pub probe_killed_it: bool,
}

/// What a session needs to know.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// Name of the server.
    pub server: String,
    /// Which era to speak.
    pub protocol: ProtocolChoice,
    /// The era that the server spoke last; used with [`ProtocolChoice::Auto`].
    pub remembered: Option<Era>,
    /// How long the handshake may take.
    pub start: Duration,
    /// How long listing the tools may take.
    pub list: Duration,
    /// How long a call may take, from its beginning or its last progress on.
    pub call: Duration,
    /// How long a call may take, whatever its progress.
    pub call_max: Duration,
    /// Where notes go.
    pub telemetry: Telemetry,
}

/// A session. Cheap to clone; the connection ends with [`Session::close`] or the last clone.
#[derive(Clone, Debug)]
pub struct Session(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    link: Arc<Link>,
    era: Era,
    tools_offered: bool,
    mirrors: Mirrors,
    options: SessionOptions,
    _tasks: Vec<AbortOnDropHandle<()>>,
    _end: End,
}

impl Session {
    /// Opens a session: finds out the era and shakes hands. `signals` gets what happens from then on.
    ///
    /// # Errors
    /// The handshake failed; the wire is closed.
    pub async fn open(wire: Wire, options: SessionOptions, signals: mpsc::Sender<Signal>) -> Result<Self, OpenError> {
        let news = News::new(signals);
        let router = Router::new(Arc::clone(&news));
        let protocol = match options.protocol {
            ProtocolChoice::Auto if wire.is_legacy() => ProtocolChoice::Legacy,
            chosen => chosen,
        };
        let outlet = wire.start(Arc::<Router>::clone(&router));
        let link = Arc::new(Link { outlet, router, news });
        let mut end = End { link: Arc::clone(&link), protocol: None };
        let deadline = Instant::now() + options.start;
        let Agreement { era, service } =
            handshake::shake(&link, protocol, options.remembered, deadline).await.map_err(|failure| OpenError {
                probe_killed_it: failure.after_probe && link.outlet.is_fragile() && may_recover(&failure.cause),
                cause: failure.cause,
            })?;
        end.protocol = Some(service.cancellation_token());
        let peer = service.peer().clone();
        peer.set_response_cache_config(ClientCacheConfig::disabled()).await;
        let tools = peer.peer_info().and_then(|info| info.capabilities.tools.clone());
        let announced = tools.as_ref().is_some_and(|tools| tools.list_changed == Some(true));
        let mut tasks = vec![spawn(watch_protocol(Arc::clone(&link), service))];
        if announced {
            link.news.expect_changes();
            if era == Era::Modern {
                tasks.push(spawn(listen::keep_listening(peer, Arc::clone(&link.news))));
            }
        }
        let (tools_offered, mirrors) = (tools.is_some(), Mirrors::default());
        Ok(Self(Arc::new(Inner { link, era, tools_offered, mirrors, options, _tasks: tasks, _end: end })))
    }

    /// The era that the server speaks.
    #[must_use]
    pub fn era(&self) -> Era {
        self.0.era
    }

    /// Whether the server says that it has tools. If not, `tools/list` need not be asked.
    #[must_use]
    pub fn tools_offered(&self) -> bool {
        self.0.tools_offered
    }

    /// Lists the tools. A tool that can't be served is left out and noted.
    ///
    /// # Errors
    /// Of kind `ListFailed`, or why the generation ended.
    pub async fn list_tools(&self) -> Result<Vec<UpstreamTool>, Cause> {
        let Inner { link, era, options, mirrors, .. } = &*self.0;
        link.news.listing();
        let listing = tools::list(link, *era, options.list).await?;
        for (tool, reason) in listing.rejected {
            options.telemetry.note(&Note::ToolRejected { server: options.server.clone(), tool, reason });
        }
        if *era == Era::Modern {
            mirrors.learn(&listing.tools);
        }
        Ok(listing.tools)
    }

    /// Calls a tool by the server's own name of it. `progress` gets the params of each progress notification before the
    /// reply is returned. Dropping the future cancels the call upstream.
    ///
    /// # Errors
    /// There is no reply of the server.
    pub async fn call(
        &self,
        tool: &str,
        arguments: Option<&RawValue>,
        meta: &Map<String, Value>,
        progress: Option<mpsc::Sender<Box<RawValue>>>,
        cancel: &CancellationToken,
    ) -> Result<Reply, CallError> {
        let Inner { link, era, options, mirrors, .. } = &*self.0;
        let name = Value::from(tool).to_string();
        let params: Vec<_> = std::iter::once(("name", name.as_str())).chain(text::arguments(arguments)).collect();
        let mirrored = if *era == Era::Modern { mirrors.of(tool, arguments) } else { Mirrored::default() };
        // Progress is always asked for: it is what extends the deadline of a long call.
        let request = Request { meta: Some(meta), progress: true, mirrored, ..Request::plain("tools/call", &params) };
        let patience = Patience { step: options.call, max: options.call_max };
        link.exchange(*era, request, patience, Bystanders { progress, cancel: Some(cancel) }).await
    }

    /// Asks for a sign of life: `ping`, or `server/discover` in the modern era. An answer of any kind is one.
    ///
    /// # Errors
    /// None within `timeout`, or the generation ended.
    pub async fn probe(&self, timeout: Duration) -> Result<(), Cause> {
        let Inner { link, era, .. } = &*self.0;
        let reply = match era {
            Era::Modern => handshake::probe(link, timeout).await,
            Era::Legacy => {
                let request = Request::probe("ping");
                link.exchange(*era, request, Patience::fixed(timeout), Bystanders::default()).await
            }
        };
        match reply {
            Ok(_) => Ok(()),
            // A refusal in HTTP's words is an answer, too.
            Err(CallError::Failed(cause)) if cause.kind == CauseKind::HandshakeFailed => Ok(()),
            Err(CallError::OutcomeUnknown(cause) | CallError::NotExecuted(cause) | CallError::Failed(cause)) => {
                Err(cause)
            }
            Err(CallError::Timeout(_) | CallError::Cancelled) => {
                Err(Cause::new(CauseKind::LivenessFailed, format!("no answer to a probe within {timeout:?}")))
            }
        }
    }

    /// Waits until the generation has ended; returns at once from then on.
    pub async fn ended(&self) -> Cause {
        self.0.link.router.ended().await
    }

    /// Ends the session in an orderly way within a second. Calls in flight are answered, nothing is sent afterwards.
    pub async fn close(&self) {
        self.0.link.router.end(closed_by_us());
        // What is left undone after this second is dropped with the last clone.
        let _ = tokio::time::timeout(Duration::from_secs(1), self.0.link.outlet.close()).await;
    }
}

/// A fresh process without the probe could do better: not if time or credentials were the problem.
fn may_recover(cause: &Cause) -> bool {
    matches!(cause.kind, CauseKind::TransportClosed | CauseKind::HandshakeFailed)
}

fn closed_by_us() -> Cause {
    Cause::new(CauseKind::TransportClosed, "the session was closed by us")
}

fn spawn(task: impl Future<Output = ()> + Send + 'static) -> AbortOnDropHandle<()> {
    AbortOnDropHandle::new(tokio::spawn(task))
}

/// rmcp ends after the wire. Should it end before, nobody answers the server any more.
async fn watch_protocol(link: Arc<Link>, service: rmcp::service::RunningService<rmcp::RoleClient, peer::Handler>) {
    let quit = service.waiting().await;
    link.router.end(Cause::new(CauseKind::Internal, format!("the protocol task ended: {quit:?}")));
}

/// Ends everything that belongs to a session, also one that was never opened completely.
struct End {
    link: Arc<Link>,
    protocol: Option<RunningServiceCancellationToken>,
}

impl Drop for End {
    fn drop(&mut self) {
        self.link.router.end(closed_by_us());
        self.link.outlet.abandon();
        if let Some(protocol) = self.protocol.take() {
            protocol.cancel();
        }
    }
}

impl std::fmt::Debug for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("End")
    }
}
