//! The body of a POST: one JSON-RPC message, borrowed from its bytes.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::jsonrpc::{Id, code};

/// What a client sent.
#[derive(Debug)]
pub enum Message<'a> {
    /// Wants an answer.
    Request {
        /// To answer with.
        id: Id,
        /// What is asked for.
        method: Cow<'a, str>,
        /// Undecoded.
        params: Option<&'a RawValue>,
    },
    /// Wants none.
    Notification {
        /// What is told.
        method: Cow<'a, str>,
        /// Undecoded.
        params: Option<&'a RawValue>,
    },
    /// An answer to a request that we never sent.
    Response,
}

/// Why a body is no message: a JSON-RPC code and a sentence.
#[derive(Debug, PartialEq, Eq)]
pub struct Malformed {
    /// `PARSE_ERROR` or `INVALID_REQUEST`.
    pub code: i64,
    /// For the client's developer.
    pub message: &'static str,
}

impl<'a> Message<'a> {
    /// Reads `body`.
    ///
    /// # Errors
    /// It is no JSON, a batch, or no JSON-RPC message.
    pub fn parse(body: &'a [u8]) -> Result<Self, Malformed> {
        let envelope: Envelope<'a> = match serde_json::from_slice(body) {
            Ok(envelope) => envelope,
            Err(_) => return Err(diagnose(body)),
        };
        match (envelope.method, envelope.id) {
            (Some(method), Some(Some(id))) => Ok(Self::Request { id, method, params: envelope.params }),
            (Some(_), Some(None)) => Err(Malformed::invalid("The id of a request must not be null")),
            (Some(method), None) => Ok(Self::Notification { method, params: envelope.params }),
            (None, _) if envelope.result.is_some() || envelope.error.is_some() => Ok(Self::Response),
            (None, _) => Err(Malformed::invalid("Not a JSON-RPC message: it has neither method nor result nor error")),
        }
    }
}

impl Malformed {
    const fn invalid(message: &'static str) -> Self {
        Self { code: code::INVALID_REQUEST, message }
    }
}

fn diagnose(body: &[u8]) -> Malformed {
    if serde_json::from_slice::<serde::de::IgnoredAny>(body).is_err() {
        return Malformed { code: code::PARSE_ERROR, message: "The body is no JSON" };
    }
    if body.trim_ascii_start().starts_with(b"[") {
        return Malformed::invalid("Batches are not supported: send one JSON-RPC message per POST");
    }
    Malformed::invalid("Not a JSON-RPC message")
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(default, deserialize_with = "present")]
    id: Option<Option<Id>>,
    #[serde(default, borrow, deserialize_with = "text")]
    method: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    params: Option<&'a RawValue>,
    #[serde(default, borrow)]
    result: Option<&'a RawValue>,
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
}

/// Tells `null` from absence.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<Id>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// Borrows where there is nothing to unescape, which serde does not do within an `Option` by itself.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Cow<'de, str>>, D::Error> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    Text::deserialize(deserializer).map(|Text(text)| Some(text))
}

/// The parameters that we look at, of all methods together.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Params<'a> {
    /// Of `tools/call`.
    #[serde(default, borrow, deserialize_with = "text")]
    pub name: Option<Cow<'a, str>>,
    /// Of `tools/call`.
    #[serde(default, borrow)]
    pub arguments: Option<&'a RawValue>,
    /// Of `tools/list`.
    #[serde(default)]
    pub cursor: Option<String>,
    /// Of `initialize`.
    #[serde(default)]
    pub protocol_version: Option<String>,
    /// Of `notifications/cancelled`.
    #[serde(default)]
    pub request_id: Option<Id>,
    /// Of `subscriptions/listen`.
    #[serde(default)]
    pub notifications: Option<Map<String, Value>>,
    /// Of all.
    #[serde(default, rename = "_meta")]
    pub meta: Map<String, Value>,
}

/// `_meta` keys of the connection between client and gateway.
pub mod meta {
    /// Where the request's progress goes.
    pub const PROGRESS_TOKEN: &str = "progressToken";
    /// Everything of the protocol's own.
    pub const RESERVED: &str = "io.modelcontextprotocol/";
    /// Modern: the revision.
    pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    /// Modern: what the client can do.
    pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    /// Modern: which subscription a notification belongs to.
    pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
    /// Modern: who answers.
    pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
}

impl<'a> Params<'a> {
    /// Reads them; `None` reads as empty.
    ///
    /// # Errors
    /// They are no object, or one of them has a wrong type.
    pub fn parse(raw: Option<&'a RawValue>) -> Result<Self, serde_json::Error> {
        raw.map_or_else(|| Ok(Self::default()), |raw| serde_json::from_str(raw.get()))
    }

    /// The protocol revision that `_meta` declares.
    #[must_use]
    pub fn declared_version(&self) -> Option<&str> {
        self.meta.get(meta::PROTOCOL_VERSION).and_then(Value::as_str)
    }

    /// Splits `_meta` into the progress token, as JSON text, and what is passed on to the server.
    #[must_use]
    pub fn take_meta(&mut self) -> (Option<String>, Map<String, Value>) {
        let mut meta = std::mem::take(&mut self.meta);
        let token = meta.remove(meta::PROGRESS_TOKEN).filter(|token| token.is_string() || token.is_number());
        meta.retain(|key, _| !key.starts_with(meta::RESERVED));
        (token.map(|token| token.to_string()), meta)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code_of(body: &str) -> i64 {
        Message::parse(body.as_bytes()).unwrap_err().code
    }

    #[test]
    fn requests_notifications_and_responses_are_told_apart() {
        let parse = |body: &'static str| Message::parse(body.as_bytes()).unwrap();
        assert!(matches!(
            parse(r#"{"jsonrpc":"2.0","id":"x","method":"ping"}"#),
            Message::Request { id: Id::Text(_), .. }
        ));
        assert!(matches!(
            parse(r#"{"id":-3,"method":"ping","params":{}}"#),
            Message::Request { id: Id::Number(-3), .. }
        ));
        assert!(matches!(parse(r#"{"method":"notifications/initialized"}"#), Message::Notification { .. }));
        assert!(matches!(parse(r#"{"id":1,"result":{}}"#), Message::Response));
        assert!(matches!(parse(r#"{"id":null,"error":{}}"#), Message::Response));
    }

    #[test]
    fn what_is_no_message_is_refused_for_its_own_reason() {
        assert_eq!(code_of("{"), code::PARSE_ERROR);
        assert_eq!(code_of(""), code::PARSE_ERROR);
        for body in ["7", "{}", r#"{"id":null,"method":"x"}"#, r#"{"id":1.5,"method":"x"}"#, r#"{"id":1,"method":7}"#] {
            assert_eq!(code_of(body), code::INVALID_REQUEST, "{body}");
        }
        let batch = Message::parse(br#" [{"jsonrpc":"2.0","id":1,"method":"ping"}]"#).unwrap_err();
        assert!(batch.message.contains("Batches"));
    }

    #[test]
    fn only_what_belongs_to_the_server_is_passed_on() {
        let text = r#"{"name":"t","_meta":{"progressToken":"p\"1","io.modelcontextprotocol/clientInfo":{},"traceparent":"00-a","x/y":1}}"#;
        let raw = RawValue::from_string(text.to_owned()).unwrap();
        let mut params = Params::parse(Some(&raw)).unwrap();
        let (token, meta) = params.take_meta();
        assert_eq!(token.as_deref(), Some(r#""p\"1""#));
        assert_eq!(Value::Object(meta), serde_json::json!({"traceparent": "00-a", "x/y": 1}));
    }
}
