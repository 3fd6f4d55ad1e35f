//! The agent of the demo: a client of the era up to 2025-11-25, in one session.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::stage::Trouble;
use crate::jsonrpc::Frame;

const PROTOCOL: &str = "2025-11-25";
const TIMEOUT: Duration = Duration::from_secs(30);

/// A client session with one endpoint. Clones share it.
#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
    url: String,
    session: Option<String>,
    next_id: Arc<AtomicI64>,
}

impl Client {
    /// Opens a session.
    ///
    /// # Errors
    /// When the endpoint doesn't answer as it should.
    pub async fn connect(http: reqwest::Client, url: &str) -> Result<Self, Trouble> {
        let mut client = Self { http, url: url.to_owned(), session: None, next_id: Arc::new(AtomicI64::new(1)) };
        let who = json!({"name": "mcp-sidecar-demo", "version": env!("CARGO_PKG_VERSION")});
        let hello = json!({"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": who});
        let response = client.post(&client.message("initialize", hello)).await?;
        client.session = response.headers().get("mcp-session-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
        answer(response).await?;
        client.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await?;
        Ok(client)
    }

    /// The catalogue: the text of the `result` of `tools/list`.
    ///
    /// # Errors
    /// When the endpoint doesn't answer with a result.
    pub async fn list(&self) -> Result<String, Trouble> {
        answer(self.post(&self.message("tools/list", json!({}))).await?).await
    }

    /// Calls a tool without arguments; returns the text it says.
    ///
    /// # Errors
    /// When the answer is an error, with its text.
    pub async fn call(&self, tool: &str) -> Result<String, Trouble> {
        let call = self.message("tools/call", json!({"name": tool, "arguments": {}}));
        let result = answer(self.post(&call).await?).await?;
        let result: Value = serde_json::from_str(&result).map_err(|error| Trouble::unexpected(error.to_string()))?;
        let text = result.pointer("/content/0/text").and_then(Value::as_str).unwrap_or_default().to_owned();
        if result.get("isError") == Some(&Value::Bool(true)) {
            return Err(Trouble::unexpected(format!("the call of {tool} failed: {text}")));
        }
        Ok(text)
    }

    fn message(&self, method: &str, params: Value) -> Value {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
    }

    async fn post(&self, message: &Value) -> Result<reqwest::Response, Trouble> {
        let mut request = self.http.post(&self.url).timeout(TIMEOUT).body(message.to_string());
        request = request.header("content-type", "application/json");
        request = request.header("accept", "application/json, text/event-stream");
        if let Some(session) = &self.session {
            request = request.header("mcp-session-id", session).header("mcp-protocol-version", PROTOCOL);
        }
        let response = request.send().await.map_err(|error| Trouble::unexpected(format!("{}: {error}", self.url)))?;
        if response.status().is_success() {
            return Ok(response);
        }
        Err(Trouble::unexpected(format!("{} answered HTTP {}", self.url, response.status())))
    }
}

/// The text of the `result` in a response that is JSON, or an event stream that ends with it.
async fn answer(response: reqwest::Response) -> Result<String, Trouble> {
    let body = response.text().await.map_err(|error| Trouble::unexpected(error.to_string()))?;
    let events = body.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim_start);
    let frames = events.chain([body.as_str()]).filter_map(|text| serde_json::from_str::<Frame>(text).ok());
    let mut results = frames.filter_map(|frame| frame.result);
    results
        .next()
        .map(|result| result.get().to_owned())
        .ok_or_else(|| Trouble::unexpected(format!("no result: {body}")))
}
