//! What the gateway says, as JSON text: payloads of servers are copied, never re-interpreted.

use std::fmt::Write as _;

use serde_json::value::RawValue;

use super::era::Era;
use super::upstream::Refusal;
use crate::jsonrpc::Id;
use crate::jsonrpc::object::{self, Object, push_string};

/// `_meta` key of a refusal's fields, for programs.
pub const REFUSAL_META: &str = "io.github.mcp-sidecar/refusal";

const RESULT_TYPE: &str = "resultType";
const COMPLETE: &str = r#""complete""#;

/// The response to `id` with this `result`.
#[must_use]
pub fn result(id: &Id, result: &str) -> String {
    let mut text = String::with_capacity(result.len() + 64);
    open(&mut text, Some(id));
    text.push_str(r#","result":"#);
    text.push_str(result);
    text.push('}');
    text
}

/// The response to `id`, if that could be read, with this `error` object.
#[must_use]
pub fn raw_error(id: Option<&Id>, error: &str) -> String {
    let mut text = String::with_capacity(error.len() + 64);
    open(&mut text, id);
    text.push_str(r#","error":"#);
    text.push_str(error);
    text.push('}');
    text
}

/// The response to `id`, if that could be read, with an error of ours. `data` is JSON text.
#[must_use]
pub fn error(id: Option<&Id>, code: i64, message: &str, data: Option<&str>) -> String {
    let mut text = format!(r#"{{"code":{code},"message":"#);
    push_string(&mut text, message);
    if let Some(data) = data {
        let _ = write!(text, r#","data":{data}"#);
    }
    text.push('}');
    raw_error(id, &text)
}

/// The id as JSON text.
#[must_use]
pub fn id_text(id: &Id) -> String {
    match id {
        Id::Number(number) => number.to_string(),
        Id::Text(text) => {
            let mut quoted = String::new();
            push_string(&mut quoted, text);
            quoted
        }
    }
}

/// The response to `id` with a server's tool result, which gets or loses its `resultType` as the client's era has it.
/// What asks for input can't be told to a legacy client: that is an error.
#[must_use]
pub fn tool_result(id: &Id, raw: &RawValue, era: Era) -> String {
    let text = raw.get();
    // Looking for the key first spares nearly every result a second parse.
    let typed = text.contains(RESULT_TYPE).then(|| Object::parse(text).ok()).flatten();
    let kind = typed.as_ref().and_then(|object| object.get(RESULT_TYPE)).map(RawValue::get);
    match (era, kind, typed) {
        (Era::Modern, None, _) if text.starts_with('{') => {
            let rest = text.get(1..).unwrap_or_default().trim_start();
            let comma = if rest.starts_with('}') { "" } else { "," };
            result(id, &format!(r#"{{"{RESULT_TYPE}":{COMPLETE}{comma}{rest}"#))
        }
        (Era::Legacy, Some(COMPLETE), Some(object)) => {
            let kept = object.iter().filter(|(key, _)| *key != RESULT_TYPE).map(|(key, value)| (key, value.get()));
            result(id, &object::render(kept))
        }
        (Era::Legacy, Some(_), _) => {
            let message = "The server asks for input, which needs a client of protocol 2026-07-28";
            error(Some(id), crate::jsonrpc::code::INTERNAL_ERROR, message, None)
        }
        (Era::Modern | Era::Legacy, _, _) => result(id, text),
    }
}

/// Whether a tool result says `isError: true`.
#[must_use]
pub fn is_tool_error(raw: &RawValue) -> bool {
    raw.get().contains("isError")
        && Object::parse(raw.get()).is_ok_and(|object| object.get("isError").is_some_and(|value| value.get() == "true"))
}

/// A refusal as a tool result, so that the agent reads it: a sentence, and the fields in `_meta`.
#[must_use]
pub fn refusal(id: &Id, refusal: &Refusal, era: Era) -> String {
    let attempts = refusal.attempts.map(|(spent, allowed)| serde_json::json!({"spent": spent, "max": allowed}));
    let fields = serde_json::json!({
        "server": refusal.server,
        "reason": refusal.reason,
        "downSince": refusal.down_since,
        "attempts": attempts,
        "nextAttemptMs": refusal.next_attempt_ms,
    });
    let mut body = serde_json::json!({
        "content": [{"type": "text", "text": refusal.message}],
        "isError": true,
        "_meta": {REFUSAL_META: fields},
    });
    if era == Era::Modern {
        body[RESULT_TYPE] = "complete".into();
    }
    result(id, &body.to_string())
}

fn open(text: &mut String, id: Option<&Id>) {
    text.push_str(r#"{"jsonrpc":"2.0""#);
    if let Some(id) = id {
        text.push_str(r#","id":"#);
        text.push_str(&id_text(id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(text: &str, era: Era) -> String {
        tool_result(&Id::Number(7), &RawValue::from_string(text.to_owned()).unwrap(), era)
    }

    #[test]
    fn a_modern_client_always_gets_a_result_type() {
        assert_eq!(
            answered(r#"{ "content":[],"n":1.10}"#, Era::Modern),
            r#"{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","content":[],"n":1.10}}"#
        );
        assert_eq!(answered("{ }", Era::Modern), r#"{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete"}}"#);
        let nested = r#"{"structuredContent":{"resultType":"x"}}"#;
        assert!(answered(nested, Era::Modern).contains(r#"{"resultType":"complete","structuredContent"#));
        let asks = r#"{"resultType":"input_required","inputRequests":{}}"#;
        assert!(answered(asks, Era::Modern).contains(asks));
    }

    #[test]
    fn a_legacy_client_never_sees_a_result_type() {
        let text = r#"{"a":1.0,"resultType":"complete","content":[]}"#;
        assert_eq!(answered(text, Era::Legacy), r#"{"jsonrpc":"2.0","id":7,"result":{"a":1.0,"content":[]}}"#);
        let nested = r#"{"structuredContent":{"resultType":"x"}}"#;
        assert!(answered(nested, Era::Legacy).contains(nested));
        assert!(answered(r#"{"resultType":"input_required"}"#, Era::Legacy).contains("-32603"));
    }

    #[test]
    fn tool_errors_are_told_from_results_that_only_talk_of_them() {
        let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        assert!(is_tool_error(&raw(r#"{"content":[],"isError":true}"#)));
        assert!(!is_tool_error(&raw(r#"{"content":[],"isError":false}"#)));
        assert!(!is_tool_error(&raw(r#"{"content":[{"isError":true}]}"#)));
    }

    #[test]
    fn errors_name_the_request_they_belong_to() {
        assert_eq!(
            error(Some(&Id::Text("a\"b".into())), -1, "no \"x\"", Some("[1]")),
            r#"{"jsonrpc":"2.0","id":"a\"b","error":{"code":-1,"message":"no \"x\"","data":[1]}}"#
        );
        assert_eq!(error(None, -1, "m", None), r#"{"jsonrpc":"2.0","error":{"code":-1,"message":"m"}}"#);
    }
}
