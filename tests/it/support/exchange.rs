//! One HTTP exchange with the endpoint, message by message.

use futures_util::StreamExt;
use serde_json::Value;
use serde_json::value::RawValue;

/// The messages of one response: a single JSON body, or the events of an SSE stream.
pub struct Exchange {
    /// The HTTP status.
    pub status: u16,
    /// The response's `Mcp-Session-Id`.
    pub session: Option<String>,
    body: Body,
}

enum Body {
    Json(Option<reqwest::Response>),
    Events { response: futures_util::stream::BoxStream<'static, reqwest::Result<bytes::Bytes>>, pending: Vec<u8> },
}

impl Exchange {
    pub fn new(response: reqwest::Response) -> Self {
        let header = |name: &str| response.headers().get(name).and_then(|v| v.to_str().ok()).map(str::to_owned);
        let status = response.status().as_u16();
        let session = header("mcp-session-id");
        let events = header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"));
        let body = if events {
            Body::Events { response: response.bytes_stream().boxed(), pending: Vec::new() }
        } else {
            Body::Json(Some(response))
        };
        Self { status, session, body }
    }

    /// The text of the next message; `None` at the end, also at a broken one.
    pub async fn next_text(&mut self) -> Option<String> {
        match &mut self.body {
            Body::Json(response) => {
                let text = response.take()?.text().await.ok()?;
                (!text.is_empty()).then_some(text)
            }
            Body::Events { response, pending } => loop {
                while let Some((event, length)) = first_event(pending) {
                    pending.drain(..length);
                    if let Some(data) = data_of(&event) {
                        return Some(data);
                    }
                }
                pending.extend_from_slice(&response.next().await?.ok()?);
            },
        }
    }

    /// The next message.
    pub async fn next(&mut self) -> Option<Value> {
        let text = self.next_text().await?;
        Some(serde_json::from_str(&text).unwrap_or_else(|error| panic!("no JSON ({error}): {text}")))
    }

    /// The response to the request, and the notifications before it.
    pub async fn finish(mut self) -> (Vec<Value>, Answer) {
        let mut notifications = Vec::new();
        while let Some(text) = self.next_text().await {
            let message: Value =
                serde_json::from_str(&text).unwrap_or_else(|error| panic!("no JSON ({error}): {text}"));
            if message.get("method").is_none() {
                return (notifications, Answer { status: self.status, text, message });
            }
            notifications.push(message);
        }
        panic!("HTTP {}: the exchange ended without a response, after {notifications:?}", self.status);
    }
}

/// A JSON-RPC response, with the text it came as.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// As it came.
    pub text: String,
    /// As it reads.
    pub message: Value,
}

impl Answer {
    /// The text of `result`, byte for byte.
    pub fn result_text(&self) -> String {
        #[derive(serde::Deserialize)]
        struct Response {
            result: Box<RawValue>,
        }
        let response: Response =
            serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("no result: {}", self.text));
        response.result.get().to_owned()
    }

    /// The `result`; panics on an error response.
    pub fn result(&self) -> &Value {
        self.message.get("result").unwrap_or_else(|| panic!("no result: {}", self.text))
    }

    /// Whether it is a tool result without `isError`.
    pub fn is_success(&self) -> bool {
        self.message.get("result").is_some_and(|result| result.get("isError") != Some(&Value::Bool(true)))
    }

    /// The text of a tool result's first content, or the message of an error response.
    pub fn words(&self) -> &str {
        let content = self.message.pointer("/result/content/0/text").or_else(|| self.message.pointer("/error/message"));
        content.and_then(Value::as_str).unwrap_or_else(|| panic!("no words: {}", self.text))
    }
}

fn first_event(pending: &[u8]) -> Option<(String, usize)> {
    let end = |separator: &[u8]| {
        let at = pending.windows(separator.len()).position(|window| window == separator)?;
        Some((at, at + separator.len()))
    };
    let (at, length) = [end(b"\n\n"), end(b"\r\n\r\n")].into_iter().flatten().min()?;
    Some((String::from_utf8_lossy(&pending[..at]).into_owned(), length))
}

fn data_of(event: &str) -> Option<String> {
    let lines: Vec<&str> = event.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim_start).collect();
    let data = lines.join("\n");
    (!data.is_empty()).then_some(data)
}
