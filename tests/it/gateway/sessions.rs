use serde_json::json;

use crate::support::client::Client;
use crate::support::endpoint::Endpoint;

async fn status(endpoint: &Endpoint, method: reqwest::Method, session: Option<&str>) -> u16 {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    let mut request = endpoint.http.request(method, &endpoint.url).body(body);
    request =
        request.header("content-type", "application/json").header("accept", "application/json, text/event-stream");
    if let Some(session) = session {
        request = request.header("mcp-session-id", session);
    }
    request.send().await.expect("an answer").status().as_u16()
}

#[tokio::test]
async fn no_session_is_400_and_an_unknown_one_404_whatever_is_asked() {
    let endpoint = Endpoint::start().await;
    for method in [reqwest::Method::POST, reqwest::Method::GET, reqwest::Method::DELETE] {
        assert_eq!(status(&endpoint, method.clone(), None).await, 400, "{method}");
        assert_eq!(status(&endpoint, method.clone(), Some("0123456789abcdef0123456789abcdef")).await, 404, "{method}");
    }
}

#[tokio::test]
async fn deleting_a_session_ends_its_calls_and_streams_and_nothing_else() {
    let endpoint = Endpoint::start().await;
    let (doomed, other) = (Client::legacy(&endpoint.url).await, Client::legacy(&endpoint.url).await);
    let mut stream = doomed.listen().await;
    let (caller, survivor) = (doomed.clone(), other.clone());
    let hanging = tokio::spawn(async move { caller.open("tools/call", json!({"name": "s__hang"})).await });
    let waiting = tokio::spawn(async move { survivor.call("s__wait", json!({})).await });
    endpoint.started(2).await;

    let session = doomed.session().expect("a session");
    assert_eq!(status(&endpoint, reqwest::Method::DELETE, Some(session)).await, 204);
    endpoint.abandoned(1).await;
    assert_eq!(hanging.await.expect("no panic").next().await, None);
    assert_eq!(stream.next().await, None);
    assert_eq!(status(&endpoint, reqwest::Method::POST, Some(session)).await, 404);

    endpoint.calls.release.notify_one();
    assert!(waiting.await.expect("no panic").is_success());
}

#[tokio::test]
async fn modern_clients_have_no_sessions_to_open_or_delete() {
    let endpoint = Endpoint::start().await;
    for method in [reqwest::Method::GET, reqwest::Method::DELETE, reqwest::Method::PUT] {
        let request = endpoint.http.request(method.clone(), &endpoint.url).header("mcp-protocol-version", "2026-07-28");
        let response = request.send().await.expect("an answer");
        assert_eq!(response.status().as_u16(), 405, "{method}");
        assert_eq!(response.headers()["allow"], "POST");
    }
}
