use serde_json::{Value, json};

use crate::support::client::Client;
use crate::support::endpoint::{Endpoint, tool};

async fn post(endpoint: &Endpoint, headers: &[(&str, &str)], body: String) -> (u16, Value) {
    let mut request = endpoint.http.post(&endpoint.url).body(body);
    request = request.header("content-type", "application/json").header("accept", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = request.send().await.expect("an answer");
    let status = response.status().as_u16();
    (status, serde_json::from_str(&response.text().await.expect("a body")).unwrap_or_default())
}

fn modern(method: &str, params: Value, version: &str) -> String {
    let mut params = params;
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
}

#[tokio::test]
async fn both_eras_see_the_same_tools_byte_for_byte() {
    let endpoint = Endpoint::start().await;
    let legacy = Client::legacy(&endpoint.url).await.list_text().await;
    let modern = Client::modern(&endpoint.url).list_text().await;
    let tools = legacy.strip_suffix('}').expect("an object");
    assert!(modern.starts_with(&format!("{tools},")), "{modern}");
    let definition = tool("echo").definition.get().replace(r#""name":"echo""#, r#""name":"s__echo""#);
    assert!(tools.contains(&definition), "{tools}");
}

#[tokio::test]
async fn a_list_of_ten_thousand_tools_is_walked_in_pages() {
    let endpoint = Endpoint::start().await;
    let names: Vec<String> = (0..10_000).map(|n| format!("t{n:05}")).collect();
    endpoint.catalogue.replace("many", names.iter().map(|name| tool(name)).collect());
    for client in [Client::legacy(&endpoint.url).await, Client::modern(&endpoint.url)] {
        let (mut found, mut params) = (Vec::new(), json!({}));
        loop {
            let answer = client.request("tools/list", params).await;
            let page = answer.result()["tools"].as_array().expect("tools").clone();
            assert!(page.len() <= 1000);
            found.extend(page.into_iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()));
            match answer.result().get("nextCursor") {
                Some(cursor) => params = json!({"cursor": cursor}),
                None => break,
            }
        }
        assert_eq!(found.len(), 10_007);
        assert!(found.is_sorted());
        assert!(names.iter().all(|name| found.binary_search(&format!("many__{name}")).is_ok()));
    }
}

#[tokio::test]
async fn initialize_grants_each_known_revision_and_else_the_newest_legacy_one() {
    let endpoint = Endpoint::start().await;
    let wanted = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", "1999-01-01"];
    for version in wanted {
        let params =
            json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let body = json!({"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": params}).to_string();
        let (status, answer) = post(&endpoint, &[], body).await;
        let granted = if version.starts_with("202") && version != "2026-07-28" { version } else { "2025-11-25" };
        assert_eq!(status, 200);
        assert_eq!(answer["result"]["protocolVersion"], granted);
        assert_eq!(answer["result"]["capabilities"], json!({"tools": {"listChanged": true}}));
        assert_eq!(answer["result"]["serverInfo"]["name"], "mcp-sidecar");
    }
}

#[tokio::test]
async fn discover_lists_the_revisions_and_says_who_we_are() {
    let endpoint = Endpoint::start().await;
    let answer = Client::modern(&endpoint.url).request("server/discover", json!({})).await;
    let result = answer.result();
    assert_eq!(result["supportedVersions"][0], "2026-07-28");
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "mcp-sidecar");
}

