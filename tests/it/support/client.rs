//! An MCP client of the endpoint that hides nothing: raw texts, explicit eras, one request at a time or many.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use serde_json::{Value, json};

use super::exchange::{Answer, Exchange};

const LEGACY: &str = "2025-11-25";
const MODERN: &str = "2026-07-28";

/// A client of one endpoint. Clones share the session and the connections.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    url: String,
    token: Option<String>,
    /// `None`: the modern era, which has no sessions.
    session: Option<String>,
    legacy: bool,
    next_id: Arc<AtomicI64>,
}

impl Client {
    /// A client of the era up to 2025-11-25, after its handshake.
    pub async fn legacy(url: &str) -> Self {
        Self::legacy_with(url, None).await
    }

    /// The same with a bearer token.
    pub async fn legacy_with(url: &str, token: Option<&str>) -> Self {
        let mut client = Self::new(url, token, true);
        let who = json!({"name": "tests", "version": "1"});
        let hello = json!({"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": who});
        let exchange = client.open("initialize", hello).await;
        client.session = exchange.session.clone();
        let (_, answer) = exchange.finish().await;
        assert_eq!(answer.result()["protocolVersion"], LEGACY, "{}", answer.text);
        client.notify("notifications/initialized", json!({})).await;
        client
    }

    /// A client of the era 2026-07-28, which needs no handshake.
    pub fn modern(url: &str) -> Self {
        Self::new(url, None, false)
    }

    fn new(url: &str, token: Option<&str>, legacy: bool) -> Self {
        let token = token.map(str::to_owned);
        Self {
            http: http_client(),
            url: url.to_owned(),
            token,
            session: None,
            legacy,
            next_id: Arc::new(AtomicI64::new(1)),
        }
    }

    /// The session's id, in the era that has sessions.
    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// The whole `tools/list`, as the text of its `result`.
    pub async fn list_text(&self) -> String {
        self.request("tools/list", json!({})).await.result_text()
    }

    /// The names of all tools, in the order of the list.
    pub async fn tool_names(&self) -> Vec<String> {
        let answer = self.request("tools/list", json!({})).await;
        let tools = answer.result()["tools"].as_array().expect("a list of tools").clone();
        tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
    }

    /// Calls a tool and waits for the one answer.
    pub async fn call(&self, tool: &str, arguments: Value) -> Answer {
        self.request("tools/call", json!({"name": tool, "arguments": arguments})).await
    }

    /// Sends a request and waits for the one answer.
    pub async fn request(&self, method: &str, params: Value) -> Answer {
        self.open(method, params).await.finish().await.1
    }

    /// Sends a request; its messages are the caller's to read. Dropping the exchange closes the stream.
    pub async fn open(&self, method: &str, params: Value) -> Exchange {
        self.open_as(self.next_id(), method, params).await
    }

    /// The same with an id of the caller's choice, to cancel it by.
    pub async fn open_as(&self, id: i64, method: &str, params: Value) -> Exchange {
        self.post(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": self.with_meta(params)})).await
    }

    /// An id that no request of this client has yet.
    pub fn next_id(&self) -> i64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Sends a notification.
    pub async fn notify(&self, method: &str, params: Value) {
        let exchange = self.post(json!({"jsonrpc": "2.0", "method": method, "params": self.with_meta(params)})).await;
        assert!((200..300).contains(&exchange.status), "{method} got HTTP {}", exchange.status);
    }

    /// Where `list_changed` arrives: the session's GET stream, or a subscription of the modern era.
    pub async fn listen(&self) -> Exchange {
        if !self.legacy {
            return self.open("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}})).await;
        }
        let request = self.headers(self.http.get(&self.url), "", None).header("accept", "text/event-stream");
        Exchange::new(request.send().await.expect("the stream opens"))
    }

    async fn post(&self, message: Value) -> Exchange {
        let method = message["method"].as_str().expect("a method");
        let name = message.pointer("/params/name").and_then(Value::as_str);
        let request = self.headers(self.http.post(&self.url), method, name);
        let request = request.header("accept", "application/json, text/event-stream");
        let request = request.header("content-type", "application/json").body(message.to_string());
        Exchange::new(request.send().await.expect("the endpoint answers"))
    }

    fn headers(
        &self,
        mut request: reqwest::RequestBuilder,
        method: &str,
        name: Option<&str>,
    ) -> reqwest::RequestBuilder {
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        if self.legacy {
            if let Some(session) = &self.session {
                request = request.header("mcp-session-id", session).header("mcp-protocol-version", LEGACY);
            }
            return request;
        }
        request = request.header("mcp-protocol-version", MODERN).header("mcp-method", method);
        match name {
            Some(name) => request.header("mcp-name", name),
            None => request,
        }
    }

    fn with_meta(&self, mut params: Value) -> Value {
        if !self.legacy {
            let meta = params.as_object_mut().expect("parameters are an object").entry("_meta").or_insert(json!({}));
            meta["io.modelcontextprotocol/protocolVersion"] = json!(MODERN);
            meta["io.modelcontextprotocol/clientInfo"] = json!({"name": "tests", "version": "1"});
            meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
        }
        params
    }
}

/// A plain HTTP client: no proxy, no redirects, connections pooled.
pub fn http_client() -> reqwest::Client {
    // Fails when another test of this process was first, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).tcp_nodelay(true);
    builder.build().expect("a client")
}
