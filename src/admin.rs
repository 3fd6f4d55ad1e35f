//! The operators' listener: probes, metrics, and what `/status` shows of each server.
//!
//! Everything is read from snapshots that others publish: no request waits for a server, a loop or a lock that is held for
//! long.

mod access;
mod probes;
mod snapshot;

use std::fmt;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use tokio::sync::watch;

pub use access::Access;

use crate::core::status::Status;
use crate::core::verdict::ReadyPolicy;
use crate::driver::session::Era;
use crate::heartbeat::Heartbeats;
use crate::linger::Scrapes;
use crate::telemetry::Telemetry;

/// What the listener shows. Built once by the composition root.
pub struct Admin {
    /// All targets, sorted by name. Called for each request, so it only copies.
    pub targets: Arc<dyn Fn() -> Vec<TargetView> + Send + Sync>,
    /// When `/readyz` says 200.
    pub policy: ReadyPolicy,
    /// The supervising loops.
    pub heartbeats: Heartbeats,
    /// What `/metrics` renders.
    pub telemetry: Telemetry,
    /// Told of each scrape.
    pub scrapes: Scrapes,
    /// How far the process is.
    pub phase: watch::Receiver<Phase>,
    /// What does not change while the process lives.
    pub process: Process,
}

/// One target, as it is now.
#[derive(Clone, Debug)]
pub struct TargetView {
    /// Its name.
    pub name: String,
    /// Its machine's snapshot.
    pub status: Arc<Status>,
    /// `stdio`, `streamable-http` or `sse`.
    pub transport: &'static str,
    /// What its current session speaks, if it has one.
    pub era: Option<Era>,
    /// Its child, if it has one.
    pub pid: Option<u32>,
    /// Tools that clients can see.
    pub tools: usize,
}

/// How far the process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Not everything that listens is bound.
    Starting,
    /// All listeners are up.
    Serving,
    /// A budget is exhausted; listeners stay up until that was scraped.
    Lingering,
    /// A stop is under way.
    Stopping,
}

impl Phase {
    /// The word for it in `/status`.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Serving => "serving",
            Self::Lingering => "lingering",
            Self::Stopping => "stopping",
        }
    }
}

/// What does not change while the process lives.
#[derive(Clone, Debug)]
pub struct Process {
    /// When it started, for people.
    pub started: SystemTime,
    /// When it started, for durations.
    pub started_at: Instant,
    /// Where MCP is served.
    pub listen: String,
    /// Where this listener is.
    pub admin: String,
}

/// The routes, behind `access`.
pub fn router(admin: Admin, access: Access) -> Router {
    Router::new()
        .route("/", get(index))
        .route("/livez", get(probes::livez))
        .route("/startupz", get(probes::startupz))
        .route("/readyz", get(probes::readyz))
        .route("/status", get(snapshot::status))
        .route("/metrics", get(metrics))
        .with_state(Arc::new(admin))
        .layer(axum::middleware::from_fn_with_state(Arc::new(access), access::check))
}

impl fmt::Debug for Admin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admin").field("policy", &self.policy).field("process", &self.process).finish_non_exhaustive()
    }
}

async fn index() -> &'static str {
    "mcp-sidecar\n\
     \n\
     /livez     the supervising loops turn\n\
     /startupz  each required server's first connect is finished\n\
     /readyz    the configured readiness\n\
     /status    every server, as JSON\n\
     /metrics   Prometheus' text format\n"
}

async fn metrics(State(admin): State<Arc<Admin>>) -> Response {
    let telemetry = admin.telemetry.clone();
    match tokio::task::spawn_blocking(move || telemetry.render()).await {
        Ok(text) => {
            // After rendering: what ends the linger has to be on its way, not about to be.
            admin.scrapes.observe();
            ([(CONTENT_TYPE, Telemetry::CONTENT_TYPE)], text).into_response()
        }
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
    }
}
