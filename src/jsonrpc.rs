//! JSON-RPC 2.0 frames whose payloads are never re-interpreted: what passes through, passes as the same JSON text.

mod decode;
mod id;
pub mod object;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

pub use decode::{Message, decode};
pub use id::Id;

/// One message, undecoded beyond its envelope.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Frame {
    /// Always `"2.0"` in what we send; not insisted on in what we receive.
    #[serde(default = "version")]
    pub jsonrpc: String,
    /// Of requests and responses. A `null` id reads as `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Id>,
    /// Of requests and notifications.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Of requests and notifications.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Box<RawValue>>,
    /// Of successful responses. A `null` result reads as `Some`: it is an answer.
    #[serde(default, deserialize_with = "even_null", skip_serializing_if = "Option::is_none")]
    pub result: Option<Box<RawValue>>,
    /// Of failed responses: `{code, message, data?}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Box<RawValue>>,
}

impl Frame {
    /// What this response says; `None` if it is no response. Where a server gives both, the error counts.
    #[must_use]
    pub fn into_reply(self) -> Option<Reply> {
        self.error.map(Reply::Error).or_else(|| self.result.map(Reply::Result))
    }
}

fn version() -> String {
    "2.0".to_owned()
}

fn even_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(deserializer).map(Some)
}

/// What a response says.
#[derive(Clone, Debug)]
pub enum Reply {
    /// Its `result`, as the same JSON text.
    Result(Box<RawValue>),
    /// Its `error`, as the same JSON text.
    Error(Box<RawValue>),
}

/// Error codes that we give. JSON-RPC 2.0 §5.1 and MCP 2026-07-28 `basic/index` (error codes).
pub mod code {
    /// Not JSON.
    pub const PARSE_ERROR: i64 = -32700;
    /// Not a request.
    pub const INVALID_REQUEST: i64 = -32600;
    /// Unknown method.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// Bad parameters, unknown tool.
    pub const INVALID_PARAMS: i64 = -32602;
    /// Our fault.
    pub const INTERNAL_ERROR: i64 = -32603;
    /// A header and the body disagree (2026-07-28).
    pub const HEADER_MISMATCH: i64 = -32020;
    /// The request needs a capability that the client did not declare (2026-07-28).
    pub const MISSING_CLIENT_CAPABILITY: i64 = -32021;
    /// The protocol version is none of ours (2026-07-28).
    pub const UNSUPPORTED_PROTOCOL_VERSION: i64 = -32022;
}
