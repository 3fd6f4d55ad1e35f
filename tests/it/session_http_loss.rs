//! One session over Streamable HTTP with a real server that fails.

use std::time::{Duration, Instant};

use mcp_sidecar::core::cause::CauseKind;
use mcp_sidecar::driver::session::{CallError, SessionOptions};
use serde_json::json;

use crate::support::upstream::{call, http_server, http_wire, journaled, open_with, options, over_http, text};
use crate::support::wait::wait_until;

const SOON: Duration = Duration::from_secs(10);

#[tokio::test]
async fn a_lost_session_ends_the_generation_and_the_next_one_works() {
    for how in ["404", "400", "401"] {
        let (_process, url) = http_server(&["--lose-session-after", "6", "--lose-session-how", how]);
        let (session, _) = open_with(http_wire(&url), options()).await.expect("a session");
        let mut replies = Vec::new();
        let error = loop {
            match call(&session, "echo", r#"{"text":"hi"}"#).await {
                Ok(reply) => replies.push(reply),
                Err(error) => break error,
            }
            assert!(replies.len() < 10, "{how}: the session is never lost");
        };
        assert!(
            matches!(&error, CallError::NotExecuted(cause) if cause.kind == CauseKind::SessionLost),
            "{how}: {error:?}"
        );
        let cause = tokio::time::timeout(SOON, session.ended()).await.expect("it ends");
        assert_eq!(cause.kind, CauseKind::SessionLost, "{how}: {cause}");
        let (session, _) = open_with(http_wire(&url), options()).await.expect("another session");
        assert_eq!(text(call(&session, "echo", r#"{"text":"again"}"#).await), "again", "{how}");
    }
}

#[tokio::test]
async fn a_server_that_wants_credentials_is_told_apart_from_one_that_is_down() {
    for status in ["401", "403"] {
        let (_process, url) = http_server(&["--refuse-all", status]);
        let error = open_with(http_wire(&url), options()).await.expect_err("no session");
        assert_eq!(error.cause.kind, CauseKind::AuthRequired, "{:?}", error.cause);
        assert!(!error.probe_killed_it);
    }
}

#[tokio::test]
async fn a_server_that_is_broken_at_start_is_told_by_its_status() {
    let (_process, url) = http_server(&["--refuse-all", "500"]);
    let error = open_with(http_wire(&url), options()).await.expect_err("no session");
    assert_eq!(error.cause.kind, CauseKind::ServerError, "{:?}", error.cause);
    let (_process, url) = http_server(&["--refuse-all", "404"]);
    let error = open_with(http_wire(&url), options()).await.expect_err("no session");
    assert_eq!(error.cause.kind, CauseKind::HandshakeFailed, "{:?}", error.cause);
    assert!(error.cause.detail.contains("404"), "{:?}", error.cause);
}

#[tokio::test]
async fn nobody_at_the_port_means_refused() {
    let (mut process, url) = http_server(&[]);
    process.kill();
    let error = open_with(http_wire(&url), options()).await.expect_err("no session");
    assert_eq!(error.cause.kind, CauseKind::ConnectRefused, "{:?}", error.cause);
}

#[tokio::test]
async fn a_killed_server_is_told_at_once_to_calls_in_flight_and_to_those_that_follow() {
    for flags in [&[][..], &["--http-json"], &["--modern"]] {
        let journal = tempfile::NamedTempFile::new().expect("a file");
        let flags = [flags, &["--journal", journal.path().to_str().expect("UTF-8")]].concat();
        let (mut process, session, _) = over_http(&flags).await;
        let calls: Vec<_> = (0..20)
            .map(|_| {
                let session = session.clone();
                tokio::spawn(async move { call(&session, "sleep", r#"{"ms":60000}"#).await })
            })
            .collect();
        wait_until("all are in flight", SOON, async || journaled(journal.path(), "tools/call") == 20).await;
        process.kill();
        let killed = Instant::now();
        for call in calls {
            let error = call.await.expect("no panic").expect_err("no reply");
            assert!(matches!(error, CallError::OutcomeUnknown(_)), "{error:?}");
        }
        assert!(killed.elapsed() < Duration::from_secs(1), "{:?}", killed.elapsed());
        assert_eq!(session.ended().await.kind, CauseKind::TransportClosed);
        let late = call(&session, "pid", "{}").await.expect_err("no reply");
        assert!(matches!(late, CallError::NotExecuted(_)), "{late:?}");
    }
}

#[tokio::test]
async fn a_server_that_died_while_nobody_called_is_found_out_by_its_stream_or_a_probe() {
    let (mut process, session, _) = over_http(&[]).await;
    process.kill();
    let cause = tokio::time::timeout(SOON, session.ended()).await.expect("it ends");
    assert_eq!(cause.kind, CauseKind::ConnectRefused);
    let (mut process, session, _) = over_http(&["--no-stream"]).await;
    process.kill();
    let cause = session.probe(SOON).await.expect_err("dead");
    assert!(matches!(cause.kind, CauseKind::ConnectRefused | CauseKind::TransportClosed), "{cause}");
    tokio::time::timeout(SOON, session.ended()).await.expect("it ends");
}

#[tokio::test]
async fn a_write_that_died_unanswered_is_not_repeated() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let (_process, session, _) = over_http(&[]).await;
    let arguments = json!({"file": file.path(), "line": "once"}).to_string();
    let error = call(&session, "append_then_die", &arguments).await.expect_err("no reply");
    assert!(matches!(error, CallError::OutcomeUnknown(_)), "{error:?}");
    assert_eq!(std::fs::read_to_string(file.path()).expect("text"), "once\n");
}

#[tokio::test]
async fn an_answer_that_breaks_off_leaves_the_outcome_unknown() {
    let (_process, session, _) = over_http(&["--call-fault", "reset"]).await;
    let error = call(&session, "echo", "{}").await.expect_err("no reply");
    assert!(matches!(error, CallError::OutcomeUnknown(_)), "{error:?}");
    assert_eq!(session.ended().await.kind, CauseKind::TransportClosed);
}

#[tokio::test]
async fn a_response_that_is_no_answer_fails_its_call_and_nothing_else() {
    let journal = tempfile::NamedTempFile::new().expect("a file");
    let path = journal.path().to_str().expect("UTF-8");
    for fault in ["end", "html", "other-id", "202", "endless", "429"] {
        let (_process, session, _) = over_http(&["--call-fault", fault, "--journal", path]).await;
        let error = call(&session, "echo", "{}").await.expect_err("no reply");
        assert!(matches!(error, CallError::Failed(_)), "{fault}: {error:?}");
        session.probe(SOON).await.expect("alive");
    }
    assert_eq!(journaled(journal.path(), "fault"), 6, "each call is sent once");
}

#[tokio::test]
async fn server_errors_in_a_row_end_the_generation_and_one_is_forgiven() {
    let (_process, session, _) = over_http(&["--call-fault", "503"]).await;
    for _ in 0..2 {
        let error = call(&session, "echo", "{}").await.expect_err("no reply");
        assert!(matches!(&error, CallError::Failed(cause) if cause.detail.contains("not executed")), "{error:?}");
        session.probe(SOON).await.expect("an answer in between");
    }
    for _ in 0..3 {
        let error = call(&session, "echo", "{}").await.expect_err("no reply");
        assert!(matches!(error, CallError::Failed(_)), "{error:?}");
    }
    let cause = tokio::time::timeout(SOON, session.ended()).await.expect("it ends");
    assert_eq!(cause.kind, CauseKind::ServerError, "{cause}");
}

#[tokio::test]
async fn a_port_that_is_silent_ends_the_start_in_time() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/mcp?key=canary", silent.local_addr().expect("an address"));
    let options = SessionOptions { start: Duration::from_millis(300), ..options() };
    let error = open_with(http_wire(&url), options).await.expect_err("no session");
    assert_eq!(error.cause.kind, CauseKind::StartTimeout, "{:?}", error.cause);
}

#[tokio::test]
async fn causes_tell_no_secrets() {
    let (mut process, url) = http_server(&[]);
    let url = url.replace("http://", "http://user:canary@") + "?key=canary";
    let (session, _) = open_with(http_wire(&url), options()).await.expect("a session");
    process.kill();
    let error = call(&session, "echo", "{}").await.expect_err("no reply");
    assert!(!format!("{error:?}").contains("canary"), "{error:?}");
    assert!(!format!("{:?}", session.ended().await).contains("canary"));
    let error = open_with(http_wire(&url), options()).await.expect_err("no session");
    assert!(!format!("{error:?}").contains("canary"), "{error:?}");
    assert!(!error.cause.detail.is_empty());
}
