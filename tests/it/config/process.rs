//! The same through the real binary: exit codes, and what is on which stream.

use std::process::{Command, Output};

use super::super::support::configs::stdio;
use super::super::support::sidecar::Sidecar;
use super::{SERVER, given};

/// Runs the binary with these arguments and variables, and no others.
fn sidecar(arguments: &[&str], variables: &[(&str, &str)]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-sidecar"));
    command.args(arguments).env_clear().env("PATH", "/usr/bin:/bin").envs(variables.iter().copied());
    let Output { status, stdout, stderr } = command.output().expect("the binary runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (status.code(), text(stdout), text(stderr))
}

#[test]
fn check_says_ok_with_0_and_warns_on_stderr() {
    let given = given().file("c.toml", SERVER);
    let file = given.path("c.toml");
    let arguments = ["config", "check", "--config", file.to_str().expect("UTF-8")];
    let (code, stdout, stderr) = sidecar(&arguments, &[("TOOLHIVE_HOST", "h")]);
    assert_eq!((code, stdout.as_str()), (Some(0), "ok: 1 server, 1 required\n"));
    assert!(stderr.starts_with("warning: ") && stderr.contains("TOOLHIVE_HOST"), "{stderr}");
}

#[test]
fn every_command_that_reads_it_ends_with_78_and_lists_all_errors_of_a_bad_configuration() {
    let given = given().file("c.toml", "hold = 5\ntoken = \"\"\n[servers.a]\nurl = \"canary\"\n");
    let file = given.path("c.toml");
    let file = file.to_str().expect("UTF-8");
    for command in [&["config", "check"][..], &["config", "show"], &["run"], &[]] {
        let arguments = [command, &["--config", file, "--listen", "0.0.0.0:x", "--config", "/no/such.toml"]].concat();
        let (code, stdout, stderr) =
            sidecar(&arguments, &[("MCP_SIDECAR_REPLAY", "al"), ("MCP_SIDECAR_NOPE", "canary")]);
        assert_eq!((code, stdout.as_str()), (Some(78), ""), "{command:?}\n{stderr}");
        for field in
            ["hold = 5", "token = ", "servers.a.url", "listen = ", "replay = ", "MCP_SIDECAR_NOPE", "/no/such.toml"]
        {
            assert!(stderr.contains(field), "{command:?}: {field} is not in\n{stderr}");
        }
        assert!(stderr.contains("7 errors") && !stderr.contains("canary"), "{stderr}");
    }
}

#[test]
fn nothing_to_run_is_78_with_advice() {
    let (code, _, stderr) = sidecar(&[], &[]);
    assert!(code == Some(78) && stderr.contains("--mcp-json FILE"), "{code:?} {stderr}");
}

#[test]
fn usage_errors_are_2_and_help_is_0() {
    assert_eq!(sidecar(&["--no-such-flag"], &[]).0, Some(2));
    assert_eq!(sidecar(&["config", "chekc"], &[]).0, Some(2));
    let (code, stdout, stderr) = sidecar(&["--help"], &[]);
    assert!(code == Some(0) && stdout.contains("Examples:") && stderr.is_empty(), "{stdout}{stderr}");
    assert!(sidecar(&["--version"], &[]).1.starts_with("mcp-sidecar "));
}

#[test]
fn each_layer_beats_the_one_below_it() {
    let given = given()
        .write("mcp.json", r#"{"mcpServers": {"s": {"command": "from-json"}}}"#)
        .write("a.toml", "hold = \"1s\"\nreplay = \"never\"\n[servers.s]\nprotocol = \"legacy\"")
        .write("b.yaml", "hold: 2s\nexhaustion_linger: 2s\nstop_timeout: 22s\n");
    let path = |name: &str| given.path(name).to_str().expect("UTF-8").to_owned();
    let (json, a, b) = (path("mcp.json"), path("a.toml"), path("b.yaml"));
    let arguments =
        ["config", "show", "--sources", "--mcp-json", &json, "--config", &a, "--config", &b, "--set", "hold=4s"];
    let variables = [("MCP_SIDECAR_HOLD", "3s"), ("MCP_SIDECAR_EXHAUSTION_LINGER", "3s")];
    let (code, stdout, stderr) = sidecar(&arguments, &variables);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    for line in [
        "hold = \"4s\"  # from command line --set hold".to_owned(),
        "exhaustion_linger = \"3s\"  # from environment MCP_SIDECAR_EXHAUSTION_LINGER".to_owned(),
        format!("stop_timeout = \"22s\"  # from file {b}"),
        format!("replay = \"never\"  # from file {a}"),
        format!("command = \"from-json\"  # from MCP JSON file {json}"),
        format!("protocol = \"legacy\"  # from file {a}"),
        "naming = \"prefixed\"  # from default".to_owned(),
    ] {
        assert!(stdout.lines().any(|shown| shown == line), "{line}\nis not in\n{stdout}");
    }
}

#[tokio::test]
async fn a_sidecar_runs_with_what_kubernetes_injects_for_services_of_its_name() {
    let injected = [
        ("MCP_SIDECAR_SERVICE_HOST", "10.0.0.7"),
        ("MCP_SIDECAR_SERVICE_PORT", "9900"),
        ("MCP_SIDECAR_SERVICE_PORT_MCP", "9900"),
        ("MCP_SIDECAR_PORT", "tcp://10.0.0.7:9900"),
        ("MCP_SIDECAR_PORT_9900_TCP", "tcp://10.0.0.7:9900"),
        ("MCP_SIDECAR_PORT_9900_TCP_ADDR", "10.0.0.7"),
        ("TOOLHIVE_SERVICE_HOST", "10.0.0.8"),
        ("TOOLHIVE_PORT", "tcp://10.0.0.8:8080"),
    ];
    let builder = Sidecar::with(stdio("one", &[], ""));
    let builder = injected.into_iter().fold(builder, |builder, (name, value)| builder.environment(name, value));
    let mut sidecar = builder.start().await;
    sidecar.wait_for_state("one", "established").await;
    let log = sidecar.log();
    let warnings: Vec<&str> = log.lines().filter(|line| line.contains("MCP_SIDECAR_SERVICE_HOST")).collect();
    assert!(warnings.len() == 1 && warnings[0].contains("TOOLHIVE_PORT"), "{log}");
    assert_eq!(sidecar.stop().await, Some(0));
}
