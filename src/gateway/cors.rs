//! What a browser needs to hear before a page of an allowed origin may talk to us.

use axum::response::Response;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
};
use http::{HeaderMap, HeaderValue, StatusCode};

use super::http::status;

/// The request's origin, which the guard has passed.
#[must_use]
pub fn origin(headers: &HeaderMap) -> Option<HeaderValue> {
    headers.get(ORIGIN).cloned()
}

/// Whether a browser asks before it sends a request. It never sends a token with the question.
#[must_use]
pub fn is_preflight(headers: &HeaderMap) -> bool {
    headers.contains_key(ORIGIN) && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// The answer to that: whatever headers it wants, since clients name theirs after arguments (`Mcp-Param-…`).
#[must_use]
pub fn preflight(headers: &HeaderMap) -> Response {
    let mut response = status(StatusCode::NO_CONTENT);
    let answered = response.headers_mut();
    answered.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("POST, GET, DELETE"));
    if let Some(wanted) = headers.get(ACCESS_CONTROL_REQUEST_HEADERS) {
        answered.insert(ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
    }
    answered.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    if let Some(origin) = origin(headers) {
        allow(&mut response, origin);
    }
    response
}

/// Lets the page read `response`.
pub fn allow(response: &mut Response, origin: HeaderValue) {
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("Mcp-Session-Id, WWW-Authenticate"));
    headers.append(VARY, HeaderValue::from_static("Origin"));
}
