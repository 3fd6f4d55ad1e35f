//! The text of what we send, written without a detour over typed values.

use std::sync::LazyLock;

use rmcp::model::{ClientCapabilities, Implementation, ProtocolVersion, RequestMetaObject};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::Era;
use crate::driver::wire::{Mirrored, Outgoing};
use crate::jsonrpc::Id;

/// How we introduce ourselves.
pub fn identity() -> Implementation {
    Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))
}

/// The members of `_meta` that revision 2026-07-28 wants in each request, without the braces around them.
static MODERN_META: LazyLock<String> = LazyLock::new(|| {
    let version = ProtocolVersion::V_2026_07_28;
    let meta = RequestMetaObject::with_client_context(version, identity(), ClientCapabilities::default());
    let text = serde_json::to_string(&meta).unwrap_or_default();
    text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or_default().to_owned()
});

/// One request, member by member.
pub struct Request<'a> {
    /// Its method.
    pub method: &'static str,
    /// Members of `params` besides `_meta`, as JSON text.
    pub params: &'a [(&'static str, &'a str)],
    /// Members of `_meta` that are somebody else's, passed on.
    pub meta: Option<&'a Map<String, Value>>,
    /// Whether we want to hear about progress; the token is the id.
    pub progress: bool,
    /// What of it HTTP repeats in headers, in the modern era.
    pub mirrored: Mirrored,
    /// Whether the server is told that nobody waits any more. Before the handshake, and of a question that costs nothing,
    /// it is not: a server may stumble over a notification that comes before `initialize`.
    pub cancellable: bool,
}

impl<'a> Request<'a> {
    /// A request without `_meta` of others that does not ask for progress.
    pub fn plain(method: &'static str, params: &'a [(&'static str, &'a str)]) -> Self {
        Self { method, params, meta: None, progress: false, mirrored: Mirrored::default(), cancellable: true }
    }

    /// A question for a sign of life.
    pub fn probe(method: &'static str) -> Self {
        Self { cancellable: false, ..Self::plain(method, &[]) }
    }

    /// The frame for a wire.
    pub fn outgoing(self, id: i64, era: Era) -> Outgoing {
        let text = self.write(id, era);
        let modern = (era == Era::Modern).then_some(self.mirrored);
        Outgoing { id: Some(Id::Number(id)), method: Some(self.method.to_owned()), modern, text }
    }

    /// The frame on one line.
    fn write(&self, id: i64, era: Era) -> Vec<u8> {
        let room: usize = self.params.iter().map(|(name, json)| name.len() + json.len() + 4).sum();
        let mut text = String::with_capacity(room + 512);
        text.push_str(r#"{"jsonrpc":"2.0","id":"#);
        text.push_str(&id.to_string());
        text.push_str(r#","method":""#);
        text.push_str(self.method);
        text.push('"');
        let mut params = Members::default();
        for (name, json) in self.params {
            params.open(&mut text, r#","params":{"#);
            push_name(&mut text, name);
            push_on_one_line(&mut text, json);
        }
        self.write_meta(&mut text, &mut params, id, era);
        params.close(&mut text);
        text.push('}');
        text.into_bytes()
    }

    fn write_meta(&self, text: &mut String, params: &mut Members, id: i64, era: Era) {
        let passed_on = self.meta.filter(|meta| !meta.is_empty());
        if passed_on.is_none() && !self.progress && era == Era::Legacy {
            return;
        }
        params.open(text, r#","params":{"#);
        push_name(text, "_meta");
        let mut meta = Members::default();
        for (name, value) in passed_on.into_iter().flatten() {
            meta.open(text, "{");
            text.push_str(&Value::from(name.as_str()).to_string());
            text.push(':');
            text.push_str(&value.to_string());
        }
        if self.progress {
            meta.open(text, "{");
            push_name(text, "progressToken");
            text.push_str(&id.to_string());
        }
        if era == Era::Modern {
            meta.open(text, "{");
            text.push_str(&MODERN_META);
        }
        meta.close(text);
    }
}

/// The frame that cancels a request. No wire that speaks the modern era over HTTP is asked to send it.
pub fn cancellation(id: i64) -> Outgoing {
    let text = format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#);
    Outgoing { id: None, method: Some("notifications/cancelled".to_owned()), modern: None, text: text.into_bytes() }
}

/// The frame that answers a request with an error.
pub fn refusal(id: &Id, code: i64, message: &str) -> String {
    serde_json::json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}).to_string()
}

/// `arguments` as a member of `params`.
pub fn arguments(arguments: Option<&RawValue>) -> Option<(&'static str, &str)> {
    arguments.map(|json| ("arguments", json.get()))
}

/// Members of an object that exists only if it has any.
#[derive(Default)]
struct Members {
    any: bool,
}

impl Members {
    fn open(&mut self, text: &mut String, opening: &str) {
        text.push_str(if self.any { "," } else { opening });
        self.any = true;
    }

    fn close(self, text: &mut String) {
        if self.any {
            text.push('}');
        }
    }
}

fn push_name(text: &mut String, name: &str) {
    text.push('"');
    text.push_str(name);
    text.push_str("\":");
}

/// JSON text with its line breaks, which can only be white space, as blanks: stdio has one frame per line.
fn push_on_one_line(text: &mut String, json: &str) {
    if memchr::memchr2(b'\n', b'\r', json.as_bytes()).is_none() {
        text.push_str(json);
    } else {
        text.extend(json.chars().map(|c| if c == '\n' || c == '\r' { ' ' } else { c }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(request: &Request<'_>, era: Era) -> String {
        String::from_utf8(request.write(7, era)).unwrap()
    }

    #[test]
    fn a_legacy_request_says_no_more_than_it_must() {
        let ping = Request::plain("ping", &[]);
        assert_eq!(written(&ping, Era::Legacy), r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#);
    }

    #[test]
    fn a_call_passes_arguments_and_meta_on_and_asks_for_progress() {
        let mut meta = Map::new();
        meta.insert("traceparent".to_owned(), Value::from("00-\"x\""));
        let params = [("name", r#""echo""#), ("arguments", "{\"n\":1.10,\n\"big\":12345678901234567890123}")];
        let call = Request { meta: Some(&meta), progress: true, ..Request::plain("tools/call", &params) };
        assert_eq!(
            written(&call, Era::Legacy),
            concat!(
                r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","#,
                r#""arguments":{"n":1.10, "big":12345678901234567890123},"#,
                r#""_meta":{"traceparent":"00-\"x\"","progressToken":7}}}"#
            )
        );
    }

    #[test]
    fn a_modern_request_introduces_itself() {
        let probe = Request::plain("server/discover", &[]);
        let frame: Value = serde_json::from_str(&written(&probe, Era::Modern)).unwrap();
        let meta = &frame["params"]["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
        assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "mcp-sidecar");
        assert!(meta["io.modelcontextprotocol/clientCapabilities"].is_object());
    }
}
