//! Server-sent events: framing, and what keeps a quiet stream open.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, StatusCode};

/// Pause after which a stream without events gets a comment.
pub const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The comment.
pub const COMMENT: Bytes = Bytes::from_static(b":\n\n");

/// A message as one event. Line ends, which JSON has only between tokens, become further `data:` lines.
#[must_use]
pub fn event(json: &str) -> Bytes {
    let mut text = String::with_capacity(json.len() + 16);
    text.push_str("event: message\n");
    for line in json.split(['\n', '\r']).filter(|line| !line.is_empty()) {
        text.push_str("data: ");
        text.push_str(line);
        text.push('\n');
    }
    text.push('\n');
    text.into()
}

/// A response whose body is these events.
pub fn response(events: impl Stream<Item = Bytes> + Send + 'static) -> Response {
    let mut response = Response::new(Body::from_stream(events.map(Ok::<_, Infallible>)));
    *response.status_mut() = StatusCode::OK;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_with_line_ends_stays_one_event() {
        assert_eq!(event("{\"a\":\r\n 1}"), "event: message\ndata: {\"a\":\ndata:  1}\n\n");
    }
}
