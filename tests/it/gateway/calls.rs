use std::time::Duration;

use serde_json::{Value, json};

use crate::support::client::Client;
use crate::support::endpoint::Endpoint;
use crate::support::wait::wait_for;

async fn both(endpoint: &Endpoint) -> [Client; 2] {
    [Client::legacy(&endpoint.url).await, Client::modern(&endpoint.url)]
}

#[tokio::test]
async fn arguments_and_results_pass_as_the_text_they_are() {
    let endpoint = Endpoint::start().await;
    for client in both(&endpoint).await {
        let arguments = json!({"z": "é\u{1f600}", "a": {"k": [null, true]}, "line": "1\n2"});
        let answer = client.call("s__echo", arguments.clone()).await;
        let text = answer.result_text();
        assert!(text.contains(r#""zLast":1.10,"content":[],"structuredContent":"#), "{text}");
        assert!(text.contains(&arguments.to_string()), "{text}");
    }
}

#[tokio::test]
async fn only_modern_results_have_a_result_type() {
    let endpoint = Endpoint::start().await;
    let [legacy, modern] = both(&endpoint).await;
    assert_eq!(legacy.call("s__echo", json!({})).await.result().get("resultType"), None);
    assert_eq!(modern.call("s__echo", json!({})).await.result()["resultType"], "complete");
    assert_eq!(modern.call("s__refuse", json!({})).await.result()["resultType"], "complete");
}

#[tokio::test]
async fn trace_context_reaches_the_server_and_the_clients_own_keys_do_not() {
    let endpoint = Endpoint::start().await;
    for client in both(&endpoint).await {
        let meta = json!({"traceparent": "00-1-2-01", "progressToken": 1, "com.example/x": {"b": 1}});
        let answer = client.request("tools/call", json!({"name": "s__echo", "arguments": {}, "_meta": meta})).await;
        assert_eq!(answer.result()["_meta"], json!({"traceparent": "00-1-2-01", "com.example/x": {"b": 1}}));
    }
}

#[tokio::test]
async fn all_progress_comes_in_order_before_the_answer_and_none_after_it() {
    let endpoint = Endpoint::start().await;
    for client in both(&endpoint).await {
        let meta = json!({"progressToken": "mine"});
        let params = json!({"name": "s__progress", "arguments": 200, "_meta": meta});
        let mut exchange = client.open("tools/call", params).await;
        for n in 1..=200 {
            let message = exchange.next().await.expect("progress");
            assert_eq!(message["method"], "notifications/progress");
            assert_eq!(message["params"], json!({"progressToken": "mine", "progress": n, "total": 200, "x": 1.10}));
        }
        assert_eq!(exchange.next().await.expect("the answer")["result"]["content"][0]["text"], "done");
        assert_eq!(exchange.next().await, None);
    }
}

#[tokio::test]
async fn without_a_token_there_is_no_progress() {
    let endpoint = Endpoint::start().await;
    for client in both(&endpoint).await {
        let exchange = client.open("tools/call", json!({"name": "s__progress", "arguments": 3})).await;
        let (notifications, answer) = exchange.finish().await;
        assert!(notifications.is_empty() && answer.is_success());
    }
}

#[tokio::test]
async fn errors_of_the_server_pass_as_they_are_and_unknown_tools_are_named() {
    let endpoint = Endpoint::start().await;
    for client in both(&endpoint).await {
        let answer = client.call("s__fail", json!({})).await;
        assert!(
            answer.text.contains(r#""error":{"code":-7,"message":"no","data":{"z":1.10,"a":2}}"#),
            "{}",
            answer.text
        );
        let answer = client.call("s__nobody", json!({})).await;
        assert_eq!(answer.message["error"]["code"], -32602);
        assert_eq!(answer.message["error"]["message"], "Unknown tool: s__nobody");
    }
}

#[tokio::test]
async fn a_refusal_tells_the_agent_in_words_and_programs_in_fields() {
    let endpoint = Endpoint::start().await;
    for client in both(&endpoint).await {
        let answer = client.call("s__refuse", json!({})).await;
        assert_eq!(answer.result()["isError"], true);
        assert_eq!(answer.words(), "Server s is down");
        let expected = json!({"server": "s", "reason": "down", "downSince": "2026-11-30T00:00:00Z",
            "attempts": {"spent": 3, "max": 10}, "nextAttemptMs": 1500});
        assert_eq!(answer.result()["_meta"]["io.github.mcp-sidecar/refusal"], expected);
    }
}

#[tokio::test]
async fn a_panic_is_one_answer_and_nobody_elses_problem() {
    let endpoint = Endpoint::start().await;
    for client in both(&endpoint).await {
        let answer = client.call("s__panic", json!({})).await;
        assert_eq!(answer.message["error"]["code"], -32603);
        assert!(client.call("s__echo", json!({})).await.is_success());
    }
}

#[tokio::test]
async fn a_legacy_client_cancels_by_the_id_of_its_request() {
    let endpoint = Endpoint::start().await;
    let client = Client::legacy(&endpoint.url).await;
    let (one, other) = (client.clone(), client.clone());
    let cancelled = tokio::spawn(async move { one.open_as(71, "tools/call", json!({"name": "s__hang"})).await });
    let kept = tokio::spawn(async move { other.call("s__wait", json!({})).await });
    endpoint.started(2).await;
    client.notify("notifications/cancelled", json!({"requestId": 71, "reason": "changed my mind"})).await;
    endpoint.abandoned(1).await;
    assert_eq!(cancelled.await.expect("no panic").next().await, None, "no answer is due");
    endpoint.calls.release.notify_one();
    assert!(kept.await.expect("no panic").is_success());
}

#[tokio::test]
async fn closing_the_response_cancels_in_both_eras() {
    let endpoint = Endpoint::start().await;
    for (at, client) in both(&endpoint).await.into_iter().enumerate() {
        let waiting = tokio::spawn(async move { client.call("s__hang", json!({})).await });
        endpoint.started(at + 1).await;
        waiting.abort();
        endpoint.abandoned(at + 1).await;
    }
}

#[tokio::test]
async fn a_stream_that_is_closed_after_its_first_progress_cancels_too() {
    let endpoint = Endpoint::start().await;
    let client = Client::modern(&endpoint.url);
    let params = json!({"name": "s__progress", "arguments": 1_000_000, "_meta": {"progressToken": 1}});
    let mut exchange = client.open("tools/call", params).await;
    assert_eq!(exchange.next().await.expect("progress")["params"]["progress"], 1);
    drop(exchange);
    endpoint.abandoned(1).await;
}

#[tokio::test]
async fn two_requests_with_one_id_are_both_answered_and_cancelled_together() {
    let endpoint = Endpoint::start().await;
    let client = Client::legacy(&endpoint.url).await;
    let call = |tool: &'static str| {
        let client = client.clone();
        tokio::spawn(async move { client.open_as(5, "tools/call", json!({"name": tool})).await })
    };
    let waiting = [call("s__wait"), call("s__wait")];
    endpoint.started(2).await;
    endpoint.calls.release.notify_waiters();
    for answer in waiting {
        let (_, answer) = answer.await.expect("no panic").finish().await;
        assert_eq!((answer.message["id"].clone(), answer.is_success()), (json!(5), true));
    }
    let hanging = [call("s__hang"), call("s__hang")];
    endpoint.started(4).await;
    client.notify("notifications/cancelled", json!({"requestId": 5})).await;
    for exchange in hanging {
        assert_eq!(exchange.await.expect("no panic").next().await, None);
    }
}

#[tokio::test]
async fn parameters_that_cannot_be_read_are_an_error_of_that_request() {
    let endpoint = Endpoint::start().await;
    let client = Client::legacy(&endpoint.url).await;
    for params in [json!({}), json!({"name": 7}), json!({"name": "s__echo", "_meta": 7})] {
        let answer = client.request("tools/call", params.clone()).await;
        assert_eq!(answer.message["error"]["code"], -32602, "{params}");
    }
    assert_eq!(client.request("tools/list", json!({"cursor": "??"})).await.message["error"]["code"], -32602);
    let modern = Client::modern(&endpoint.url);
    assert_eq!(modern.request("tools/list", json!({"cursor": "??"})).await.message["error"]["code"], -32602);
}

#[tokio::test]
async fn a_long_silence_becomes_a_stream_for_clients_that_take_one() {
    let endpoint = Endpoint::start().await;
    let client = Client::modern(&endpoint.url);
    // The headers come after five seconds, the answer when there is one.
    let mut exchange = client.open("tools/call", json!({"name": "s__wait"})).await;
    assert_eq!(endpoint.calls.abandoned.load(std::sync::atomic::Ordering::SeqCst), 0);
    endpoint.calls.release.notify_one();
    let answer: Value = exchange.next().await.expect("the answer");
    assert_eq!(answer["result"]["content"][0]["text"], "released");
    assert_eq!(exchange.next().await, None);
}

#[tokio::test]
async fn each_call_is_accounted_for_once_however_it_ends() {
    let endpoint = Endpoint::start().await;
    let client = Client::modern(&endpoint.url);
    for tool in ["s__echo", "s__echo", "s__fail", "s__refuse", "s__panic", "s__nobody", "s__nobody_else"] {
        client.call(tool, json!({})).await;
    }
    let waiting = tokio::spawn(async move { client.call("s__hang", json!({})).await });
    endpoint.started(6).await;
    waiting.abort();
    endpoint.abandoned(2).await;
    let counted = async || {
        let text = endpoint.telemetry.render();
        let counts = text.lines().filter(|line| line.starts_with("mcp_client_operation_duration_seconds_count{"));
        let mut counts: Vec<(String, String)> = counts
            .map(|line| {
                let (labels, count) = line.rsplit_once(' ').expect("a value");
                let error = labels.split("error_type=\"").nth(1).and_then(|rest| rest.split('"').next());
                (error.unwrap_or_default().to_owned(), count.to_owned())
            })
            .collect();
        counts.sort();
        (counts.len() == 6).then_some(counts)
    };
    let counts = wait_for("the cancelled call is accounted for", Duration::from_secs(5), counted).await;
    let expected = [("", "2"), ("-32602", "2"), ("-32603", "1"), ("-7", "1"), ("cancelled", "1"), ("down", "1")];
    assert_eq!(counts, expected.map(|(error, count)| (error.to_owned(), count.to_owned())));
    assert!(!endpoint.telemetry.render().contains("nobody"), "what clients make up is no label");
}
