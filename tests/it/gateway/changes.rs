use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use crate::support::client::Client;
use crate::support::endpoint::{Endpoint, tool};
use crate::support::exchange::Exchange;

const SOON: Duration = Duration::from_secs(5);

async fn next(stream: &mut Exchange) -> Value {
    timeout(SOON, stream.next()).await.expect("in time").expect("a message")
}

/// Nothing is left to read: a marker change is the very next thing.
async fn is_quiet(endpoint: &Endpoint, streams: &mut [Exchange]) {
    endpoint.catalogue.replace("marker", vec![tool("m")]);
    for stream in &mut *streams {
        assert_eq!(next(stream).await["method"], "notifications/tools/list_changed");
        let more = timeout(Duration::from_millis(300), stream.next()).await;
        assert!(more.is_err(), "exactly one per change, but then came {more:?}");
    }
}

#[tokio::test]
async fn each_change_is_told_once_to_clients_of_both_eras() {
    let endpoint = Endpoint::start().await;
    let (legacy, modern) = (Client::legacy(&endpoint.url).await, Client::modern(&endpoint.url));
    let mut streams = [legacy.listen().await, modern.listen().await];
    let acknowledged = next(&mut streams[1]).await;
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(acknowledged["params"]["notifications"], json!({"toolsListChanged": true}));
    let subscription = &acknowledged["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
    assert!(subscription.is_i64(), "the request's own id, not a text of it");

    endpoint.catalogue.replace("new", vec![tool("a")]);
    assert_eq!(next(&mut streams[0]).await["method"], "notifications/tools/list_changed");
    let told = next(&mut streams[1]).await;
    assert_eq!(told["method"], "notifications/tools/list_changed");
    assert_eq!(&told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], subscription);
    assert!(legacy.tool_names().await.contains(&"new__a".to_owned()));

    endpoint.catalogue.replace("new", vec![tool("a")]);
    is_quiet(&endpoint, &mut streams).await;
}

#[tokio::test]
async fn a_session_with_two_streams_is_told_once() {
    let endpoint = Endpoint::start().await;
    let client = Client::legacy(&endpoint.url).await;
    let (mut one, mut other) = (client.listen().await, client.listen().await);
    endpoint.catalogue.replace("new", vec![tool("a")]);
    let told = timeout(SOON, async {
        tokio::select! { a = one.next() => a, b = other.next() => b }
    })
    .await;
    assert_eq!(told.expect("in time").expect("a message")["method"], "notifications/tools/list_changed");
    let again = async {
        tokio::select! { a = one.next() => a, b = other.next() => b }
    };
    assert!(timeout(Duration::from_millis(300), again).await.is_err());
}

#[tokio::test]
async fn a_change_between_initialize_and_the_first_stream_is_not_lost() {
    let endpoint = Endpoint::start().await;
    let client = Client::legacy(&endpoint.url).await;
    endpoint.catalogue.replace("new", vec![tool("a")]);
    assert_eq!(next(&mut client.listen().await).await["method"], "notifications/tools/list_changed");
}

#[tokio::test]
async fn who_asked_for_other_changes_hears_nothing_of_tools() {
    let endpoint = Endpoint::start().await;
    let client = Client::modern(&endpoint.url);
    let params = json!({"notifications": {"promptsListChanged": true}});
    let mut stream = client.open("subscriptions/listen", params).await;
    assert_eq!(next(&mut stream).await["params"]["notifications"], json!({}));
    endpoint.catalogue.replace("new", vec![tool("a")]);
    endpoint.shutdown.cancel();
    assert!(next(&mut stream).await.get("result").is_some(), "the next message is the end");
}
