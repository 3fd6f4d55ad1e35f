//! A budget that is spent ends the process with 1, or only withdraws the tools of a server that is not required.

use std::time::Duration;

use super::support::configs::{quick, stdio};
use super::support::journal::Journal;
use super::support::sidecar::{PATIENCE, Sidecar};

const NOT_REQUIRED: &str = "required = false";

#[tokio::test]
async fn a_server_that_exits_after_each_handshake_is_started_once_and_max_attempts_times_then_exit_1() {
    let journal = Journal::new();
    let flags = ["--exit-after-handshake", "0", "--journal", journal.path()];
    let mut sidecar = Sidecar::with(quick(4) + &stdio("one", &flags, "")).spawn();
    let status = sidecar.wait_exit(PATIENCE).await;
    assert_eq!(status.code(), Some(1), "{}", sidecar.log());
    assert_eq!(journal.starts(), 1 + 4, "{}", sidecar.log());
    for delay in ["20", "40", "80", "100"] {
        assert!(sidecar.log().contains(&format!("delay_ms={delay}")), "no attempt after {delay} ms\n{}", sidecar.log());
    }
}

#[tokio::test]
async fn an_exhausted_server_that_is_not_required_is_withdrawn_once_and_leaves_the_others_alone() {
    let journal = Journal::new();
    let flags = ["--exit-after-handshake", "0", "--journal", journal.path()];
    let config = quick(3) + &stdio("bad", &flags, NOT_REQUIRED) + &stdio("good", &[], "");
    let sidecar = Sidecar::with(config).start().await;
    let good = sidecar.wait_for_state("good", "established").await;
    sidecar.wait_for_state("bad", "exhausted").await;
    let client = sidecar.client().await;
    let names = client.tool_names().await;
    assert!(!names.is_empty() && names.iter().all(|name| name.starts_with("good__")), "{names:?}");
    assert_eq!(journal.starts(), 1 + 3);
    assert_eq!(sidecar.metric("mcp_sidecar_budget_exhausted_total{server=\"bad\"}").await, Some(1.0));
    let still = sidecar.server("good").await;
    assert_eq!((still["pid"].clone(), still["generation"].clone()), (good["pid"].clone(), good["generation"].clone()));
}

#[tokio::test]
async fn the_process_ends_with_1_when_no_server_is_left_although_none_is_required() {
    let config = quick(2) + &stdio("one", &["--exit-after-handshake", "0"], NOT_REQUIRED);
    let config = config + &stdio("two", &["--exit-at-start", "3"], NOT_REQUIRED);
    let mut sidecar = Sidecar::with(config).spawn();
    assert_eq!(sidecar.wait_exit(PATIENCE).await.code(), Some(1), "{}", sidecar.log());
}

#[tokio::test]
async fn a_server_that_hangs_after_each_handshake_runs_its_budget_out() {
    let journal = Journal::new();
    let config = "[liveness]\ninterval = \"100ms\"\ntimeout = \"100ms\"\nfailures = 1\n[timeouts]\nclose = \"1s\"\n";
    let flags = ["--hang-after-handshake", "--journal", journal.path()];
    let mut sidecar = Sidecar::with(quick(3) + config + &stdio("one", &flags, "")).spawn();
    assert_eq!(sidecar.wait_exit(Duration::from_secs(60)).await.code(), Some(1), "{}", sidecar.log());
    assert_eq!(journal.starts(), 1 + 3, "{}", sidecar.log());
}

#[tokio::test]
async fn a_missing_command_is_told_by_name_with_the_path_that_was_searched() {
    let config = quick(2) + "[servers.one]\ncommand = \"no-such-command-anywhere\"\n";
    let mut sidecar = Sidecar::with(config).spawn();
    assert_eq!(sidecar.wait_exit(PATIENCE).await.code(), Some(1));
    let log = sidecar.log();
    assert!(log.contains("no-such-command-anywhere") && log.contains("PATH"), "{log}");
}

#[tokio::test]
async fn a_failed_first_connect_under_strict_start_up_ends_with_69() {
    let config = format!("fail_on_startup_error = true\n{}{}", quick(5), stdio("one", &["--exit-at-start", "3"], ""));
    let mut sidecar = Sidecar::with(config).spawn();
    assert_eq!(sidecar.wait_exit(PATIENCE).await.code(), Some(69), "{}", sidecar.log());
}
