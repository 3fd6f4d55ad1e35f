//! What servers write to stderr never blocks them, never fills our memory, and is there to explain an ending.

use std::time::Duration;

use crate::support::nursery::Host;
use crate::support::procfs;
use crate::support::sidecar::PATIENCE;
use crate::support::wait::wait_until;

#[tokio::test]
async fn a_server_that_fills_the_pipe_before_it_answers_is_not_blocked() {
    let mut host = Host::start();
    let pid = host.spawn("server", &["--stderr-flood", "409600"]).await;
    assert_eq!(host.call("server", "pid").await, pid.to_string());
    assert!(host.close("server", PATIENCE, PATIENCE).await.0);
    let (_, tail) = host.last_words("server").await;
    assert!(tail.len() <= 8 << 10 && tail.len() > 7 << 10, "{} bytes", tail.len());
    assert!(tail.lines().all(|line| line.trim_end().ends_with("flood")));
}

#[tokio::test]
async fn an_endless_line_takes_neither_memory_nor_the_server_down() {
    let mut host = Host::start();
    let pid = host.spawn("server", &["--endless-line", "stderr"]).await;
    host.call("server", "pid").await;
    let before = procfs::resident_kib(host.pid()).expect("it runs");
    let written = || {
        let io = std::fs::read_to_string(format!("/proc/{pid}/io")).expect("ours");
        let line = io.lines().find_map(|line| line.strip_prefix("wchar: ")).expect("a count").to_owned();
        line.parse::<u64>().expect("a number")
    };
    wait_until("it has written 8 MiB", PATIENCE, async || written() > 8 << 20).await;
    let grown = procfs::resident_kib(host.pid()).expect("it runs").saturating_sub(before);
    assert!(grown < 2048, "{grown} KiB for 8 MiB");
    assert_eq!(host.call("server", "pid").await, pid.to_string());
    assert!(host.close("server", PATIENCE, PATIENCE).await.0);
}

#[tokio::test]
async fn the_last_words_are_there_as_soon_as_the_exit_is() {
    let mut host = Host::start();
    for round in 0..20 {
        let name = format!("server-{round}");
        host.spawn(&name, &["--exit-at-start", "3"]).await;
        let (exit, tail) = host.last_words(&name).await;
        assert_eq!(exit, "exited with code 3");
        assert_eq!(tail, "fixture: exiting at start, as told");
        assert!(host.close(&name, Duration::from_secs(3), PATIENCE).await.0);
    }
}
