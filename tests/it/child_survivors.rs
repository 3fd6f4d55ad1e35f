//! Nobody survives us, and nobody stays a zombie.

use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;

use crate::support::freezer::Freezer;
use crate::support::nursery::{Host, is_root, program};
use crate::support::procfs;
use crate::support::sidecar::PATIENCE;
use crate::support::wait::{wait_for, wait_until};

/// What design promises after a SIGKILL.
const SOON: Duration = Duration::from_secs(2);

const STUBBORN: [&str; 6] =
    ["--wrapper-child", "--ignore-eof", "--ignore-term", "--grandchild", "--setsid-grandchild", "--daemon-grandchild"];

async fn stubborn_family(host: &mut Host, server: &str) {
    host.spawn(server, &STUBBORN).await;
    host.call(server, "pid").await;
}

/// Kills the guardian and the host before it can start another one: what only the next start can clean up.
async fn leave_a_family_behind(host: &mut Host) {
    stubborn_family(host, "left").await;
    let guardian = host.guardian().expect("it runs");
    assert!(procfs::signal(guardian, Signal::KILL));
    host.kill();
    wait_until("the direct child is gone", SOON, async || host.family().len() < 5).await;
    assert!(host.family().len() >= 3, "the rest stays");
}

#[tokio::test]
async fn everything_is_gone_soon_after_a_sigkill_of_us() {
    let mut host = Host::start();
    stubborn_family(&mut host, "server").await;
    assert_eq!(host.family().len(), 5);
    let guardian = host.guardian().expect("it runs");
    host.kill();
    host.wait_for_no_family(SOON).await;
    wait_until("the guardian is gone", SOON, async || !procfs::is_alive(guardian)).await;
}

#[tokio::test]
async fn everything_is_gone_after_an_exit_without_a_close() {
    let mut host = Host::start();
    stubborn_family(&mut host, "server").await;
    host.tell(&json!({"op": "exit"}));
    host.wait_for_no_family(SOON).await;
}

#[tokio::test]
async fn the_guardian_is_deaf_to_the_signals_that_end_us() {
    let host = Host::start();
    let guardian = wait_for("the guardian", PATIENCE, async || host.guardian()).await;
    for signal in [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT, Signal::PIPE] {
        assert!(procfs::signal(guardian, signal));
    }
    let status = std::fs::read_to_string(format!("/proc/{guardian}/status")).expect("it runs");
    let pending = status.lines().filter(|line| line.starts_with("SigPnd") || line.starts_with("ShdPnd"));
    assert!(pending.clone().all(|line| line.ends_with("0000000000000000")), "{status}");
    assert!(procfs::is_alive(guardian));
    let process = procfs::process(guardian).expect("it runs");
    assert_eq!(process.group, guardian, "a group, and session, of its own");
}

#[tokio::test]
async fn a_guardian_that_died_is_replaced_and_the_next_one_works() {
    let mut host = Host::start();
    stubborn_family(&mut host, "server").await;
    let first = host.guardian().expect("it runs");
    assert!(procfs::signal(first, Signal::KILL));
    wait_for("another guardian", PATIENCE, async || host.guardian().filter(|pid| *pid != first)).await;
    assert!(procfs::process(first).is_none(), "reaped");
    host.kill();
    host.wait_for_no_family(SOON).await;
}

#[tokio::test]
async fn after_a_clean_shutdown_not_even_the_guardian_is_left() {
    let mut host = Host::start();
    host.spawn("server", &[]).await;
    assert!(host.close("server", PATIENCE, PATIENCE).await.0);
    let guardian = host.guardian().expect("it runs");
    assert_eq!(host.ask(json!({"op": "shutdown"})).await["left"], 0);
    assert!(procfs::process(guardian).is_none(), "gone and reaped");
    let late = host.order("late", &[]);
    assert_eq!(host.ask(late).await["kind"], "spawn_failed", "nothing is started any more");
}

#[tokio::test]
async fn a_shutdown_with_somebody_left_leaves_that_to_the_guardian() {
    let mut host = Host::start();
    stubborn_family(&mut host, "server").await;
    assert_eq!(host.ask(json!({"op": "shutdown"})).await["left"], 1);
    assert!(host.guardian().is_some());
    host.kill();
    host.wait_for_no_family(SOON).await;
}

#[tokio::test]
async fn the_next_start_ends_what_is_left_and_leaves_others_alone() {
    let mut dead = Host::start();
    leave_a_family_behind(&mut dead).await;
    let mut neighbour = Host::start();
    stubborn_family(&mut neighbour, "left").await;
    let mut next = Host::start();
    let answer = next.ask(json!({"op": "leftovers", "bound": 4000})).await;
    assert_eq!(answer["left"], json!([]));
    assert_eq!(dead.family(), []);
    assert_eq!(neighbour.family().len(), 5, "its supervisor lives");
    neighbour.call("left", "pid").await;
}

#[tokio::test]
async fn a_leftover_that_cannot_be_ended_is_named() {
    let Some(freezer) = Freezer::new() else { return };
    let mut dead = Host::start();
    let pid = dead.spawn("frozen", &[]).await;
    dead.call("frozen", "pid").await;
    freezer.freeze(pid);
    let (proved, _) = dead.close("frozen", Duration::from_millis(200), Duration::from_secs(1)).await;
    dead.kill();
    let mut next = Host::start();
    let answer = next.ask(json!({"op": "leftovers", "bound": 500})).await;
    drop(freezer);
    dead.wait_for_no_family(PATIENCE).await;
    assert!(!proved, "a frozen process is not dead");
    assert_eq!(answer["left"], json!([{"server": "frozen", "pid": pid}]));
}

#[tokio::test]
async fn a_thousand_orphans_leave_no_zombie() {
    let mut host = Host::start();
    host.spawn("server", &["--orphans", "1000"]).await;
    host.call("server", "pid").await;
    let zombies = || procfs::descendants(host.pid()).iter().filter(|process| !process.is_alive()).count();
    wait_until("all are reaped", PATIENCE, async || zombies() == 0).await;
    assert_eq!(procfs::descendants(host.pid()).len(), 2, "the server and the guardian");
    assert!(host.close("server", PATIENCE, PATIENCE).await.0);
}

#[tokio::test]
async fn as_pid_1_it_reaps_orphans_and_closes_servers_alike() {
    if !is_root() {
        return;
    }
    let mut unshare = Command::new("unshare");
    unshare.args(["--pid", "--fork", "--mount-proc", "--kill-child"]).arg(program());
    let mut host = Host::start_by(&mut unshare);
    host.spawn("server", &["--orphans", "50", "--daemon-grandchild", "--ignore-term"]).await;
    assert_ne!(host.call("server", "pid").await, "0");
    let zombies = || procfs::descendants(host.pid()).iter().filter(|process| !process.is_alive()).count();
    wait_until("all are reaped", PATIENCE, async || zombies() == 0).await;
    assert!(host.close("server", Duration::from_secs(3), PATIENCE).await.0);
    assert_eq!(host.family(), []);
}
