//! Never two processes of one server, and nobody survives: whatever the server's family looks like, however it ends.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;

use super::support::configs::{quick, stdio};
use super::support::procfs;
use super::support::sidecar::Sidecar;
use super::support::wait::wait_until;

/// The marker of a server's processes; other tests have servers of other names.
fn marked(server: &str) -> Vec<procfs::Process> {
    procfs::living_with_environment(&format!("MCP_SIDECAR_MARK_SERVER={server}"))
}

async fn gone(server: &str, within: Duration) {
    wait_until(&format!("no process of {server} is left"), within, async || marked(server).is_empty()).await;
}

const CLOSE: &str = "stop_timeout = \"10s\"\n[timeouts]\nclose = \"2s\"\n";

/// Every family that a normal stop has to end, by the name of its server.
const FAMILIES: [(&str, &[&str]); 6] = [
    ("fam-plain", &[]),
    ("fam-wrapper", &["--wrapper-child"]),
    ("fam-grandchild", &["--grandchild"]),
    ("fam-setsid", &["--setsid-grandchild"]),
    ("fam-term", &["--ignore-term"]),
    ("fam-eof", &["--ignore-eof", "--ignore-term"]),
];

#[tokio::test]
async fn a_normal_stop_leaves_nothing_of_any_family() {
    let config = FAMILIES.iter().fold(CLOSE.to_owned(), |config, (name, flags)| config + &stdio(name, flags, ""));
    let mut sidecar = Sidecar::with(config).start().await;
    for (name, _) in FAMILIES {
        sidecar.wait_for_state(name, "established").await;
    }
    assert_eq!(sidecar.stop().await, Some(0), "{}", sidecar.log());
    for (name, _) in FAMILIES {
        assert_eq!(marked(name).len(), 0, "{name} left something behind");
    }
}

#[tokio::test]
async fn a_crash_of_a_wrapper_ends_the_server_behind_it_before_the_next_is_started() {
    let config = quick(10) + CLOSE + &stdio("crash-wrapper", &["--wrapper-child", "--ignore-eof"], "");
    let sidecar = Sidecar::with(config.replace("stop_timeout", "# stop_timeout")).start().await;
    let before = sidecar.wait_for_state("crash-wrapper", "established").await;
    let family = marked("crash-wrapper");
    assert_eq!(family.len(), 2, "a wrapper and a server: {family:?}");
    let wrapper = i32::try_from(before["pid"].as_i64().expect("a pid")).expect("a pid");
    procfs::signal(wrapper, Signal::KILL);
    sidecar
        .wait_for_server("crash-wrapper", "established anew", |server| {
            server["generation"] == 2 && server["state"] == "established"
        })
        .await;
    assert!(family.iter().all(|process| !procfs::is_alive(process.pid)), "the old server lives beside the new one");
}

#[tokio::test]
async fn an_exhausted_server_leaves_nothing_behind() {
    let flags = ["--setsid-grandchild", "--exit-after-handshake", "0"];
    let config = quick(2) + &stdio("exhausted-family", &flags, "");
    let mut sidecar = Sidecar::with(config).spawn();
    assert_eq!(sidecar.wait_exit(Duration::from_secs(40)).await.code(), Some(1), "{}", sidecar.log());
    assert_eq!(marked("exhausted-family").len(), 0);
}

#[tokio::test]
async fn sigkill_of_the_sidecar_ends_every_family_within_two_seconds() {
    let names: Vec<String> = FAMILIES.iter().map(|(name, _)| name.replace("fam", "killed")).collect();
    let config =
        names.iter().zip(FAMILIES).fold(String::new(), |config, (name, (_, flags))| config + &stdio(name, flags, ""));
    let mut sidecar = Sidecar::with(config).start().await;
    for name in &names {
        sidecar.wait_for_state(name, "established").await;
    }
    sidecar.signal(Signal::KILL);
    sidecar.wait_exit(Duration::from_secs(5)).await;
    wait_until("everything is gone", Duration::from_secs(2), async || names.iter().all(|name| marked(name).is_empty()))
        .await;
}

