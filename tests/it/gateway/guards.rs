use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::Ordering;

use mcp_sidecar::gateway::GatewayOptions;
use serde_json::json;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::client::Client;
use crate::support::endpoint::Endpoint;

async fn status(request: reqwest::RequestBuilder) -> u16 {
    request.send().await.expect("an answer").status().as_u16()
}

/// A call that would be carried out, were it not for its headers.
fn call(endpoint: &Endpoint, path: &str) -> reqwest::RequestBuilder {
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
    let params = json!({"name": "s__echo", "arguments": {}, "_meta": meta});
    endpoint
        .http
        .post(format!("http://{}{path}", endpoint.address))
        .header("content-type", "application/json")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", "s__echo")
        .body(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string())
}

#[tokio::test]
async fn a_rebound_host_or_a_foreign_page_gets_403_everywhere_and_changes_nothing() {
    let endpoint = Endpoint::start().await;
    let client = Client::legacy(&endpoint.url).await;
    let session = client.session().expect("a session").to_owned();
    let port = endpoint.address.port();
    let evil = [
        ("host", format!("evil.example:{port}")),
        ("host", format!("127.0.0.1.evil.example:{port}")),
        ("origin", "http://evil.example".to_owned()),
        ("origin", "null".to_owned()),
    ];
    for (name, value) in &evil {
        for path in ["/mcp", "/mcp/", "/", "/other"] {
            assert_eq!(status(call(&endpoint, path).header(*name, value)).await, 403, "POST {path} {name}: {value}");
            let url = format!("http://{}{path}", endpoint.address);
            for method in
                [reqwest::Method::GET, reqwest::Method::DELETE, reqwest::Method::OPTIONS, reqwest::Method::PUT]
            {
                let request = endpoint.http.request(method.clone(), &url).header("mcp-session-id", &session);
                let request = request.header("access-control-request-method", "POST");
                assert_eq!(status(request.header(*name, value)).await, 403, "{method} {path} {name}: {value}");
            }
        }
    }
    assert_eq!(endpoint.calls.started.load(Ordering::SeqCst), 0);
    assert!(client.call("s__echo", json!({})).await.is_success(), "the session was not deleted");
    assert_eq!(status(call(&endpoint, "/mcp")).await, 200, "without an Origin all is well");
}

#[tokio::test]
async fn hosts_and_origins_that_are_configured_are_served_and_browsers_told_so() {
    let options = GatewayOptions {
        allowed_hosts: vec!["sidecar.svc".into()],
        allowed_origins: vec!["https://app.example".into()],
        token: Some("s3cret".into()),
        ..GatewayOptions::default()
    };
    let endpoint = Endpoint::start_with(options, Duration::ZERO).await;
    let origin = ("origin", "https://app.example");
    let request = call(&endpoint, "/mcp").header("host", "sidecar.svc:9900").header(origin.0, origin.1);
    let response = request.bearer_auth("s3cret").send().await.expect("an answer");
    assert_eq!(response.status().as_u16(), 200);
    assert_eq!(response.headers()["access-control-allow-origin"], origin.1);
    let preflight = endpoint.http.request(reqwest::Method::OPTIONS, &endpoint.url).header(origin.0, origin.1);
    let preflight = preflight.header("access-control-request-method", "POST");
    let preflight = preflight.header("access-control-request-headers", "mcp-name, authorization");
    let response = preflight.send().await.expect("an answer");
    assert_eq!(response.status().as_u16(), 204, "a browser sends no token with its question");
    assert_eq!(response.headers()["access-control-allow-headers"], "mcp-name, authorization");
}

#[tokio::test]
async fn without_the_token_nothing_is_served_on_any_path() {
    let options = GatewayOptions { token: Some("s3cret".into()), ..GatewayOptions::default() };
    let endpoint = Endpoint::start_with(options, Duration::ZERO).await;
    for path in ["/mcp", "/", "/other"] {
        let response = call(&endpoint, path).send().await.expect("an answer");
        assert_eq!(response.status().as_u16(), 401, "{path}");
        assert!(response.headers()["www-authenticate"].to_str().is_ok_and(|value| value.starts_with("Bearer")));
        assert_eq!(status(call(&endpoint, path).bearer_auth("wrong")).await, 401);
        assert_eq!(status(endpoint.http.get(format!("http://{}{path}", endpoint.address))).await, 401);
    }
    assert_eq!(endpoint.calls.started.load(Ordering::SeqCst), 0);
    assert_eq!(status(call(&endpoint, "/mcp").bearer_auth("s3cret")).await, 200);
    assert_eq!(status(call(&endpoint, "/other").bearer_auth("s3cret")).await, 404);
}

#[tokio::test]
async fn a_unix_socket_serves_its_owner_whatever_host_the_client_makes_up() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("mcp.sock");
    let _endpoint = Endpoint::start_at(&path).await;
    let mode = std::fs::metadata(&path).expect("a socket").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let mut stream = tokio::net::UnixStream::connect(&path).await.expect("a connection");
    let request = "GET /mcp HTTP/1.1\r\nhost: whatever\r\nconnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("read");
    assert!(answer.starts_with("HTTP/1.1 400"), "no session, but served: {answer}");
}