#[tokio::test]
async fn a_modern_request_must_say_the_same_in_headers_and_body() {
    let endpoint = Endpoint::start().await;
    let version = ("mcp-protocol-version", "2026-07-28");
    let call = || modern("tools/call", json!({"name": "s__echo", "arguments": {}}), "2026-07-28");
    let (method, name) = (("mcp-method", "tools/call"), ("mcp-name", "s__echo"));
    let cases = [
        (vec![version, method, name], 200),
        (vec![version, method, ("mcp-name", "=?base64?c19fZWNobw==?=")], 200),
        (vec![method, name], -32020),
        (vec![version, name], -32020),
        (vec![version, method], -32020),
        (vec![version, method, ("mcp-name", "s__hang")], -32020),
        (vec![version, ("mcp-method", "tools/list"), name], -32020),
        (vec![version, method, method, name], -32020),
        (vec![("mcp-protocol-version", "2025-11-25"), method, name], -32020),
    ];
    for (headers, expected) in cases {
        let (status, answer) = post(&endpoint, &headers, call()).await;
        match expected {
            200 => assert_eq!(status, 200, "{headers:?}"),
            code => assert_eq!((status, &answer["error"]["code"]), (400, &json!(code)), "{headers:?}"),
        }
    }
    assert_eq!(endpoint.calls.started.load(std::sync::atomic::Ordering::SeqCst), 2, "refused calls reach nobody");
}

#[tokio::test]
async fn a_revision_that_nobody_knows_is_answered_with_those_we_know() {
    let endpoint = Endpoint::start().await;
    let headers = [("mcp-protocol-version", "v999"), ("mcp-method", "tools/list")];
    let (status, answer) = post(&endpoint, &headers, modern("tools/list", json!({}), "v999")).await;
    assert_eq!((status, &answer["error"]["code"]), (400, &json!(-32022)));
    assert_eq!(answer["error"]["data"]["requested"], "v999");
    assert!(answer["error"]["data"]["supported"].as_array().is_some_and(|all| all.contains(&json!("2026-07-28"))));
}

#[tokio::test]
async fn methods_we_do_not_have_are_404_for_modern_and_an_error_for_legacy_clients() {
    let endpoint = Endpoint::start().await;
    let modern = Client::modern(&endpoint.url);
    for method in ["initialize", "ping", "logging/setLevel", "resources/list", "prompts/list", "x/y"] {
        let answer = modern.request(method, json!({})).await;
        assert_eq!((answer.status, &answer.message["error"]["code"]), (404, &json!(-32601)), "{method}");
    }
    let legacy = Client::legacy(&endpoint.url).await;
    for method in ["server/discover", "logging/setLevel", "resources/list", "prompts/list", "completion/complete"] {
        let answer = legacy.request(method, json!({})).await;
        assert_eq!((answer.status, &answer.message["error"]["code"]), (200, &json!(-32601)), "{method}");
    }
    assert_eq!(legacy.request("ping", json!({})).await.result(), &json!({}));
}

#[tokio::test]
async fn what_is_no_message_is_refused_with_a_reason() {
    let endpoint = Endpoint::start().await;
    let batch = json!([{"jsonrpc": "2.0", "id": 1, "method": "ping"}]).to_string();
    let (status, answer) = post(&endpoint, &[], batch).await;
    assert_eq!((status, &answer["error"]["code"]), (400, &json!(-32600)));
    assert!(answer["error"]["message"].as_str().is_some_and(|message| message.contains("Batches")));
    let (status, answer) = post(&endpoint, &[], "{".to_owned()).await;
    assert_eq!((status, &answer["error"]["code"]), (400, &json!(-32700)));
    let request = endpoint.http.post(&endpoint.url).header("content-type", "text/plain").body("{}");
    assert_eq!(request.send().await.expect("an answer").status().as_u16(), 415);
}

#[tokio::test]
async fn answers_of_clients_to_requests_we_never_sent_are_taken_and_ignored() {
    let endpoint = Endpoint::start().await;
    let client = Client::legacy(&endpoint.url).await;
    let session = ("mcp-session-id", client.session().expect("a session"));
    for body in
        [json!({"jsonrpc": "2.0", "id": "srv-1", "result": {}}), json!({"jsonrpc": "2.0", "id": 9, "error": {}})]
    {
        assert_eq!(post(&endpoint, &[session], body.to_string()).await.0, 202);
    }
}
