//! What an HTTP status means for the request, and for the generation.

use http::StatusCode;
use http::header::{HeaderMap, WWW_AUTHENTICATE};
use serde::Deserialize;

use crate::core::cause::{Cause, CauseKind};
use crate::jsonrpc::{self, Frame, Id, Message};

/// What a response without success means.
#[derive(Debug)]
pub enum Verdict {
    /// It is a JSON-RPC answer all the same.
    Answer(Frame),
    /// The server does not know our session: it can't have acted on the request. The generation is over.
    SessionLost(Cause),
    /// It wants other credentials. The generation is over.
    AuthRequired(Cause),
    /// 5xx. Whether the server may have acted on it, the cause's detail tells.
    ServerError(Cause),
    /// The server did not take this one request.
    Refused(Cause),
}

/// Who asked.
#[derive(Clone, Copy, Debug)]
pub struct Asker<'a> {
    /// Of the request; `None` for a notification or a stream.
    pub id: Option<&'a Id>,
    /// Whether we presented a session.
    pub in_session: bool,
}

/// Judges a response by its status, its headers and the beginning of its body.
pub fn judge(status: StatusCode, headers: &HeaderMap, body: &[u8], asker: Asker<'_>) -> Verdict {
    let challenge = headers.get(WWW_AUTHENTICATE).map(|value| value.to_str().unwrap_or_default());
    let told = format!("HTTP {}", status.as_u16());
    if asker.in_session && denies_session(status, challenge, body, asker.id) {
        return Verdict::SessionLost(Cause::new(CauseKind::SessionLost, format!("the session is unknown: {told}")));
    }
    if status == StatusCode::UNAUTHORIZED {
        return Verdict::AuthRequired(Cause::new(CauseKind::AuthRequired, told));
    }
    if let Some(frame) = answer_to(body, asker.id) {
        return Verdict::Answer(frame);
    }
    match status {
        StatusCode::FORBIDDEN if asker.in_session && lacks_scope(challenge) => {
            Verdict::Refused(Cause::new(CauseKind::AuthRequired, format!("{told}: the token's scope does not suffice")))
        }
        StatusCode::FORBIDDEN => Verdict::AuthRequired(Cause::new(CauseKind::AuthRequired, told)),
        StatusCode::SERVICE_UNAVAILABLE => {
            Verdict::ServerError(Cause::new(CauseKind::ServerError, format!("{told}, not executed")))
        }
        status if status.is_server_error() => {
            Verdict::ServerError(Cause::new(CauseKind::ServerError, format!("{told}, outcome unknown")))
        }
        _ => Verdict::Refused(Cause::new(CauseKind::HandshakeFailed, format!("{told}, not executed"))),
    }
}

/// The ways in which servers say that a session is none of theirs: 404 as specified, 400 with the reference
/// implementation's -32000 or with a text about sessions, 401 without a challenge.
fn denies_session(status: StatusCode, challenge: Option<&str>, body: &[u8], id: Option<&Id>) -> bool {
    match status {
        StatusCode::NOT_FOUND => true,
        StatusCode::UNAUTHORIZED => challenge.is_none(),
        StatusCode::BAD_REQUEST => match error_code(body) {
            Some(-32000) => true,
            Some(_) if answer_to(body, id).is_some() => false,
            _ => String::from_utf8_lossy(body).to_ascii_lowercase().contains("session"),
        },
        _ => false,
    }
}

/// RFC 6750 §3.1: the credentials are fine, this request needs more of them.
fn lacks_scope(challenge: Option<&str>) -> bool {
    challenge.is_some_and(|challenge| challenge.contains("insufficient_scope"))
}

fn answer_to(body: &[u8], id: Option<&Id>) -> Option<Frame> {
    match jsonrpc::decode(body)? {
        Message::One(frame) if frame.method.is_none() && is_same(frame.id.as_ref()?, id?) => Some(frame),
        Message::One(_) | Message::Batch(_) => None,
    }
}

/// Whether a server means this id by that one: a number may come back as a string.
pub fn is_same(received: &Id, sent: &Id) -> bool {
    received == sent || (received.as_number().is_some() && received.as_number() == sent.as_number())
}

fn error_code(body: &[u8]) -> Option<i64> {
    #[derive(Deserialize)]
    struct Refusal {
        error: Code,
    }
    #[derive(Deserialize)]
    struct Code {
        code: i64,
    }
    serde_json::from_slice(body).ok().map(|Refusal { error }| error.code)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: Id = Id::Number(7);

    fn of(status: u16, challenge: Option<&'static str>, body: &str, in_session: bool) -> Verdict {
        let mut headers = HeaderMap::new();
        if let Some(challenge) = challenge {
            headers.insert(WWW_AUTHENTICATE, challenge.parse().unwrap());
        }
        let asker = Asker { id: Some(&OURS), in_session };
        judge(StatusCode::from_u16(status).unwrap(), &headers, body.as_bytes(), asker)
    }

    #[test]
    fn a_session_is_denied_in_many_ways() {
        let no_session =
            r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"No valid session ID provided"},"id":null}"#;
        for (status, body) in [(404, ""), (400, no_session), (400, "Unknown Session"), (401, "Session not found")] {
            assert!(matches!(of(status, None, body, true), Verdict::SessionLost(_)), "{status} {body}");
            assert!(!matches!(of(status, None, body, false), Verdict::SessionLost(_)), "{status} {body}");
        }
    }

    #[test]
    fn credentials_are_asked_for_with_or_without_a_session() {
        assert!(matches!(of(401, Some("Bearer"), "", true), Verdict::AuthRequired(_)));
        assert!(matches!(of(401, None, "", false), Verdict::AuthRequired(_)));
        assert!(matches!(of(403, None, "", true), Verdict::AuthRequired(_)));
        let scope = Some(r#"Bearer error="insufficient_scope", scope="write""#);
        assert!(matches!(of(403, scope, "", true), Verdict::Refused(_)));
        assert!(matches!(of(403, scope, "", false), Verdict::AuthRequired(_)));
    }

    #[test]
    fn a_json_rpc_answer_counts_whatever_the_status() {
        let answer = r#"{"jsonrpc":"2.0","id":"7","error":{"code":-32601,"message":"Session methods are unknown"}}"#;
        for status in [400, 404, 500] {
            assert!(matches!(of(status, None, answer, false), Verdict::Answer(_)), "{status}");
        }
        assert!(matches!(of(400, None, answer, true), Verdict::Answer(_)));
        let others = r#"{"jsonrpc":"2.0","id":8,"error":{"code":-32601,"message":"?"}}"#;
        assert!(matches!(of(400, None, others, false), Verdict::Refused(_)));
    }

    #[test]
    fn server_errors_say_whether_the_request_was_taken() {
        for (status, told) in [(500, "unknown"), (502, "unknown"), (503, "not executed"), (504, "unknown")] {
            let Verdict::ServerError(cause) = of(status, None, "", true) else { panic!("{status}") };
            assert!(cause.detail.contains(told), "{cause}");
        }
        assert!(matches!(of(429, None, "", true), Verdict::Refused(_)));
    }
}
