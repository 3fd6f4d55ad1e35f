use std::time::{Duration, Instant};

use mcp_sidecar::gateway::GatewayOptions;
use serde_json::json;

use crate::support::client::Client;
use crate::support::endpoint::Endpoint;

async fn start(grace: Duration) -> Endpoint {
    Endpoint::start_with(GatewayOptions::default(), grace).await
}

#[tokio::test]
async fn a_stop_ends_streams_at_once_the_modern_ones_with_their_result() {
    let endpoint = start(Duration::from_secs(60)).await;
    let (legacy, modern) = (Client::legacy(&endpoint.url).await, Client::modern(&endpoint.url));
    let (mut stream, mut subscription) = (legacy.listen().await, modern.listen().await);
    let acknowledged = subscription.next().await.expect("the acknowledgement");
    let began = Instant::now();
    endpoint.shutdown.cancel();
    assert_eq!(stream.next().await, None);
    let result = subscription.next().await.expect("the result");
    assert_eq!(result["result"]["resultType"], "complete");
    let key = "io.modelcontextprotocol/subscriptionId";
    assert_eq!(result["result"]["_meta"][key], acknowledged["params"]["_meta"][key]);
    assert_eq!(result["id"], result["result"]["_meta"][key]);
    assert_eq!(subscription.next().await, None);
    assert_eq!(endpoint.ended().await, 0);
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn calls_in_flight_get_their_answers_within_the_grace() {
    let endpoint = start(Duration::from_secs(60)).await;
    let client = Client::modern(&endpoint.url);
    let waiting = tokio::spawn(async move { client.call("s__wait", json!({})).await });
    endpoint.started(1).await;
    endpoint.shutdown.cancel();
    endpoint.calls.release.notify_one();
    assert!(waiting.await.expect("no panic").is_success());
    assert_eq!(endpoint.ended().await, 0);
}

#[tokio::test]
async fn calls_that_outlast_the_grace_are_refused_and_the_end_is_bounded() {
    let endpoint = start(Duration::from_millis(200)).await;
    let legacy = Client::legacy(&endpoint.url).await;
    let clients = [legacy, Client::modern(&endpoint.url)];
    let hanging = clients.map(|client| tokio::spawn(async move { client.call("s__hang", json!({})).await }));
    endpoint.started(2).await;
    let began = Instant::now();
    endpoint.shutdown.cancel();
    for call in hanging {
        let answer = call.await.expect("no panic");
        assert_eq!(answer.result()["isError"], true);
        assert_eq!(answer.result()["_meta"]["io.github.mcp-sidecar/refusal"]["reason"], "stopping");
    }
    endpoint.abandoned(2).await;
    assert_eq!(endpoint.ended().await, 0);
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
}
