//! The close barrier: a server's end is asked for, then forced, and proved; nothing of it stays behind.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;

use crate::support::freezer::Freezer;
use crate::support::nursery::{Host, close_order, copy_for_everyone, is_root, program};
use crate::support::procfs;
use crate::support::sidecar::{PATIENCE, fixture};
use crate::support::wait::wait_until;

const BOUND: Duration = Duration::from_secs(3);

async fn closes_without_a_trace(arguments: &[&str]) -> String {
    let mut host = Host::start();
    let pid = host.spawn("server", arguments).await;
    host.call("server", "pid").await;
    assert!(!host.family().is_empty());
    let answer = host.ask(close_order("server", BOUND, PATIENCE)).await;
    assert_eq!(answer["proved"], json!(true));
    assert!(answer["ms"].as_u64().expect("a number") <= 3000, "{answer}");
    assert_eq!(host.family(), [], "proved, and yet there");
    assert!(procfs::process(pid).is_none(), "reaped as well");
    host.last_words("server").await.0
}

#[tokio::test]
async fn a_polite_server_ends_at_the_end_of_its_input() {
    assert_eq!(closes_without_a_trace(&[]).await, "exited with code 0");
}

#[tokio::test]
async fn a_server_that_ignores_the_end_of_its_input_is_terminated() {
    assert_eq!(closes_without_a_trace(&["--ignore-eof"]).await, "was killed by SIGTERM");
}

#[tokio::test]
async fn a_server_that_ignores_everything_is_killed_within_the_bound() {
    assert_eq!(closes_without_a_trace(&["--ignore-eof", "--ignore-term"]).await, "was killed by SIGKILL");
}

#[tokio::test]
async fn a_launcher_and_its_server_end_together() {
    closes_without_a_trace(&["--wrapper-child", "--ignore-eof", "--ignore-term"]).await;
}

#[tokio::test]
async fn children_of_a_server_end_with_it() {
    closes_without_a_trace(&["--grandchild"]).await;
}

#[tokio::test]
async fn a_session_of_its_own_saves_no_grandchild() {
    closes_without_a_trace(&["--setsid-grandchild"]).await;
}

#[tokio::test]
async fn a_daemon_forked_twice_ends_with_its_server() {
    closes_without_a_trace(&["--daemon-grandchild"]).await;
}

#[tokio::test]
async fn a_grandchild_without_session_group_and_environment_ends_too() {
    closes_without_a_trace(&["--bare-grandchild"]).await;
}

#[tokio::test]
async fn a_stopped_server_is_closed() {
    let mut host = Host::start();
    let pid = host.spawn("server", &["--grandchild"]).await;
    host.call("server", "pid").await;
    assert!(procfs::signal(pid, Signal::STOP));
    let (proved, took) = host.close("server", BOUND, PATIENCE).await;
    assert!(proved && took <= BOUND, "took {took:?}");
    assert_eq!(host.family(), []);
}

#[tokio::test]
async fn a_shell_script_leaves_nothing_behind() {
    let mut host = Host::start();
    host.spawn_script("server", "$FIXTURE --ignore-eof --ignore-term & wait").await;
    wait_until("the server runs", PATIENCE, async || !host.family().is_empty()).await;
    let (proved, took) = host.close("server", BOUND, PATIENCE).await;
    assert!(proved && took <= BOUND, "took {took:?}");
    assert_eq!(host.family(), []);
}

#[tokio::test]
async fn what_a_crashed_launcher_leaves_is_ended_without_waiting_for_it() {
    let mut host = Host::start();
    let arguments = ["--wrapper-child", "--ignore-eof", "--ignore-term", "--setsid-grandchild", "--grandchild"];
    let launcher = host.spawn("server", &arguments).await;
    host.call("server", "pid").await;
    assert!(procfs::signal(launcher, Signal::KILL));
    assert_eq!(host.last_words("server").await.0, "was killed by SIGKILL");
    assert_eq!(host.family().len(), 3, "the launcher's end is not its server's: {:?}", host.family());
    let (proved, took) = host.close("server", Duration::from_secs(10), PATIENCE).await;
    assert!(proved && took < Duration::from_secs(2), "took {took:?}");
    assert_eq!(host.family(), []);
}

