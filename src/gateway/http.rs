//! The HTTP side of the endpoint: guards, methods, bodies, media types.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use http::header::{ACCEPT, ALLOW, CONTENT_LENGTH, CONTENT_TYPE, HOST, ORIGIN, WWW_AUTHENTICATE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};

use super::era::{self, Era};
use super::message::{Message, Params};
use super::upstream::Upstream;
use super::{Gateway, answer, cors, legacy, modern};
use crate::jsonrpc::code;
use crate::listener::Denial;
use crate::telemetry::note::Note;

/// Where MCP is served.
pub const PATH: &str = "/mcp";

/// The header that carries a protocol revision.
pub const PROTOCOL_VERSION: &str = "mcp-protocol-version";

/// How long a client may take to deliver a body.
const BODY_DEADLINE: Duration = Duration::from_secs(60);

/// Answers any request on the listener. Nothing is looked at before the guards have passed it.
pub async fn handle<U: Upstream>(State(gateway): State<Arc<Gateway<U>>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    if let Err(denial) = gateway.guard.screen(&parts) {
        gateway.warn_once(&denial, &parts.headers);
        return denied(&denial);
    }
    if parts.method == Method::OPTIONS && cors::is_preflight(&parts.headers) {
        return cors::preflight(&parts.headers);
    }
    let origin = cors::origin(&parts.headers);
    let mut response = match gateway.guard.authorize(&parts.headers) {
        Ok(()) => route(&gateway, &parts, body).await,
        Err(denial) => denied(&denial),
    };
    if let Some(origin) = origin {
        cors::allow(&mut response, origin);
    }
    response
}

async fn route<U: Upstream>(gateway: &Arc<Gateway<U>>, parts: &Parts, body: Body) -> Response {
    if parts.uri.path().trim_end_matches('/') != PATH {
        let message = format!("Nothing is here: MCP is served at {PATH}");
        return json(StatusCode::NOT_FOUND, answer::error(None, code::INVALID_REQUEST, &message, None));
    }
    if parts.method == Method::POST {
        return post(gateway, parts, body).await;
    }
    let is_legacy = era::of(None, None, version(&parts.headers)) == Era::Legacy;
    if is_legacy && parts.method == Method::GET {
        legacy::stream(gateway, &parts.headers)
    } else if is_legacy && parts.method == Method::DELETE {
        legacy::delete(gateway, &parts.headers)
    } else {
        let mut response = status(StatusCode::METHOD_NOT_ALLOWED);
        let allowed = if is_legacy { "POST, GET, DELETE" } else { "POST" };
        response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
        response
    }
}

async fn post<U: Upstream>(gateway: &Arc<Gateway<U>>, parts: &Parts, body: Body) -> Response {
    let is_json = parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).is_some_and(is_json_type);
    if !is_json {
        let message = "Content-Type must be application/json";
        return json(StatusCode::UNSUPPORTED_MEDIA_TYPE, answer::error(None, code::INVALID_REQUEST, message, None));
    }
    let body = match read(&parts.headers, body, gateway.limits.body).await {
        Ok(body) => body,
        Err((status, message)) => return json(status, answer::error(None, code::INVALID_REQUEST, message, None)),
    };
    let message = match Message::parse(&body) {
        Ok(message) => message,
        Err(malformed) => {
            let text = answer::error(None, malformed.code, malformed.message, None);
            return json(StatusCode::BAD_REQUEST, text);
        }
    };
    let (method, params) = match &message {
        Message::Request { method, params, .. } | Message::Notification { method, params } => {
            (Some(method.as_ref()), *params)
        }
        Message::Response => (None, None),
    };
    let params = Params::parse(params);
    let declared = params.as_ref().ok().and_then(Params::declared_version);
    match era::of(method, declared, version(&parts.headers)) {
        Era::Legacy => legacy::post(gateway, &parts.headers, message, params.ok()).await,
        Era::Modern => modern::post(gateway, &parts.headers, message, params.ok()).await,
    }
}

