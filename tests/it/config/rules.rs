//! Each rule that `resolve` knows, broken.

use super::{SERVER, file, given};

/// Options of the whole program, and what is said about them.
#[test]
fn each_bound_and_rule_is_judged_and_named() {
    let cases = [
        ("hold = \"11m\"", "hold = \"11m\" (file FILE): must be 0s to 10m"),
        ("hold = 5", "hold = 5 (file FILE): has no unit; write \"5s\""),
        ("hold = \"5\"", "write \"5s\" for seconds"),
        ("hold = \"soon\"", "is not a duration"),
        ("hold = [\"5s\"]", "must be a text, not a list"),
        (
            "listen = \"0.0.0.0:9900\"",
            "listen = \"0.0.0.0:9900\" (file FILE): is reachable from other machines, which needs a token",
        ),
        ("listen = \"9900\"", "e.g. 127.0.0.1:9900"),
        ("listen = \"off\"", "is not an address to listen on"),
        ("admin = \"of\"", "or off"),
        (
            "admin = \"127.0.0.1:9900\"",
            "admin = \"127.0.0.1:9900\" (file FILE): collides with listen = \"127.0.0.1:9900\" (default)",
        ),
        ("admin = \"0.0.0.0:9900\"", "collides with listen"),
        ("socket_mode = 384", "in octal and in quotes"),
        ("socket_mode = \"9\"", "in octal and in quotes"),
        ("token = \"\"", "token = \"***\" (file FILE): must not be empty"),
        ("token = \"a b\"", "only visible ASCII"),
        ("token = 12345", "token = \"***\" (file FILE): must be a text; put it in quotes"),
        ("token_file = \"/no/such\"", "token = \"***\" (file FILE): cannot read /no/such: "),
        ("token_file = \"/no/such\"\nlisten = \"0.0.0.0:1\"", "cannot read /no/such: "),
        ("token = \"a\"\ntoken_file = \"b\"", "only one of them can count"),
        ("replay = \"always\"", "must be one of never, read-only, idempotent"),
        ("naming = \"plan\"", "naming = \"plan\" (file FILE): must be one of prefixed, plain; did you mean plain?"),
        ("stop_timeout = \"10s\"", "must be at least 11s: timeouts.close of server s plus 1s"),
        ("stop_timeout = \"2h\"", "must be 1s to 1h"),
        ("fail_on_startup_error = \"yes\"", "must be true or false"),
        ("readiness = \"required\"", "must be one of started, required-now, any, none"),
        ("allowed_hosts = 1", "must be a list of texts"),
        ("allowed_hosts = [\"a\", \"http://b\"]", "holds \"http://b\", which should be a host name"),
        ("allowed_origins = \"https://a, b\"", "holds \"b\", which should be an origin"),
        ("log = \"json\"", "log (file FILE): must be a table, not a text"),
        ("log.level = \"inof\"", "did you mean info?"),
        ("log.level = \"a=b=c\"", "is no filter"),
        ("log.format = \"xml\"", "must be one of text, json"),
        ("reconnect.max_attempts = 0", "reconnect.max_attempts = 0 (file FILE): must be a whole number, 1 to 1000"),
        ("reconnect.max_attempts = 1001", "1 to 1000"),
        ("reconnect.max_attempts = 1.5", "1 to 1000"),
        ("reconnect.initial_delay = \"9ms\"", "must be 10ms to 1m"),
        ("reconnect.initial_delay = \"61s\"", "must be 10ms to 1m"),
        ("reconnect.max_delay = \"61m\"", "must be 10ms to 1h"),
        (
            "reconnect.initial_delay = \"40s\"",
            "reconnect.initial_delay = \"40s\" (file FILE): must be at most reconnect.max_delay, which is 30s (default)",
        ),
        ("timeouts.call = \"2h\"", "must be at most timeouts.call_max, which is 1h (default)"),
        ("timeouts.start = \"0s\"", "must be 10ms to 1h"),
        ("liveness.failures = 0", "1 to 100"),
        ("liveness.interval = \"0s\"", "must be 10ms to 1h"),
        ("hodl = \"5s\"", "hodl (file FILE): is no option; did you mean hold?"),
        ("max_attempts = 5", "did you mean reconnect.max_attempts?"),
        ("reconect.max_attempts = 5", "did you mean reconnect?"),
        ("reconnect.max_atempts = 5", "reconnect.max_atempts (file FILE): is no option; did you mean max_attempts?"),
        ("frobnicate = 1", "frobnicate (file FILE): is no option"),
        ("toolhive.mode = \"local\"", "toolhive (file FILE): is not supported by this version"),
        ("toolhive.port = 50001", "is not supported by this version"),
    ];
    for (text, expected) in cases {
        let given = file(&format!("{text}{SERVER}"));
        let expected = expected.replace("FILE", &given.path("c.toml").display().to_string());
        let error = given.error();
        assert!(error.contains(&expected), "{text}\n  {error}\nlacks\n  {expected}");
    }
}

