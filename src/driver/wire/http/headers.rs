//! The headers of the protocol.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

use crate::driver::wire::{Mirrored, Outgoing};

/// The session that a server gave us.
pub const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
/// Where an interrupted stream is to go on.
pub const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const ARGUMENT_PREFIX: &str = "mcp-param-";
/// The only revision whose headers repeat the body.
const MODERN: &str = "2026-07-28";

/// What the server gave us to repeat in each request.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    /// Its session.
    pub session: Option<HeaderValue>,
    /// The revision that was agreed on.
    pub version: Option<HeaderValue>,
}

impl Credentials {
    /// For a request without a body: the event stream, the end of the session.
    pub fn headers(&self, accept: &'static str) -> HeaderMap {
        let mut headers = HeaderMap::with_capacity(8);
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        if let Some(session) = &self.session {
            headers.insert(SESSION_ID, session.clone());
        }
        if let Some(version) = &self.version {
            headers.insert(PROTOCOL_VERSION, version.clone());
        }
        headers
    }

    /// For a frame.
    pub fn headers_of(&self, outgoing: &Outgoing) -> HeaderMap {
        let mut headers = self.headers("application/json, text/event-stream");
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let (Some(mirrored), Some(method)) = (&outgoing.modern, &outgoing.method) {
            headers.insert(PROTOCOL_VERSION, HeaderValue::from_static(MODERN));
            if let Ok(method) = HeaderValue::from_str(method) {
                headers.insert(METHOD, method);
            }
            mirror(mirrored, &mut headers);
        }
        headers
    }
}

fn mirror(mirrored: &Mirrored, headers: &mut HeaderMap) {
    if let Some(name) = &mirrored.name {
        headers.insert(NAME, encode(name));
    }
    for (name, value) in &mirrored.arguments {
        if let Ok(name) = HeaderName::from_bytes(format!("{ARGUMENT_PREFIX}{name}").as_bytes()) {
            headers.insert(name, encode(value));
        }
    }
}

/// The value as it is, or wrapped in `=?base64?…?=` where a header can't hold it or could be mistaken for such.
fn encode(value: &str) -> HeaderValue {
    let is_blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    let bytes = value.as_bytes();
    let looks_wrapped = value.starts_with("=?base64?") && value.ends_with("?=");
    let has_edge = is_blank(bytes.first()) || is_blank(bytes.last());
    let is_printable = bytes.iter().all(|byte| (0x20..=0x7e).contains(byte));
    let plain = is_printable && !has_edge && !looks_wrapped;
    let text = if plain { value.to_owned() } else { format!("=?base64?{}?=", BASE64_STANDARD.encode(value)) };
    HeaderValue::try_from(text).unwrap_or_else(|_| HeaderValue::from_static(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_a_header_can_not_hold_are_wrapped() {
        for plain in ["echo", "a.b/c", "with space", ""] {
            assert_eq!(encode(plain), plain);
        }
        assert_eq!(encode("żółw"), "=?base64?xbzDs8WCdw==?=");
        assert_eq!(encode(" x"), "=?base64?IHg=?=");
        assert_eq!(encode("a\nb"), "=?base64?YQpi?=");
        assert_eq!(encode("=?base64?x?="), "=?base64?PT9iYXNlNjQ/eD89?=");
    }

    #[test]
    fn only_modern_frames_repeat_their_body() {
        let credentials = Credentials { session: Some(HeaderValue::from_static("s1")), version: None };
        let mut outgoing = Outgoing { id: None, method: Some("tools/call".to_owned()), modern: None, text: Vec::new() };
        let headers = credentials.headers_of(&outgoing);
        assert_eq!(headers.get(SESSION_ID).unwrap(), "s1");
        assert!(!headers.contains_key(METHOD) && !headers.contains_key(PROTOCOL_VERSION));
        let arguments = vec![("Region".to_owned(), "eu".to_owned())];
        outgoing.modern = Some(Mirrored { name: Some("echo".to_owned()), arguments });
        let headers = credentials.headers_of(&outgoing);
        assert_eq!(headers.get(METHOD).unwrap(), "tools/call");
        assert_eq!(headers.get(NAME).unwrap(), "echo");
        assert_eq!(headers.get("Mcp-Param-Region").unwrap(), "eu");
        assert_eq!(headers.get(PROTOCOL_VERSION).unwrap(), MODERN);
    }
}
