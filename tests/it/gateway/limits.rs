use std::sync::atomic::Ordering;
use std::time::Duration;

use mcp_sidecar::gateway::{GatewayOptions, RequestLimits};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::client::Client;
use crate::support::endpoint::Endpoint;

#[tokio::test]
async fn ten_megabytes_pass_both_ways() {
    let endpoint = Endpoint::start().await;
    let arguments = json!({"text": "x".repeat(10 * 1024 * 1024)});
    for client in [Client::legacy(&endpoint.url).await, Client::modern(&endpoint.url)] {
        let answer = client.call("s__echo", arguments.clone()).await;
        assert_eq!(answer.result()["structuredContent"], arguments);
    }
}

#[tokio::test]
async fn a_body_beyond_the_limit_is_refused_announced_or_not() {
    let requests = RequestLimits { body: 10_000, ..RequestLimits::default() };
    let endpoint = Endpoint::start_with(GatewayOptions { requests, ..GatewayOptions::default() }, Duration::ZERO).await;
    let post = || endpoint.http.post(&endpoint.url).header("content-type", "application/json");
    let announced = post().body("x".repeat(10_001)).send().await.expect("an answer");
    assert_eq!(announced.status().as_u16(), 413);
    let chunks = futures_util::stream::iter((0..11).map(|_| Ok::<_, std::io::Error>("x".repeat(1000))));
    let unannounced = post().body(reqwest::Body::wrap_stream(chunks)).send().await.expect("an answer");
    assert_eq!(unannounced.status().as_u16(), 413);
}

#[tokio::test]
async fn calls_beyond_the_limit_are_refused_until_others_end() {
    let requests = RequestLimits { calls: 1, ..RequestLimits::default() };
    let endpoint = Endpoint::start_with(GatewayOptions { requests, ..GatewayOptions::default() }, Duration::ZERO).await;
    let client = Client::modern(&endpoint.url);
    let first = client.clone();
    let waiting = tokio::spawn(async move { first.call("s__wait", json!({})).await });
    endpoint.started(1).await;
    let refused = client.call("s__echo", json!({})).await;
    assert_eq!(refused.message["error"]["code"], -32603);
    assert_eq!(endpoint.calls.started.load(Ordering::SeqCst), 1);
    endpoint.calls.release.notify_one();
    assert!(waiting.await.expect("no panic").is_success());
    assert!(client.call("s__echo", json!({})).await.is_success());
}

#[tokio::test]
async fn clients_that_send_nothing_do_not_keep_others_out() {
    let endpoint = Endpoint::start().await;
    let mut silent = Vec::new();
    for _ in 0..200 {
        let mut stream = TcpStream::connect(endpoint.address).await.expect("a connection");
        stream.write_all(b"POST /mcp HTTP/1.1\r\nhost: loc").await.expect("sent");
        silent.push(stream);
    }
    assert!(Client::modern(&endpoint.url).call("s__echo", json!({})).await.is_success());
}

#[tokio::test]
async fn a_request_line_that_never_ends_is_refused() {
    let endpoint = Endpoint::start().await;
    let mut stream = TcpStream::connect(endpoint.address).await.expect("a connection");
    stream.write_all(b"POST /").await.expect("sent");
    let endless = [b'a'; 64 * 1024];
    let mut sent = 0;
    while stream.write_all(&endless).await.is_ok() {
        sent += endless.len();
        assert!(sent < 64 << 20, "nobody stopped us");
    }
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    assert!(sent < 16 << 20, "{sent} bytes were taken");
}