#[tokio::test]
async fn with_the_guardian_killed_too_the_next_start_ends_the_leftovers_and_leaves_a_second_sidecar_alone() {
    let flags = ["--setsid-grandchild", "--ignore-eof"];
    let mut first = Sidecar::with(stdio("left-over", &flags, "")).start().await;
    let other = Sidecar::with(stdio("of-another", &[], "")).start().await;
    first.wait_for_state("left-over", "established").await;
    let untouched = other.wait_for_state("of-another", "established").await;
    for process in procfs::descendants(first.pid()) {
        let line = std::fs::read(format!("/proc/{}/cmdline", process.pid)).unwrap_or_default();
        if String::from_utf8_lossy(&line).contains("__guardian") {
            procfs::signal(process.pid, Signal::KILL);
        }
    }
    first.signal(Signal::KILL);
    first.wait_exit(Duration::from_secs(5)).await;
    assert!(!marked("left-over").is_empty(), "nothing was left over, so nothing is shown");
    let third = Sidecar::with(stdio("third", &[], "")).start().await;
    gone("left-over", Duration::from_secs(10)).await;
    assert!(third.log().contains("left-over"), "the leftover is not reported\n{}", third.log());
    let still = other.server("of-another").await;
    assert_eq!((&still["pid"], &still["generation"]), (&untouched["pid"], &untouched["generation"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_random_kills_and_bursts_never_make_two_processes_of_one_server() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let lock = directory.path().join("lock");
    let config = "[reconnect]\ninitial_delay = \"10ms\"\nmax_delay = \"10ms\"\nmax_attempts = 1000\njitter = false\n";
    let flags = ["--lock", lock.to_str().expect("UTF-8"), "--list-changed-every", "5"];
    let sidecar = Sidecar::with(config.to_owned() + &stdio("only-one", &flags, "")).start().await;
    let (mut kills, mut most) = (0, 0);
    let seed: u64 = fastrand::u64(..);
    let mut random = fastrand::Rng::with_seed(seed);
    wait_until(&format!("200 kills (seed {seed})"), Duration::from_secs(120), async || {
        let living: Vec<_> = marked("only-one");
        most = most.max(living.len());
        if random.u8(..) < 128
            && let Some(process) = living.first()
        {
            let signal = [Signal::KILL, Signal::TERM, Signal::STOP, Signal::INT][random.usize(..4)];
            procfs::signal(process.pid, signal);
            if signal == Signal::STOP {
                procfs::signal(process.pid, Signal::KILL);
            }
            kills += 1;
        }
        kills >= 200
    })
    .await;
    assert_eq!(most, 1, "two processes at once (seed {seed})");
    assert!(!directory.path().join("lock.overlap").exists(), "the lock saw an overlap (seed {seed})");
    sidecar.wait_for_state("only-one", "established").await;
    assert!(sidecar.client().await.call("only-one__echo", json!({"text": "x"})).await.is_success());
}

#[tokio::test]
async fn twenty_servers_that_ignore_sigterm_are_stopped_within_the_bound_of_one() {
    let config = (0..20).fold(CLOSE.to_owned(), |config, number| {
        config + &stdio(&format!("stubborn-{number}"), &["--ignore-term", "--ignore-eof"], "")
    });
    let mut sidecar = Sidecar::with(config).start().await;
    sidecar.startup_finished().await;
    let asked = std::time::Instant::now();
    assert_eq!(sidecar.stop().await, Some(0), "{}", sidecar.log());
    assert!(asked.elapsed() < Duration::from_secs(5), "it took {:?}", asked.elapsed());
    assert!((0..20).all(|number| marked(&format!("stubborn-{number}")).is_empty()));
}
