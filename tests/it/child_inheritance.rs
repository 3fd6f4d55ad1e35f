//! What a server gets from us, and what not.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use serde_json::json;

use crate::support::nursery::{Host, program};
use crate::support::procfs;
use crate::support::sidecar::{PATIENCE, fixture};
use crate::support::wait::wait_until;

fn by_shell(preparation: &str) -> Host {
    Host::start_by(Command::new("sh").arg("-c").arg(format!("{preparation}; exec {}", program().display())))
}

#[tokio::test]
async fn a_server_and_the_guardian_get_three_descriptors_and_no_other() {
    // Two that were leaked to us, besides our own.
    let mut host = by_shell("exec 7</dev/null 9>/dev/null");
    host.spawn("other", &[]).await;
    host.spawn("server", &[]).await;
    let open = host.call("server", "fds").await;
    let numbers: Vec<&str> = open.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(numbers, ["0", "1", "2"], "{open}");
    assert!(open.lines().all(|line| line.contains("pipe:")), "{open}");
    let guardian = host.guardian().expect("it runs");
    let guardians = std::fs::read_dir(format!("/proc/{guardian}/fd")).expect("ours").count();
    assert_eq!(guardians, 3);
}

#[tokio::test]
async fn a_server_starts_with_default_signals_whatever_we_were_started_with() {
    let mut host = by_shell("trap '' HUP INT TERM CHLD USR1");
    host.spawn("server", &[]).await;
    let signals = host.call("server", "signals").await;
    // SIGPIPE (13) is ignored by the fixture's own runtime.
    assert!(signals.contains("SigIgn:\t0000000000001000"), "{signals}");
    assert!(signals.contains("SigBlk:\t0000000000000000"), "{signals}");
}

#[tokio::test]
async fn a_server_leads_a_group_of_its_own_and_is_our_child() {
    let mut host = Host::start();
    let pid = host.spawn("server", &[]).await;
    let process = procfs::process(pid).expect("it runs");
    assert_eq!((process.group, process.parent), (pid, host.pid()));
}

#[tokio::test]
async fn a_server_gets_the_configured_environment_and_our_mark() {
    let mut host = Host::start_by(Command::new(program()).env("OUR_TOKEN", "secret"));
    host.spawn("server", &[]).await;
    let text = host.call("server", "env").await;
    let environment: BTreeMap<String, String> = serde_json::from_str(&text).expect("a map");
    let names: Vec<&str> = environment.keys().map(String::as_str).collect();
    assert_eq!(names, ["MCP_SIDECAR_MARK", "MCP_SIDECAR_MARK_GENERATION", "MCP_SIDECAR_MARK_SERVER", "PATH"]);
    assert!(environment["MCP_SIDECAR_MARK"].starts_with(&format!("{}:", host.pid())));
    assert_eq!(environment["MCP_SIDECAR_MARK_SERVER"], "server");
}

#[tokio::test]
async fn a_relative_command_and_its_directory_are_honoured_at_each_start() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().canonicalize().expect("a path");
    std::os::unix::fs::symlink(fixture(), path.join("server")).expect("a link");
    let mut host = Host::start();
    for generation in 1..=2 {
        let order = json!({"op": "spawn", "server": "server", "command": "./server", "args": [], "cwd": path.to_str(), "generation": generation});
        assert!(host.ask(order).await["pid"].is_u64());
        assert_eq!(host.call("server", "cwd").await, path.display().to_string());
        assert!(host.close("server", PATIENCE, PATIENCE).await.0);
    }
}

#[tokio::test]
async fn a_command_that_does_not_exist_is_told_with_the_path_searched() {
    let mut host = Host::start();
    let order = json!({"op": "spawn", "server": "server", "command": "no-such-tool", "args": ["--key=canary"]});
    let answer = host.ask(order).await;
    assert_eq!(answer["kind"], "command_not_found");
    let detail = answer["detail"].as_str().expect("words");
    assert!(detail.contains("`no-such-tool`") && detail.contains("PATH=/usr/local/bin:/usr/bin:/bin"), "{detail}");
    assert!(!detail.contains("canary"), "{detail}");
}

#[tokio::test]
async fn a_server_outlives_the_runtime_that_it_was_started_on() {
    let mut host = Host::start();
    let pid = host.spawn("server", &["--ignore-eof"]).await;
    host.call("server", "pid").await;
    let threads = || std::fs::read_dir(format!("/proc/{}/task", host.pid())).expect("ours").count();
    let before = threads();
    host.ask(json!({"op": "end-runtime"})).await;
    let threads = || std::fs::read_dir(format!("/proc/{}/task", host.pid())).expect("ours").count();
    wait_until("the workers are gone", PATIENCE, async || threads() < before).await;
    // The signal of a thread's end comes a moment after that end.
    for _ in 0..50 {
        assert!(procfs::is_alive(pid), "its parent-death signal was bound to a worker");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
