//! One session over HTTP+SSE as of 2024-11-05 with a real server.

use std::time::{Duration, Instant};

use mcp_sidecar::core::cause::{Cause, CauseKind};
use mcp_sidecar::driver::session::{CallError, Era, Session, Signal};
use mcp_sidecar::driver::wire::{Wire, sse};
use mcp_sidecar::telemetry::Telemetry;
use tokio::sync::mpsc;

use crate::support::upstream::{Process, at, call, client, definition, open_with, options, text};
use crate::support::wait::wait_for;

const SOON: Duration = Duration::from_secs(10);

#[tokio::test]
async fn a_server_of_the_first_days_is_served_like_any_other() {
    let (_process, session, mut signals) = session(&["--ask-roots"]).await;
    assert_eq!(session.era(), Era::Legacy);
    session.probe(SOON).await.expect("alive");
    let tools = session.list_tools().await.expect("tools");
    assert!(definition(&tools, "echo").contains(r#""alpha":[1.10,12345678901234567890123]"#));
    assert!(text(call(&session, "pid", "{}").await).contains("-32601"));
    call(&session, "mutate_tools", "{}").await.expect("a reply");
    wait_for("a change", SOON, async || signals.try_recv().ok().filter(|signal| *signal == Signal::ToolsChanged)).await;
}

#[tokio::test]
async fn a_kill_during_a_call_is_told_at_once() {
    let (mut process, session, _) = session(&[]).await;
    let hanging = tokio::spawn({
        let session = session.clone();
        async move { call(&session, "hang", "{}").await }
    });
    call(&session, "pid", "{}").await.expect("a reply");
    process.kill();
    let killed = Instant::now();
    let error = hanging.await.expect("no panic").expect_err("no reply");
    assert!(matches!(error, CallError::OutcomeUnknown(_)), "{error:?}");
    assert!(killed.elapsed() < Duration::from_secs(1));
    assert_eq!(session.ended().await.kind, CauseKind::TransportClosed);
}

#[tokio::test]
async fn an_endpoint_of_another_origin_is_refused() {
    let cause = open(&["--sse-endpoint", "http://127.0.0.1:1/messages"]).await.1.expect_err("refused");
    assert_eq!(cause.kind, CauseKind::ProtocolViolation, "{cause}");
}

#[tokio::test]
async fn a_session_that_the_server_does_not_know_is_lost() {
    let (_process, wire) = open(&["--sse-endpoint", "/messages?session=old"]).await;
    let error = open_with(wire.expect("a wire"), options()).await.expect_err("no session");
    assert_eq!(error.cause.kind, CauseKind::SessionLost, "{:?}", error.cause);
}

#[tokio::test]
async fn credentials_that_are_missing_are_told() {
    let cause = open(&["--refuse-all", "401"]).await.1.expect_err("refused");
    assert_eq!(cause.kind, CauseKind::AuthRequired, "{cause}");
}

async fn open(flags: &[&str]) -> (Process, Result<Wire, Cause>) {
    let mut process = Process::start(&[&["--sse"], flags].concat());
    let url = process.first_line();
    let wire = sse::open("fixture", &at(&url), &client(), Telemetry::default()).await;
    (process, wire)
}

async fn session(flags: &[&str]) -> (Process, Session, mpsc::Receiver<Signal>) {
    let (process, wire) = open(flags).await;
    let (session, signals) = open_with(wire.expect("a wire"), options()).await.expect("a session");
    (process, session, signals)
}
