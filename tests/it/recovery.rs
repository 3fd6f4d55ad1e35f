//! A server that dies comes back, and its clients keep their session, their tools and their calls.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use super::support::configs::{quick, stdio};
use super::support::procfs;
use super::support::sidecar::Sidecar;
use super::support::wait::wait_for;

#[tokio::test]
async fn a_killed_server_comes_back_and_the_list_stays_byte_identical() {
    let sidecar = Sidecar::with(quick(10) + &stdio("one", &[], "")).start().await;
    let before = sidecar.wait_for_state("one", "established").await;
    let client = sidecar.client().await;
    let list = client.list_text().await;
    procfs::signal(pid_of(&before), Signal::KILL);
    let mut lists = vec![client.list_text().await];
    let after = sidecar
        .wait_for_server("one", "established anew", |server| {
            server["state"] == "established" && server["generation"] != before["generation"]
        })
        .await;
    lists.push(client.list_text().await);
    assert!(lists.iter().all(|seen| *seen == list), "the list flapped: {lists:?}");
    assert_eq!(after["generation"].as_u64(), before["generation"].as_u64().map(|generation| generation + 1));
    assert!(client.call("one__echo", json!({"text": "hello"})).await.is_success());
}

#[tokio::test]
async fn a_call_that_arrives_in_an_outage_is_held_and_succeeds() {
    let config = "hold = \"10s\"\n[reconnect]\ninitial_delay = \"1s\"\njitter = false\n".to_owned();
    let sidecar = Sidecar::with(config + &stdio("one", &[], "")).start().await;
    let before = sidecar.wait_for_state("one", "established").await;
    let client = sidecar.client().await;
    procfs::signal(pid_of(&before), Signal::KILL);
    sidecar.wait_for_state("one", "waiting").await;
    let answer = client.call("one__echo", json!({"text": "held"})).await;
    assert!(answer.is_success(), "{}", answer.text);
    assert_eq!(answer.words(), "held");
}

#[tokio::test]
async fn a_call_is_refused_at_once_when_the_next_attempt_is_due_after_the_hold() {
    let config = "hold = \"1s\"\n[reconnect]\ninitial_delay = \"30s\"\njitter = false\n".to_owned();
    let sidecar = Sidecar::with(config + &stdio("one", &[], "")).start().await;
    let before = sidecar.wait_for_state("one", "established").await;
    let client = sidecar.client().await;
    procfs::signal(pid_of(&before), Signal::KILL);
    sidecar.wait_for_state("one", "waiting").await;
    let asked = Instant::now();
    let answer = client.call("one__echo", json!({"text": "too late"})).await;
    assert!(asked.elapsed() < Duration::from_secs(1), "it was held for {:?}", asked.elapsed());
    assert!(!answer.is_success());
    for word in ["\"one\"", "waiting", "since", "attempt 1 of 10", "due in"] {
        assert!(answer.words().contains(word), "{word} is not told in: {}", answer.words());
    }
}

#[tokio::test]
async fn a_server_that_is_stable_between_crashes_recovers_three_times_its_budget() {
    const BUDGET: u32 = 2;
    let config = "[reconnect]\ninitial_delay = \"10ms\"\nmax_delay = \"50ms\"\nmax_attempts = 2\njitter = false\n\
                  [liveness]\ninterval = \"50ms\"\ntimeout = \"5s\"\n";
    let sidecar = Sidecar::with(config.to_owned() + &stdio("one", &[], "")).start().await;
    let mut server = sidecar.wait_for_state("one", "established").await;
    for _ in 0..3 * BUDGET {
        let generation = server["generation"].clone();
        sidecar.wait_for_server("one", "proved stable", |server| server["attempts"] == 0).await;
        // Proved stable means beyond the window since *this* generation began, which a full budget alone doesn't say
        // of the first one.
        wait_for_uptime(&sidecar, Duration::from_millis(200)).await;
        procfs::signal(pid_of(&server), Signal::KILL);
        server = sidecar
            .wait_for_server("one", "established anew", |server| {
                server["state"] == "established" && server["generation"] != generation
            })
            .await;
    }
    assert_eq!(server["generation"].as_u64(), Some(u64::from(3 * BUDGET) + 1));
    assert_eq!(sidecar.metric("mcp_sidecar_budget_exhausted_total{server=\"one\"}").await, Some(0.0));
}

#[tokio::test]
async fn a_stopped_server_is_found_by_liveness_and_replaced_once() {
    let config = "[liveness]\ninterval = \"100ms\"\ntimeout = \"200ms\"\nfailures = 2\n[timeouts]\nclose = \"1s\"\n";
    let sidecar = Sidecar::with(quick(10) + config + &stdio("one", &[], "")).start().await;
    let before = sidecar.wait_for_state("one", "established").await;
    procfs::signal(pid_of(&before), Signal::STOP);
    let after = sidecar
        .wait_for_server("one", "replaced", |server| {
            server["state"] == "established" && server["generation"] != before["generation"]
        })
        .await;
    assert_eq!(after["generation"].as_u64(), before["generation"].as_u64().map(|generation| generation + 1));
    assert!(!procfs::is_alive(pid_of(&before)), "the stopped process lives beside its successor");
}

/// The pid that `/status` shows.
fn pid_of(server: &serde_json::Value) -> i32 {
    i32::try_from(server["pid"].as_i64().expect("a pid")).expect("a pid")
}

async fn wait_for_uptime(sidecar: &Sidecar, uptime: Duration) {
    let began = Instant::now();
    wait_for("the generation is old enough", Duration::from_secs(10), async || {
        let state = sidecar.server("one").await["state"].clone();
        assert_eq!(state, "established");
        (began.elapsed() > uptime).then_some(())
    })
    .await;
}
