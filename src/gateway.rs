//! The one stable MCP endpoint that clients talk to: Streamable HTTP of both protocol eras at `/mcp`.
//!
//! JSON-RPC is handled as text: what a server says reaches the client as it was said.

mod account;
pub mod answer;
mod call;
mod changes;
mod cors;
mod era;
mod http;
mod legacy;
mod message;
mod modern;
mod sessions;
mod sse;
mod tools;
pub mod upstream;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::Duration;

use secrecy::SecretString;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::catalogue::snapshot::Snapshot;
use crate::listener::{Guard, Limits, Listener};
use crate::telemetry::Telemetry;
pub use sessions::SessionLimits;
use sessions::Sessions;
use upstream::Upstream;

/// Who may use the gateway, and how much of it.
#[derive(Clone, Debug, Default)]
pub struct GatewayOptions {
    /// `Host`s besides `localhost` and IP literals: `name` or `name:port`.
    pub allowed_hosts: Vec<String>,
    /// `Origin`s: `scheme://host[:port]`, `scheme://host:*` or `null`.
    pub allowed_origins: Vec<String>,
    /// Bearer token that clients must present.
    pub token: Option<SecretString>,
    /// Of legacy clients.
    pub sessions: SessionLimits,
    /// Where their sessions are kept for the next process, in the state directory.
    pub session_file: Option<PathBuf>,
    /// Of the listener.
    pub connections: Limits,
    /// Of requests.
    pub requests: RequestLimits,
}

/// How much clients may ask for.
#[derive(Clone, Copy, Debug)]
pub struct RequestLimits {
    /// Bytes of a POST body. Default 16 MiB.
    pub body: usize,
    /// Calls in flight. Default 10,000.
    pub calls: usize,
}

impl Default for RequestLimits {
    fn default() -> Self {
        Self { body: 16 * 1024 * 1024, calls: 10_000 }
    }
}

/// What a stop adds to its grace, so that the last answers reach their clients.
const FLUSH: Duration = Duration::from_secs(1);

/// Serves clients on `listener` until `shutdown`.
///
/// Then notification streams end (modern ones with their result), and calls in flight get their answers for at most
/// `grace`; what is left is refused as `stopping`. Returns at most a second after that, with the number of connections
/// that had to be dropped.
pub async fn serve<U: Upstream>(
    listener: Listener,
    upstream: Arc<U>,
    options: GatewayOptions,
    telemetry: Telemetry,
    shutdown: CancellationToken,
    grace: Duration,
) -> usize {
    let stop = Stop { soft: shutdown.clone(), hard: CancellationToken::new() };
    let hard = stop.hard.clone();
    let router = router(upstream, &options, telemetry, stop, listener.is_unix());
    let patience = async {
        shutdown.cancelled().await;
        tokio::time::sleep(grace).await;
        hard.cancel();
        std::future::pending().await
    };
    tokio::select! {
        dropped = crate::listener::serve(listener, router, options.connections, shutdown.clone(), grace.saturating_add(FLUSH)) => dropped,
        () = patience => 0,
    }
}

/// The two steps of a stop.
#[derive(Clone, Debug)]
struct Stop {
    /// Streams end, nothing new begins.
    soft: CancellationToken,
    /// Calls in flight are refused.
    hard: CancellationToken,
}

struct Gateway<U> {
    upstream: Arc<U>,
    catalogue: watch::Receiver<Arc<Snapshot>>,
    sessions: Sessions,
    guard: Guard,
    limits: RequestLimits,
    calls: Arc<AtomicUsize>,
    telemetry: Telemetry,
    stop: Stop,
    /// Whether a denial was reported.
    warned: AtomicBool,
}

fn router<U: Upstream>(
    upstream: Arc<U>,
    options: &GatewayOptions,
    telemetry: Telemetry,
    stop: Stop,
    is_unix: bool,
) -> axum::Router {
    let guard = Guard::new(&options.allowed_hosts, &options.allowed_origins, options.token.as_ref()).with_same_origin();
    let gateway = Gateway {
        catalogue: upstream.catalogue(),
        upstream,
        sessions: Sessions::new(options.sessions, options.session_file.clone(), &telemetry),
        guard: if is_unix { guard.without_host_check() } else { guard },
        limits: options.requests,
        calls: Arc::default(),
        telemetry,
        stop,
        warned: AtomicBool::new(false),
    };
    // No routes: the guards come before the path.
    axum::Router::new().fallback(http::handle::<U>).with_state(Arc::new(gateway))
}

/// What the gateway offers to clients of either era.
fn capabilities() -> Value {
    json!({"tools": {"listChanged": true}})
}

fn server_info() -> Value {
    json!({"name": "mcp-sidecar", "version": env!("CARGO_PKG_VERSION")})
}
