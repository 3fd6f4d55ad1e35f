//! One session over Streamable HTTP with a real server, when all is well or nearly so.

use std::collections::BTreeMap;
use std::time::Duration;

use mcp_sidecar::config::settings::ProxySettings;
use mcp_sidecar::core::cause::CauseKind;
use mcp_sidecar::driver::session::{CallError, Era, SessionOptions, Signal};
use mcp_sidecar::driver::wire::http::{self, HttpClient};
use mcp_sidecar::jsonrpc::Reply;
use mcp_sidecar::telemetry::Telemetry;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::support::upstream::{
    at, call, definition, http_server, http_wire, journaled, open_with, options, over_http, text,
};
use crate::support::wait::{wait_for, wait_until};

const SOON: Duration = Duration::from_secs(10);

#[tokio::test]
async fn definitions_and_results_are_the_bytes_that_the_server_sent() {
    for flags in [&[][..], &["--http-json"], &["--modern"], &["--modern", "--http-json"]] {
        let (_process, session, _) = over_http(flags).await;
        let tools = session.list_tools().await.expect("tools");
        let echo = definition(&tools, "echo");
        assert!(echo.starts_with(r#"{"xVendor":{"zeta":1,"alpha":[1.10,12345678901234567890123],"mid":"#), "{echo}");
        let arguments = r#"{"text":"ż 漢 🦀","z":1.10,"a":[12345678901234567890123],"n":null}"#;
        let Ok(Reply::Result(result)) = call(&session, "echo", arguments).await else { panic!("no result") };
        assert!(result.get().contains(&format!(r#""structuredContent":{arguments}"#)), "{result}");
        assert!(result.get().starts_with(r#"{"xResult":{"z":1.10,"a":12345678901234567890123},"#), "{result}");
    }
}

#[tokio::test]
async fn the_era_is_found_out() {
    for (flags, era) in [(&[][..], Era::Legacy), (&["--modern"], Era::Modern)] {
        let (_process, session, _) = over_http(flags).await;
        assert_eq!(session.era(), era);
        session.probe(SOON).await.expect("alive");
        let (_process, url) = http_server(flags);
        for remembered in [Era::Legacy, Era::Modern] {
            let options = SessionOptions { remembered: Some(remembered), ..options() };
            let (session, _) = open_with(http_wire(&url), options).await.expect("a session");
            assert_eq!(session.era(), era);
        }
    }
}

#[tokio::test]
async fn headers_repeat_what_a_modern_server_wants_repeated() {
    let (_process, session, _) = over_http(&["--modern"]).await;
    session.list_tools().await.expect("tools");
    // The fixture refuses what its headers contradict.
    let told = text(call(&session, "regional", r#"{"region":"Łódź"}"#).await);
    assert_eq!(told, "regional was called");
}

#[tokio::test]
async fn a_redirect_on_the_same_host_keeps_method_and_body() {
    let (_process, session, _) = over_http(&["--redirect"]).await;
    assert_eq!(text(call(&session, "echo", r#"{"text":"hi"}"#).await), "hi");
}

#[tokio::test]
async fn a_redirect_to_another_origin_takes_no_credentials_along() {
    let trap = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let place = format!("http://{}/mcp", trap.local_addr().expect("an address"));
    let (_process, url) = http_server(&["--redirect-to", &place]);
    let error = open_with(http_wire(&url), options()).await.expect_err("no session");
    assert_eq!(error.cause.kind, CauseKind::ProtocolViolation, "{:?}", error.cause);
    assert!(tokio::time::timeout(Duration::from_millis(100), trap.accept()).await.is_err());
}

#[tokio::test]
async fn whatever_success_a_notification_is_met_with_is_success() {
    for status in ["200", "202", "204"] {
        let (_process, session, _) = over_http(&["--accept-status", status]).await;
        assert_eq!(text(call(&session, "echo", r#"{"text":"hi"}"#).await), "hi", "{status}");
    }
}

#[tokio::test]
async fn a_proxy_never_sees_loopback() {
    let capture = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let proxy = format!("http://{}", capture.local_addr().expect("an address"));
    let proxies = ProxySettings { http: Some(proxy.clone().into()), https: Some(proxy.into()), no_proxy: None };
    let client = HttpClient::new(&proxies).expect("a client");
    let (_process, url) = http_server(&[]);
    let mut settings = at(&url.replace("127.0.0.1", "localhost"));
    settings.headers = BTreeMap::from([("Authorization".to_owned(), "Bearer canary".into())]);
    let wire = http::open("fixture", &settings, &client, Telemetry::default());
    let (session, _) = open_with(wire, options()).await.expect("a session");
    assert_eq!(text(call(&session, "echo", r#"{"text":"hi"}"#).await), "hi");
    assert!(tokio::time::timeout(Duration::from_millis(100), capture.accept()).await.is_err());
    // The proxy is there for the others.
    let wire = http::open("fixture", &at("http://mcp.example.com/mcp"), &client, Telemetry::default());
    let (opening, captured) =
        tokio::join!(tokio::time::timeout(Duration::from_secs(2), open_with(wire, options())), async {
            let (mut socket, _) = capture.accept().await.expect("the proxy is asked");
            let mut head = [0; 24];
            socket.read_exact(&mut head).await.expect("a request");
            String::from_utf8_lossy(&head).into_owned()
        });
    assert!(opening.is_err() || opening.is_ok_and(|opened| opened.is_err()));
    assert!(captured.starts_with("POST http://mcp.example."), "{captured}");
}

#[tokio::test]
async fn progress_comes_before_the_reply() {
    for flags in [&[][..], &["--modern"]] {
        let (_process, session, _) = over_http(flags).await;
        let (sender, mut progress) = mpsc::channel(1000);
        let arguments = RawValue::from_string(r#"{"ms":500}"#.to_owned()).expect("JSON");
        let cancel = CancellationToken::new();
        let reply = session.call("sleep", Some(&arguments), &Map::new(), Some(sender), &cancel).await;
        assert_eq!(text(reply), "slept 500 ms");
        let first: Value = serde_json::from_str(progress.try_recv().expect("progress").get()).expect("JSON");
        assert_eq!(first["message"], "asleep");
    }
}

#[tokio::test]
async fn what_a_server_asks_of_us_is_refused_at_once() {
    let (_process, session, _) = over_http(&["--ask-roots"]).await;
    let told = text(call(&session, "pid", "{}").await);
    assert!(told.contains("-32601"), "{told}");
}

#[tokio::test]
async fn changes_are_heard_in_both_eras() {
    for flags in [&[][..], &["--modern"]] {
        let (_process, session, mut signals) = over_http(flags).await;
        // The stream opens in its own time; what was announced before is lost, as the list is read afterwards.
        wait_for("a change", SOON, async || {
            call(&session, "mutate_tools", "{}").await.expect("a reply");
            std::iter::from_fn(|| signals.try_recv().ok()).find(|signal| *signal == Signal::ToolsChanged)
        })
        .await;
    }
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_is_cancelled_at_the_server() {
    let journal = tempfile::NamedTempFile::new().expect("a file");
    let (_process, session, _) = over_http(&["--journal", journal.path().to_str().expect("UTF-8")]).await;
    let dropped = tokio::time::timeout(Duration::from_millis(200), call(&session, "hang", "{}")).await;
    assert!(dropped.is_err());
    wait_until("the server hears of it", SOON, async || journaled(journal.path(), " cancelled 1") == 1).await;
    assert_eq!(text(call(&session, "echo", r#"{"text":"alive"}"#).await), "alive");
}

#[tokio::test]
async fn a_call_that_the_server_never_begins_to_answer_times_out() {
    let (_process, url) = http_server(&["--http-json"]);
    let options = SessionOptions { call: Duration::from_millis(200), ..options() };
    let (session, _) = open_with(http_wire(&url), options).await.expect("a session");
    let error = call(&session, "hang", "{}").await.expect_err("no reply");
    assert!(matches!(error, CallError::Timeout(_)), "{error:?}");
}

#[tokio::test]
async fn a_closed_session_is_ended_at_the_server() {
    let journal = tempfile::NamedTempFile::new().expect("a file");
    let (_process, session, _) = over_http(&["--journal", journal.path().to_str().expect("UTF-8")]).await;
    session.close().await;
    session.close().await;
    assert_eq!(journaled(journal.path(), "DELETE"), 1);
    let late = call(&session, "pid", "{}").await.expect_err("no reply");
    assert!(matches!(late, CallError::NotExecuted(_)), "{late:?}");
    let (_process, session, _) = over_http(&["--journal", journal.path().to_str().expect("UTF-8")]).await;
    drop(session);
    wait_until("a dropped one, too", SOON, async || journaled(journal.path(), "DELETE") == 2).await;
}
