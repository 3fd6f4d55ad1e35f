//! Command line over environment over later file over earlier file over an agent's JSON over default.

use std::time::Duration;

use super::{SERVER, file, given};

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn a_file_beats_the_default() {
    assert_eq!(file(SERVER).settings().hold, seconds(5));
    assert_eq!(file(&format!("hold = \"6s\"{SERVER}")).settings().hold, seconds(6));
}

#[test]
fn a_later_file_beats_an_earlier_one_key_by_key() {
    let settings = given()
        .file("a.toml", &format!("hold = \"6s\"\nreplay = \"never\"\n[reconnect]\nmax_attempts = 3{SERVER}"))
        .file("b.yaml", "hold: 7s\nreconnect:\n  max_delay: 40s\n")
        .file("c.json", r#"{"exhaustion_linger": "1s"}"#)
        .settings();
    assert_eq!((settings.hold, settings.exhaustion_linger), (seconds(7), seconds(1)));
    assert_eq!(settings.servers[0].reconnect.max_attempts, 3);
    assert_eq!(settings.servers[0].reconnect.max_delay, seconds(40));
}

#[test]
fn the_environment_beats_files() {
    let given = file(&format!("hold = \"6s\"{SERVER}")).variable("MCP_SIDECAR_HOLD", "8s");
    assert_eq!(given.settings().hold, seconds(8));
}

#[test]
fn the_command_line_beats_the_environment() {
    let given = file(SERVER).variable("MCP_SIDECAR_HOLD", "8s").set("hold=9s");
    assert_eq!(given.settings().hold, seconds(9));
    let given = given.variable("MCP_SIDECAR_LISTEN", "127.0.0.1:1").flags(|args| {
        args.listen = Some("127.0.0.1:2".to_owned());
    });
    assert!(given.show(true).contains("listen = \"127.0.0.1:2\"  # from command line --listen\n"));
}

#[test]
fn a_later_set_beats_an_earlier_one_and_a_flag() {
    let given = file(SERVER).set("log.level=warn").set("log.level=debug");
    let given = given.flags(|args| args.log_level = Some("trace".to_owned()));
    assert_eq!(given.settings().log.filter, "debug");
}

#[test]
fn a_file_beats_the_agents_own_json() {
    let json = r#"{"mcpServers": {"s": {"command": "srv"}}}"#;
    assert!(!given().mcp_json("mcp.json", json).server("s").required);
    assert!(given().mcp_json("mcp.json", json).file("c.toml", "[servers.s]\nrequired = true").server("s").required);
}

#[test]
fn every_flag_reaches_its_option() {
    let settings = file(SERVER)
        .flags(|args| {
            args.listen = Some("unix:/run/x.sock".to_owned());
            args.admin = Some("off".to_owned());
            args.state_dir = Some("/var/lib/x".into());
            args.log_format = Some("json".to_owned());
            args.log_level = Some("warn,mcp_sidecar=debug".to_owned());
        })
        .settings();
    assert_eq!(settings.listen, mcp_sidecar::config::settings::ListenAddress::Unix("/run/x.sock".into()));
    assert_eq!(settings.admin, None);
    assert_eq!(settings.state_dir, Some("/var/lib/x".into()));
    assert!(settings.log.json);
    assert_eq!(settings.log.filter, "warn,mcp_sidecar=debug");
}

#[test]
fn a_named_file_that_is_missing_is_an_error_beside_all_others() {
    let given = file(&format!("hold = \"1h\"{SERVER}")).flags(|args| {
        args.config.push("/no/such.toml".into());
        args.mcp_json.push("/no/such.json".into());
    });
    let errors = given.errors().join("\n");
    assert!(errors.contains("config (command line --config): cannot read /no/such.toml: "), "{errors}");
    assert!(errors.contains("mcp-json (command line --mcp-json): cannot read /no/such.json: "), "{errors}");
    assert!(errors.contains("hold = \"1h\""), "{errors}");
}

#[test]
fn a_file_of_unknown_syntax_is_an_error() {
    assert!(given().file("c.ini", "").error().contains("must end in .toml, .yaml, .yml or .json"));
}

#[test]
fn a_variable_names_files_unless_a_flag_does() {
    let given = given().write("v.toml", &format!("hold = \"6s\"{SERVER}"));
    let path = given.path("v.toml");
    let given = given.variable("MCP_SIDECAR_CONFIG", &path);
    assert_eq!(given.settings().hold, seconds(6));
    assert_eq!(given.file("f.toml", SERVER).settings().hold, seconds(5));
}

#[test]
fn every_value_knows_its_layer() {
    let given = given()
        .file("a.toml", &format!("hold = \"6s\"\nreplay = \"never\"{SERVER}timeouts = {{ call = \"1m\" }}\n"))
        .mcp_json("mcp.json", r#"{"servers": {"j": {"url": "http://127.0.0.1:1/mcp"}}}"#)
        .variable("MCP_SIDECAR_RECONNECT__MAX_ATTEMPTS", "7")
        .set("liveness.failures=5");
    let (file, json) = (given.path("a.toml"), given.path("mcp.json"));
    let shown = given.show(true);
    for line in [
        format!("hold = \"6s\"  # from file {}", file.display()),
        "stop_timeout = \"25s\"  # from default".to_owned(),
        "max_attempts = 7  # from environment MCP_SIDECAR_RECONNECT__MAX_ATTEMPTS".to_owned(),
        "failures = 5  # from command line --set liveness.failures".to_owned(),
        format!("[servers.s.timeouts]\ncall = \"1m\"  # from file {}", file.display()),
        format!("url = \"http://127.0.0.1:1/mcp\"  # from MCP JSON file {}", json.display()),
        "required = false  # from default".to_owned(),
    ] {
        assert!(shown.contains(&format!("{line}\n")), "{line}\nis not in\n{shown}");
    }
    assert!(!given.show(false).contains('#'));
}

#[test]
fn what_is_shown_is_a_configuration_again() {
    let given = file(&format!("allowed_hosts = [\"a\"]\n{SERVER}required = false\n[servers.h]\nurl = \"http://h/\"\n"));
    let shown = given.show(true);
    assert_eq!(super::file(&shown).show(false), given.show(false));
}
