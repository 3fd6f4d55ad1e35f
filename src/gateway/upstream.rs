//! What the gateway needs from the rest of the program, and nothing more.

use std::sync::Arc;

use serde_json::value::RawValue;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::catalogue::snapshot::Snapshot;

/// The servers behind the gateway, as one thing.
pub trait Upstream: Send + Sync + 'static {
    /// The current catalogue; changes of the value are what `list_changed` announces.
    fn catalogue(&self) -> watch::Receiver<Arc<Snapshot>>;

    /// Calls a tool. Exactly one answer; dropping the future or cancelling `call.cancel` cancels upstream.
    fn call(&self, call: ToolCall) -> impl Future<Output = Answer> + Send;
}

/// One `tools/call` of a client.
#[derive(Debug)]
pub struct ToolCall {
    /// Public name.
    pub name: String,
    /// `arguments`, same JSON text.
    pub arguments: Option<Box<RawValue>>,
    /// `_meta` of the request without the keys that belong to the client's own connection (progress token,
    /// `io.modelcontextprotocol/*`); trace context stays.
    pub meta: serde_json::Map<String, serde_json::Value>,
    /// Where progress goes, if the client asked for it: the `params` of `notifications/progress`, with the upstream's
    /// token, which the gateway replaces. Everything sent before the answer is before it in time.
    pub progress: Option<mpsc::Sender<Box<RawValue>>>,
    /// Cancelled when the client cancels or disconnects for good.
    pub cancel: CancellationToken,
}

/// The one answer to a call.
#[derive(Debug)]
pub enum Answer {
    /// The upstream's `result`, same JSON text.
    Result(Box<RawValue>),
    /// The upstream's JSON-RPC `error`, same JSON text.
    Error(Box<RawValue>),
    /// No such tool.
    UnknownTool,
    /// The call was not carried out, or its outcome is unknown.
    Refused(Refusal),
}

/// Why a call has no result, told to the agent as a tool result with `isError: true`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The server.
    pub server: String,
    /// A stable word: `down`, `exhausted`, `stuck`, `disabled`, `auth_required`, `too_many_held`, `outcome_unknown`, `poison`,
    /// `timeout`, `cancelled`, `stopping`.
    pub reason: &'static str,
    /// A sentence for the agent: which server, since when, the attempt, when the next is due.
    pub message: String,
    /// RFC 3339, when the outage began.
    pub down_since: Option<String>,
    /// Attempts spent and allowed.
    pub attempts: Option<(u32, u32)>,
    /// Milliseconds until the next attempt.
    pub next_attempt_ms: Option<u64>,
}
