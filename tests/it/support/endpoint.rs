//! The gateway by itself on a real socket, with an upstream in memory whose every call can be watched.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_sidecar::catalogue::Catalogue;
use mcp_sidecar::catalogue::snapshot::{Snapshot, UpstreamTool};
use mcp_sidecar::config::settings::{ListenAddress, Naming};
use mcp_sidecar::gateway::upstream::{Answer, Refusal, ToolCall, Upstream};
use mcp_sidecar::gateway::{GatewayOptions, serve};
use mcp_sidecar::listener::{SocketAccess, bind};
use mcp_sidecar::telemetry::Telemetry;
use serde_json::value::RawValue;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::client::http_client;
use super::wait::wait_until;

/// A running gateway; stops when dropped.
pub struct Endpoint {
    pub url: String,
    /// For requests that no client of ours would send.
    pub http: reqwest::Client,
    pub address: SocketAddr,
    pub catalogue: Catalogue,
    pub calls: Arc<Calls>,
    pub telemetry: Telemetry,
    pub shutdown: CancellationToken,
    ended: JoinHandle<usize>,
}

/// What became of the calls that reached the upstream.
#[derive(Default)]
pub struct Calls {
    pub started: AtomicUsize,
    pub abandoned: AtomicUsize,
    pub release: Notify,
}

/// The tools that the fake upstream's one server `s` has.
const TOOLS: [&str; 7] = ["echo", "progress", "hang", "wait", "panic", "fail", "refuse"];

impl Endpoint {
    pub async fn start() -> Self {
        Self::start_with(GatewayOptions::default(), Duration::ZERO).await
    }

    /// `grace`: what a stop allows calls in flight.
    pub async fn start_with(options: GatewayOptions, grace: Duration) -> Self {
        Self::listen(&ListenAddress::Tcp(([127, 0, 0, 1], 0).into()), options, grace).await
    }

    pub async fn start_at(path: &Path) -> Self {
        Self::listen(&ListenAddress::Unix(path.to_owned()), GatewayOptions::default(), Duration::ZERO).await
    }

    async fn listen(address: &ListenAddress, options: GatewayOptions, grace: Duration) -> Self {
        let listener = bind(address, &SocketAccess::default()).await.expect("a listener");
        let address = listener.tcp_address().unwrap_or_else(|| ([127, 0, 0, 1], 0).into());
        let catalogue = Catalogue::new(Naming::Prefixed);
        catalogue.replace("s", TOOLS.map(tool).into());
        let (calls, telemetry, shutdown) = (Arc::<Calls>::default(), Telemetry::new(), CancellationToken::new());
        let upstream = Arc::new(Fake { catalogue: catalogue.clone(), calls: Arc::clone(&calls) });
        let serving = serve(listener, upstream, options, telemetry.clone(), shutdown.clone(), grace);
        let ended = tokio::spawn(serving);
        Self {
            url: format!("http://{address}/mcp"),
            http: http_client(),
            address,
            catalogue,
            calls,
            telemetry,
            shutdown,
            ended,
        }
    }

    /// Waits until the gateway has ended; returns the number of connections it dropped.
    pub async fn ended(mut self) -> usize {
        (&mut self.ended).await.expect("the gateway does not panic")
    }

    /// Waits until that many calls have reached the upstream.
    pub async fn started(&self, count: usize) {
        let started = async || self.calls.started.load(Ordering::SeqCst) >= count;
        wait_until("calls reach the upstream", Duration::from_secs(5), started).await;
    }

    /// Waits until that many calls were given up while the upstream was at them.
    pub async fn abandoned(&self, count: usize) {
        let abandoned = async || self.calls.abandoned.load(Ordering::SeqCst) >= count;
        wait_until("the upstream hears of the cancellation", Duration::from_secs(5), abandoned).await;
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.shutdown.cancel();
    }
}

/// A definition as a server might send it, with things that nobody here interprets.
pub fn tool(name: &str) -> UpstreamTool {
    let text = format!(
        r#"{{"xFirst":[1.10,12345678901234567890123],"name":"{name}","inputSchema":{{"type":"object","z":1,"a":{{"k" :2}}}},"_meta":{{"b":1,"a":2}}}}"#
    );
    UpstreamTool { name: name.to_owned(), definition: raw(&text), read_only: false, idempotent: false }
}

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).expect("JSON")
}

struct Fake {
    catalogue: Catalogue,
    calls: Arc<Calls>,
}

impl Upstream for Fake {
    fn catalogue(&self) -> watch::Receiver<Arc<Snapshot>> {
        self.catalogue.subscribe()
    }

    async fn call(&self, call: ToolCall) -> Answer {
        let Some(tool) = self.catalogue.snapshot().find(&call.name).cloned() else { return Answer::UnknownTool };
        self.calls.started.fetch_add(1, Ordering::SeqCst);
        let mut unfinished = Unfinished(Some(Arc::clone(&self.calls)));
        let answer = self.answer(&tool.upstream_name, call).await;
        unfinished.0 = None;
        answer
    }
}

impl Fake {
    async fn answer(&self, tool: &str, call: ToolCall) -> Answer {
        let arguments = call.arguments.as_ref().map_or("null", |arguments| arguments.get());
        match tool {
            "echo" => {
                let meta = serde_json::to_string(&call.meta).expect("JSON");
                Answer::Result(raw(&format!(
                    r#"{{"zLast":1.10,"content":[],"structuredContent":{arguments},"_meta":{meta}}}"#
                )))
            }
            "progress" => {
                let count: u32 = serde_json::from_str(arguments).expect("a number of notifications");
                for n in 1..=count {
                    let params = format!(r#"{{"progress":{n},"progressToken":7,"total":{count},"x":1.10}}"#);
                    match &call.progress {
                        Some(progress) => progress.send(raw(&params)).await.expect("a receiver"),
                        None => break,
                    }
                }
                Answer::Result(raw(r#"{"content":[{"type":"text","text":"done"}]}"#))
            }
            "hang" => std::future::pending().await,
            "wait" => {
                self.calls.release.notified().await;
                Answer::Result(raw(r#"{"content":[{"type":"text","text":"released"}]}"#))
            }
            "panic" => panic!("on purpose"),
            "fail" => Answer::Error(raw(r#"{"code":-7,"message":"no","data":{"z":1.10,"a":2}}"#)),
            "refuse" => Answer::Refused(Refusal {
                server: "s".to_owned(),
                reason: "down",
                message: "Server s is down".to_owned(),
                down_since: Some("2026-11-30T00:00:00Z".to_owned()),
                attempts: Some((3, 10)),
                next_attempt_ms: Some(1500),
            }),
            other => panic!("no behaviour for {other}"),
        }
    }
}

struct Unfinished(Option<Arc<Calls>>);

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(calls) = &self.0 {
            calls.abandoned.fetch_add(1, Ordering::SeqCst);
        }
    }
}
