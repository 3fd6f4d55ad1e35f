//! Calls in flight at a crash get exactly one answer each, and what may have happened never happens twice.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use rustix::process::Signal;
use serde_json::json;

use super::support::configs::{quick, stdio};
use super::support::journal::Journal;
use super::support::procfs;
use super::support::sidecar::Sidecar;
use super::support::wait::wait_until;

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_calls_in_flight_at_a_crash_get_one_answer_each_within_a_second() {
    let journal = Journal::new();
    let flags = ["--journal", journal.path()];
    let sidecar = Sidecar::with(quick(10) + &stdio("one", &flags, "")).start().await;
    let server = sidecar.wait_for_state("one", "established").await;
    let client = sidecar.client().await;
    let calls = (0..100).map(|_| {
        let client = client.clone();
        tokio::spawn(async move { (client.call("one__sleep", json!({"ms": 60_000})).await, Instant::now()) })
    });
    let calls: Vec<_> = calls.collect();
    wait_until("all calls reached the server", Duration::from_secs(10), async || journal.count("tools/call") == 100)
        .await;
    let killed = Instant::now();
    procfs::signal(i32::try_from(server["pid"].as_i64().expect("a pid")).expect("a pid"), Signal::KILL);
    for answered in join_all(calls).await {
        let (answer, at) = answered.expect("no panic");
        assert!(!answer.is_success() && answer.words().contains("outcome unknown"), "{}", answer.text);
        assert!(at - killed < Duration::from_secs(1), "answered {:?} after the kill", at - killed);
    }
    assert_eq!(journal.count("tools/call"), 100, "a call that is not read-only was sent twice");
}

#[tokio::test]
async fn a_read_only_call_in_flight_at_a_crash_is_replayed_once_and_succeeds() {
    let journal = Journal::new();
    let flags = ["--journal", journal.path()];
    let sidecar = Sidecar::with(quick(10) + &stdio("one", &flags, "")).start().await;
    let server = sidecar.wait_for_state("one", "established").await;
    let client = sidecar.client().await;
    let call = tokio::spawn({
        let client = client.clone();
        async move { client.call("one__read_sleep", json!({"ms": 1_000})).await }
    });
    wait_until("the call reached the server", Duration::from_secs(10), async || journal.count("tools/call") == 1).await;
    procfs::signal(i32::try_from(server["pid"].as_i64().expect("a pid")).expect("a pid"), Signal::KILL);
    let answer = call.await.expect("no panic");
    assert!(answer.is_success(), "{}", answer.text);
    assert_eq!(journal.count("tools/call"), 2);
}

#[tokio::test]
async fn a_line_that_a_dying_tool_appended_exists_once() {
    let sidecar = Sidecar::with(quick(10) + &stdio("one", &[], "")).start().await;
    sidecar.wait_for_state("one", "established").await;
    let file = sidecar.directory().join("appended");
    let client = sidecar.client().await;
    let answer = client.call("one__append_then_die", json!({"file": file, "line": "once"})).await;
    assert!(answer.words().contains("outcome unknown"), "{}", answer.text);
    sidecar
        .wait_for_server("one", "back", |server| server["generation"] == 2 && server["state"] == "established")
        .await;
    assert_eq!(std::fs::read_to_string(&file).expect("the tool ran").lines().count(), 1);
}

#[tokio::test]
async fn a_call_that_kills_its_server_each_time_is_refused_and_the_others_go_on() {
    let sidecar = Sidecar::with(quick(5) + &stdio("one", &[], "")).start().await;
    sidecar.wait_for_state("one", "established").await;
    let client = sidecar.client().await;
    let mut refused = 0;
    for _ in 0..12 {
        let answer = client.call("one__die", json!({})).await;
        assert!(!answer.is_success());
        refused += usize::from(answer.words().contains("twice in a row"));
    }
    assert!(refused >= 10, "the poison call was let through {} times", 12 - refused);
    let answer = client.call("one__echo", json!({"text": "alive"})).await;
    assert_eq!(answer.words(), "alive");
    assert_eq!(sidecar.server("one").await["attempts"], 2);
}

#[tokio::test]
async fn a_call_in_flight_at_sigterm_is_answered_and_the_process_ends_within_its_bound() {
    let journal = Journal::new();
    let config = "stop_timeout = \"5s\"\n[timeouts]\nclose = \"1s\"\n".to_owned();
    let flags = ["--ignore-term", "--ignore-eof", "--journal", journal.path()];
    let mut sidecar = Sidecar::with(config + &stdio("one", &flags, "")).start().await;
    sidecar.wait_for_state("one", "established").await;
    let client = sidecar.client().await;
    let call = tokio::spawn(async move { client.call("one__sleep", json!({"ms": 600_000})).await });
    wait_until("the call reached the server", Duration::from_secs(10), async || journal.count("tools/call") == 1).await;
    let asked = Instant::now();
    assert_eq!(sidecar.stop().await, Some(0), "{}", sidecar.log());
    assert!(asked.elapsed() < Duration::from_secs(6), "it took {:?}", asked.elapsed());
    assert!(!call.await.expect("no panic").is_success());
}
