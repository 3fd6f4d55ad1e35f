//! The process contract: exit codes, signals, listeners that can't be had, an environment that Kubernetes filled.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use super::support::configs::{quick, stdio};
use super::support::sidecar::{PATIENCE, Sidecar};

#[tokio::test]
async fn sigterm_and_sigint_end_with_0() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut sidecar = Sidecar::with(stdio("one", &[], "")).start().await;
        sidecar.wait_for_state("one", "established").await;
        sidecar.signal(signal);
        assert_eq!(sidecar.wait_exit(PATIENCE).await.code(), Some(0), "{}", sidecar.log());
    }
}

#[tokio::test]
async fn sigterm_during_backoff_ends_at_once() {
    let config = "[reconnect]\ninitial_delay = \"60s\"\nmax_delay = \"60s\"\n";
    let mut sidecar = Sidecar::with(config.to_owned() + &stdio("one", &["--exit-at-start", "1"], "")).start().await;
    sidecar.wait_for_state("one", "waiting").await;
    let asked = Instant::now();
    assert_eq!(sidecar.stop().await, Some(0), "{}", sidecar.log());
    assert!(asked.elapsed() < Duration::from_secs(2), "it took {:?}", asked.elapsed());
}

#[tokio::test]
async fn a_second_signal_ends_at_once_and_still_leaves_nothing() {
    let config = "stop_timeout = \"60s\"\n[timeouts]\nclose = \"50s\"\n";
    let flags = ["--ignore-term", "--ignore-eof"];
    let mut sidecar = Sidecar::with(config.to_owned() + &stdio("one", &flags, "")).start().await;
    let server = sidecar.wait_for_state("one", "established").await;
    sidecar.signal(Signal::TERM);
    sidecar.wait_for_state("one", "stopping").await;
    sidecar.signal(Signal::TERM);
    assert_eq!(sidecar.wait_exit(Duration::from_secs(3)).await.code(), Some(70), "{}", sidecar.log());
    let pid = i32::try_from(server["pid"].as_i64().expect("a pid")).expect("a pid");
    super::support::wait::wait_until("the server is gone", Duration::from_secs(2), async || {
        !super::support::procfs::is_alive(pid)
    })
    .await;
}

#[tokio::test]
async fn an_address_in_use_ends_with_69_and_names_it() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("its address").to_string();
    let mut sidecar = Sidecar::with(stdio("one", &[], "")).argument("--set").argument(format!("admin={address:?}"));
    sidecar = sidecar.argument(format!("--admin={address}"));
    let mut sidecar = sidecar.spawn();
    assert!(matches!(sidecar.wait_exit(PATIENCE).await.code(), Some(2 | 69)), "{}", sidecar.log());
}

#[tokio::test]
async fn a_state_directory_that_another_sidecar_holds_ends_with_69_and_names_it() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let state = directory.path().to_str().expect("UTF-8");
    let first = Sidecar::with(stdio("one", &[], "")).argument("--state-dir").argument(state).start().await;
    let mut second = Sidecar::with(stdio("one", &[], "")).argument("--state-dir").argument(state).spawn();
    assert_eq!(second.wait_exit(PATIENCE).await.code(), Some(69), "{}", second.log());
    assert!(second.log().contains(&first.pid().to_string()), "{}", second.log());
}

#[tokio::test]
async fn a_wrong_configuration_ends_with_78_and_tells_all_errors_at_once() {
    let config =
        "hold = \"5 parsecs\"\n[reconnect]\nmax_attemps = 3\n[servers.one]\ncommand = \"x\"\nurl = \"http://y\"\n";
    let mut sidecar = Sidecar::with(config).spawn();
    assert_eq!(sidecar.wait_exit(PATIENCE).await.code(), Some(78), "{}", sidecar.log());
    for word in ["5 parsecs", "max_attemps", "max_attempts", "servers.one", "sidecar.toml"] {
        assert!(sidecar.log().contains(word), "{word} is not told:\n{}", sidecar.log());
    }
}

#[tokio::test]
async fn usage_errors_end_with_2() {
    let mut sidecar = Sidecar::with(stdio("one", &[], "")).argument("--no-such-flag").spawn();
    assert_eq!(sidecar.wait_exit(PATIENCE).await.code(), Some(2));
}

#[tokio::test]
async fn the_environment_that_kubernetes_injects_for_services_of_our_names_is_survived_with_a_warning() {
    let mut sidecar = Sidecar::with(stdio("one", &[], ""));
    for (service, port) in [("MCP_SIDECAR", 9900), ("TOOLHIVE", 8080)] {
        for (suffix, value) in [
            ("SERVICE_HOST", "10.96.0.7".to_owned()),
            ("SERVICE_PORT", port.to_string()),
            ("SERVICE_PORT_MCP", port.to_string()),
            ("PORT", format!("tcp://10.96.0.7:{port}")),
            (&format!("PORT_{port}_TCP"), format!("tcp://10.96.0.7:{port}")),
            (&format!("PORT_{port}_TCP_PROTO"), "tcp".to_owned()),
            (&format!("PORT_{port}_TCP_PORT"), port.to_string()),
            (&format!("PORT_{port}_TCP_ADDR"), "10.96.0.7".to_owned()),
        ] {
            sidecar = sidecar.environment(format!("{service}_{suffix}"), value);
        }
    }
    let sidecar = sidecar.start().await;
    sidecar.wait_for_state("one", "established").await;
    assert!(sidecar.log().contains("MCP_SIDECAR_SERVICE_HOST"), "no warning:\n{}", sidecar.log());
}

#[tokio::test]
async fn a_server_that_hangs_in_initialize_does_not_delay_the_four_others() {
    let config = (1..=4).fold(stdio("hanging", &["--hang-in-initialize"], ""), |config, number| {
        config + &stdio(&format!("good-{number}"), &[], "")
    });
    let sidecar = Sidecar::with(config).spawn();
    let began = Instant::now();
    super::support::wait::wait_until("the four answer", Duration::from_secs(2), async || {
        if sidecar.admin("/livez").await.is_none() {
            return false;
        }
        let client = sidecar.client().await;
        let names = client.tool_names().await;
        (1..=4).all(|number| names.contains(&format!("good-{number}__echo")))
    })
    .await;
    let client = sidecar.client().await;
    for number in 1..=4 {
        assert!(client.call(&format!("good-{number}__echo"), json!({"text": "x"})).await.is_success());
    }
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_server_that_demands_credentials_spends_nothing_and_is_told_as_auth_required() {
    let refusing = super::support::refusing::unauthorized().await;
    let config = format!("{}[servers.locked]\nurl = \"{refusing}\"\nrequired = false\n", quick(2));
    let sidecar = Sidecar::with(config + &stdio("good", &[], "")).start().await;
    let locked = sidecar.wait_for_state("locked", "auth_required").await;
    assert_eq!(locked["attempts"], 0);
    sidecar.wait_for_server("locked", "tried several times", |server| server["generation"].as_u64() > Some(4)).await;
    assert_eq!(sidecar.server("locked").await["attempts"], 0);
    assert_eq!(sidecar.server("good").await["state"], "established");
}