#[tokio::test]
async fn many_stubborn_servers_take_no_longer_than_one() {
    let mut host = Host::start();
    let names: Vec<String> = (0..20).map(|number| format!("server-{number}")).collect();
    for name in &names {
        host.spawn(name, &["--ignore-eof", "--ignore-term"]).await;
    }
    let answers = host.ask_all(names.iter().map(|name| close_order(name, BOUND, PATIENCE)).collect()).await;
    for answer in answers {
        assert_eq!(answer["proved"], json!(true));
        assert!(answer["ms"].as_u64().expect("a number") <= 3000, "{answer}");
    }
    assert_eq!(host.family(), []);
}

#[tokio::test]
async fn closing_twice_at_once_is_closing_once() {
    let mut host = Host::start();
    host.spawn("server", &["--ignore-eof", "--ignore-term"]).await;
    let answers = host.ask_all(vec![close_order("server", BOUND, PATIENCE); 3]).await;
    assert!(answers.iter().all(|answer| answer["proved"] == json!(true)));
    assert_eq!(host.family(), []);
}

#[tokio::test]
async fn a_child_dropped_without_a_close_is_killed_with_its_family() {
    let mut host = Host::start();
    let pid = host.spawn("server", &["--ignore-eof", "--ignore-term", "--setsid-grandchild"]).await;
    host.call("server", "pid").await;
    host.ask(json!({"op": "drop", "server": "server"})).await;
    host.wait_for_no_family(Duration::from_secs(2)).await;
    wait_until("it is reaped", PATIENCE, async || procfs::process(pid).is_none()).await;
}

#[tokio::test]
async fn a_start_that_nobody_waits_for_never_makes_two_processes() {
    let mut host = Host::start();
    let directory = tempfile::tempdir().expect("a directory");
    let lock = directory.path().join("lock");
    let arguments = ["--ignore-eof", "--lock", lock.to_str().expect("a path")];
    let mut given_up = 0;
    for round in 0..20 {
        let mut abandoned = host.order("server", &arguments);
        (abandoned["op"], abandoned["micros"]) = (json!("abandon"), json!(round * 200));
        if host.ask(abandoned).await["given_up"] == json!(true) {
            given_up += 1;
        } else {
            assert!(host.close("server", Duration::from_millis(100), PATIENCE).await.0);
        }
        host.spawn("server", &arguments).await;
        assert!(host.close("server", Duration::from_millis(100), PATIENCE).await.0);
    }
    assert!(given_up > 0, "the starts were too fast to be given up");
    assert!(!lock.with_extension("overlap").exists(), "two processes of one server at once");
    assert_eq!(host.family(), []);
}

#[tokio::test]
async fn a_child_that_nobody_holds_keeps_its_place_until_it_is_dead() {
    let Some(freezer) = Freezer::new() else { return };
    let mut host = Host::start();
    let frozen = host.spawn("server", &[]).await;
    host.call("server", "pid").await;
    freezer.freeze(frozen);
    host.ask(json!({"op": "drop", "server": "server"})).await;
    let mut hasty = host.order("server", &[]);
    (hasty["op"], hasty["micros"]) = (json!("abandon"), json!(500_000));
    assert_eq!(host.ask(hasty).await["given_up"], json!(true));
    assert_eq!(host.family().len(), 1, "only the frozen one");
    drop(freezer);
    host.spawn("server", &[]).await;
    assert!(!procfs::is_alive(frozen));
}

#[tokio::test]
async fn a_child_that_cannot_be_killed_is_never_proved_dead() {
    if !is_root() {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let host_copy = copy_for_everyone(&program(), directory.path(), 0o755);
    let setuid = copy_for_everyone(&fixture(), directory.path(), 0o4755);
    let mut setpriv = std::process::Command::new("setpriv");
    setpriv.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(host_copy);
    let mut host = Host::start_by(&mut setpriv);
    host.fixture = setuid;
    let pid = host.spawn("server", &["--become-root", "--ignore-eof"]).await;
    host.call("server", "pid").await;
    let (proved, _) = host.close("server", Duration::from_millis(200), Duration::from_secs(2)).await;
    assert!(!proved && procfs::is_alive(pid));
    // And once it does die, a later close proves it.
    assert!(procfs::signal(pid, Signal::KILL));
    assert!(host.close("server", Duration::from_millis(200), PATIENCE).await.0);
}