async fn read(headers: &HeaderMap, body: Body, limit: usize) -> Result<Bytes, (StatusCode, &'static str)> {
    const TOO_LARGE: (StatusCode, &str) = (StatusCode::PAYLOAD_TOO_LARGE, "The body is too large");
    let announced = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if announced.is_some_and(|length| length > limit) {
        return Err(TOO_LARGE);
    }
    match tokio::time::timeout(BODY_DEADLINE, Limited::new(body, limit).collect()).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(TOO_LARGE),
        Ok(Err(_)) => Err((StatusCode::BAD_REQUEST, "The body could not be read")),
        Err(_) => Err((StatusCode::REQUEST_TIMEOUT, "The body took too long")),
    }
}

/// Which media types a client takes for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepts {
    /// `application/json`.
    pub json: bool,
    /// `text/event-stream`, by name: a wildcard does not show that the client can read one.
    pub stream: bool,
}

impl Accepts {
    /// Reads `Accept`; absent, the client takes JSON.
    #[must_use]
    pub fn of(headers: &HeaderMap) -> Self {
        if !headers.contains_key(ACCEPT) {
            return Self { json: true, stream: false };
        }
        let mut accepts = Self { json: false, stream: false };
        let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
        for entry in values.flat_map(|value| value.split(',')) {
            let (kind, parameters) = entry.split_once(';').unwrap_or((entry, ""));
            let refused = parameters.split(';').any(|p| matches!(p.trim(), "q=0" | "q=0.0" | "q=0.00" | "q=0.000"));
            match kind.trim().to_ascii_lowercase().as_str() {
                "application/json" | "application/*" | "*/*" => accepts.json |= !refused,
                "text/event-stream" => accepts.stream |= !refused,
                _ => {}
            }
        }
        accepts
    }
}

/// The protocol revision in the header.
#[must_use]
pub fn version(headers: &HeaderMap) -> Option<&str> {
    headers.get(PROTOCOL_VERSION).and_then(|value| value.to_str().ok())
}

/// A JSON response.
#[must_use]
pub fn json(status: StatusCode, text: String) -> Response {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A response without a body.
#[must_use]
pub fn status(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

impl<U> Gateway<U> {
    /// Tells the operator of the first request that was turned away: a service name that is missing in `allowed_hosts`
    /// would else be a riddle. Of the first only, since anybody can send more.
    fn warn_once(&self, denial: &Denial, headers: &HeaderMap) {
        if self.warned.swap(true, Ordering::Relaxed) {
            return;
        }
        let seen = |name| {
            headers.get(name).map_or_else(|| "none".to_owned(), |value| format!("{:.100}", format!("{value:?}")))
        };
        let text = format!(
            "MCP listener: a request was turned away: {} (Host {}, Origin {}); see allowed_hosts and allowed_origins. \
             Further ones are not reported",
            denial.message,
            seen(HOST),
            seen(ORIGIN)
        );
        self.telemetry.note(&Note::Warning { text });
    }
}

fn denied(denial: &Denial) -> Response {
    let mut response = json(denial.status, answer::error(None, code::INVALID_REQUEST, denial.message, None));
    if let Some(challenge) = denial.challenge {
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
    }
    response
}

fn is_json_type(value: &str) -> bool {
    value.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_stream_is_only_sent_to_who_names_it() {
        let accepts = |value: &'static str| {
            let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(value))]);
            let Accepts { json, stream } = Accepts::of(&headers);
            (json, stream)
        };
        assert_eq!(accepts("application/json, text/event-stream"), (true, true));
        assert_eq!(accepts("*/*"), (true, false));
        assert_eq!(accepts("Text/Event-Stream;q=0.5"), (false, true));
        assert_eq!(accepts("application/json;q=0, text/event-stream"), (false, true));
        assert_eq!(accepts("text/html"), (false, false));
        assert_eq!(Accepts::of(&HeaderMap::new()), Accepts { json: true, stream: false });
    }
}