#[test]
fn the_edges_of_each_range_are_allowed() {
    for text in [
        "hold = \"0s\"",
        "hold = \"10m\"",
        "stop_timeout = \"11s\"",
        "reconnect = { max_attempts = 1, initial_delay = \"10ms\", max_delay = \"10ms\" }",
        "reconnect = { max_attempts = 1000, initial_delay = \"60s\", max_delay = \"1h\" }",
        "timeouts = { call = \"1h\" }",
        "token = \"t\"\nlisten = \"0.0.0.0:9900\"",
        "admin = \"0.0.0.0:9901\"",
        "listen = \"[::1]:9900\"",
        "admin = \"off\"",
        "listen = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"",
        "toolhive = { mode = \"off\" }",
        "termination_log = \"off\"",
    ] {
        file(&format!("{text}{SERVER}")).settings();
    }
}

#[test]
fn all_errors_are_reported_at_once() {
    let errors =
        file("hold = \"1h\"\nreplay = \"x\"\nhodl = 1\n[servers.a]\n[servers.b]\nurl = \"x\"\ncommand = \"y\"")
            .variable("MCP_SIDECAR_NOPE", "1")
            .set("naming=x")
            .errors();
    assert_eq!(errors.len(), 7, "{errors:#?}");
}

#[test]
fn a_wrong_general_value_is_reported_once_however_many_servers_inherit_it() {
    let servers: String = (0..5).map(|n| format!("[servers.s{n}]\ncommand = \"x\"\n")).collect();
    file(&format!("reconnect.max_attempts = 0\n{servers}")).error();
    file(&format!("reconnect.initial_delay = \"40s\"\n{servers}")).error();
}

#[test]
fn no_server_is_an_error_for_running_but_not_for_looking() {
    assert!(given().error().contains("--mcp-json FILE"));
    let answer = mcp_sidecar::config::check(&given().args, &given().environment()).expect("no error");
    assert_eq!(answer.text, "ok: 0 servers, 0 required\n");
    assert_eq!(answer.warnings, ["no server is configured, which run refuses"]);
}

#[test]
fn the_command_line_and_variables_are_judged_like_files() {
    let given = file(SERVER).variable("MCP_SIDECAR_HOLD", "5");
    assert!(given.error().starts_with("hold = \"5\" (environment MCP_SIDECAR_HOLD): has no unit"));
    let given = file(SERVER).flags(|args| args.listen = Some("0.0.0.0:1".to_owned()));
    assert!(given.error().starts_with("listen = \"0.0.0.0:1\" (command line --listen): is reachable"));
    let given = file(SERVER).set("hodl=5s");
    assert_eq!(given.error(), "hodl (command line --set hodl): is no option; did you mean hold?");
}

#[test]
fn a_list_of_servers_is_told_to_be_a_table() {
    assert!(file("servers = [\"a\"]").error().contains("servers (file"));
    assert!(file("servers.a = \"x\"").error().contains("must be a table, not a text"));
}
