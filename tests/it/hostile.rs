//! Servers that behave badly without dying: they can't be ended, forget sessions, cry wolf, take their time.

use std::time::{Duration, Instant};

use serde_json::json;

use super::support::configs::{quick, stdio};
use super::support::freezer::Freezer;
use super::support::journal::Journal;
use super::support::procfs;
use super::support::refusing::forgetful;
use super::support::sidecar::{PATIENCE, Sidecar};

#[tokio::test]
async fn a_server_that_cannot_be_killed_makes_its_target_stuck_and_never_two_of_it() {
    let Some(freezer) = Freezer::new() else { return };
    let journal = Journal::new();
    let flags = ["--journal", journal.path()];
    let config = "[liveness]\ninterval = \"100ms\"\ntimeout = \"100ms\"\nfailures = 1\n[timeouts]\nclose = \"500ms\"\n";
    let config = quick(3) + config + &stdio("frozen", &flags, "required = false") + &stdio("good", &[], "");
    let sidecar = Sidecar::with(config).start().await;
    let server = sidecar.wait_for_state("frozen", "established").await;
    let pid = i32::try_from(server["pid"].as_i64().expect("a pid")).expect("a pid");
    freezer.freeze(pid);
    sidecar.wait_for_state("frozen", "stuck").await;
    assert!(procfs::is_alive(pid), "it was to be unkillable");
    assert_eq!(journal.starts(), 1, "a second one was started beside it");
    let client = sidecar.client().await;
    assert!(client.tool_names().await.iter().all(|name| name.starts_with("good__")), "its tools are still there");
    assert!(client.call("good__echo", json!({"text": "x"})).await.is_success());
    drop(freezer);
}

#[tokio::test]
async fn a_server_that_loses_its_session_at_each_call_runs_its_budget_out() {
    let url = forgetful().await;
    let config = format!("hold = \"2s\"\n{}[servers.forgetful]\nurl = \"{url}\"\nprotocol = \"legacy\"\n", quick(3));
    let mut sidecar = Sidecar::with(config).start().await;
    sidecar.wait_for_state("forgetful", "established").await;
    let client = sidecar.client().await;
    // The call can't have been carried out, so it goes from session to session until none is left.
    let answer = client.call("forgetful__echo", json!({"text": "x"})).await;
    assert!(!answer.is_success(), "{}", answer.text);
    assert_eq!(sidecar.wait_exit(PATIENCE).await.code(), Some(1), "{}", sidecar.log());
}

#[tokio::test]
async fn a_storm_of_list_changed_is_listed_a_few_times_and_announced_never() {
    let journal = Journal::new();
    let flags = ["--list-changed-storm", "200000", "--list-changed-every", "333", "--journal", journal.path()];
    let sidecar = Sidecar::with(stdio("stormy", &flags, "")).start().await;
    sidecar.wait_for_state("stormy", "established").await;
    let client = sidecar.client().await;
    let mut stream = client.listen().await;
    let began = Instant::now();
    let mut slowest = Duration::ZERO;
    while began.elapsed() < Duration::from_secs(3) {
        let asked = Instant::now();
        assert!(client.call("stormy__echo", json!({"text": "x"})).await.is_success());
        slowest = slowest.max(asked.elapsed());
    }
    let lists = journal.count("tools/list");
    assert!((2..=20).contains(&lists), "{lists} listings in three seconds");
    assert!(slowest < Duration::from_secs(1), "a call took {slowest:?}");
    let announced = tokio::time::timeout(Duration::from_millis(300), stream.next()).await;
    assert!(announced.is_err(), "an unchanged list was announced: {announced:?}");
}

#[tokio::test]
async fn a_slow_first_start_is_waited_for_and_shows_as_not_ready_meanwhile() {
    let journal = Journal::new();
    let flags = ["--delay-initialize", "3000", "--journal", journal.path()];
    let sidecar = Sidecar::with(stdio("slow", &flags, "protocol = \"legacy\"")).start().await;
    let (status, _) = sidecar.admin("/readyz").await.expect("an answer");
    assert_eq!(status, 503);
    let server = sidecar.wait_for_state("slow", "established").await;
    assert_eq!((server["generation"].as_u64(), journal.starts()), (Some(1), 1));
    assert_eq!(sidecar.admin("/readyz").await.map(|(status, _)| status), Some(200));
}

#[tokio::test]
async fn equal_tool_names_of_two_servers_are_routed_stably_through_an_outage_of_one() {
    let config = quick(10) + &stdio("a", &["--name", "first"], "") + &stdio("b", &["--name", "second"], "");
    let sidecar = Sidecar::with(config).start().await;
    let pid = |server: &serde_json::Value| server["pid"].as_i64().expect("a pid").to_string();
    let a = sidecar.wait_for_state("a", "established").await;
    let b = pid(&sidecar.wait_for_state("b", "established").await);
    let client = sidecar.client().await;
    assert_eq!(client.call("b__pid", json!({})).await.words(), b);
    procfs::signal(pid(&a).parse().expect("a pid"), rustix::process::Signal::KILL);
    assert_eq!(client.call("b__pid", json!({})).await.words(), b, "during the outage");
    let again = sidecar
        .wait_for_server("a", "back", |server| server["generation"] == 2 && server["state"] == "established")
        .await;
    assert_eq!(client.call("b__pid", json!({})).await.words(), b, "after the outage");
    assert_eq!(client.call("a__pid", json!({})).await.words(), pid(&again));
}
