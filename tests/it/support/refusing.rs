//! HTTP servers that refuse: one wants credentials nobody has, one forgets its session at each call.

use std::net::Ipv4Addr;

use axum::Router;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::{Value, json};

/// A server that answers every request with 401 and a challenge. Lives as long as the test's runtime, like the other one.
pub async fn unauthorized() -> String {
    serve(Router::new().fallback(|| async {
        (StatusCode::UNAUTHORIZED, [("www-authenticate", "Bearer realm=\"test\"")], "credentials, please")
    }))
    .await
}

/// A server of the legacy era whose handshake and tool list work, and whose every call finds its session gone.
pub async fn forgetful() -> String {
    serve(Router::new().route("/mcp", post(forget))).await
}

async fn forget(body: String) -> Response {
    let message: Value = serde_json::from_str(&body).expect("JSON");
    let answer = |result: Value| {
        let text = json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string();
        ([("content-type", "application/json"), ("mcp-session-id", "short-lived")], text).into_response()
    };
    match message["method"].as_str() {
        Some("initialize") => answer(json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "forgetful", "version": "1"},
        })),
        Some("tools/list") => answer(json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]})),
        Some("tools/call") => StatusCode::NOT_FOUND.into_response(),
        _ => StatusCode::ACCEPTED.into_response(),
    }
}

async fn serve(app: Router) -> String {
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
    let address = listener.local_addr().expect("its address");
    tokio::spawn(async move { axum::serve(listener, app).await });
    format!("http://{address}/mcp")
}
