//! Variables of ours, and those that only look like ours.

use secrecy::ExposeSecret as _;

use super::{SERVER, file, given};

#[test]
fn text_in_a_variable_stays_text() {
    for token in ["12345", "007", "1e3", "true", "${HOME}"] {
        let settings = file(SERVER).variable("MCP_SIDECAR_TOKEN", token).settings();
        assert_eq!(settings.token.expect("a token").expose_secret(), token);
    }
}

#[test]
fn a_variable_reads_as_every_type() {
    let settings = file(SERVER)
        .variable("MCP_SIDECAR_RECONNECT__MAX_ATTEMPTS", "3")
        .variable("MCP_SIDECAR_RECONNECT__JITTER", "false")
        .variable("MCP_SIDECAR_ALLOWED_HOSTS", "a.example, b.example")
        .variable("MCP_SIDECAR_SOCKET_MODE", "0660")
        .variable("MCP_SIDECAR_SERVERS__S__ARGS", "[\"a,b\", \"c\"]")
        .settings();
    assert_eq!(settings.servers[0].reconnect.max_attempts, 3);
    assert!(!settings.servers[0].reconnect.jitter);
    assert_eq!(settings.allowed_hosts, ["a.example", "b.example"]);
    assert_eq!(settings.socket_mode, 0o660);
}

#[test]
fn server_names_in_variables_have_no_case() {
    let given = file("[servers.GitHub-Main]\ncommand = \"srv\"")
        .variable("MCP_SIDECAR_SERVERS__GITHUB_MAIN__REQUIRED", "false")
        .variable("MCP_SIDECAR_SERVERS__github_main__TIMEOUTS__CALL", "7s")
        .variable("MCP_SIDECAR_SERVERS__GITHUB_MAIN__ENV__My__Var", "x");
    let server = given.server("GitHub-Main");
    assert!(!server.required);
    assert_eq!(server.timeouts.call.as_secs(), 7);
    assert_eq!(given.stdio("GitHub-Main").env["My__Var"].expose_secret(), "x");
}

#[test]
fn a_variable_that_could_mean_two_servers_is_refused() {
    let error = file("[servers.a-b]\ncommand = \"x\"\n[servers.A_b]\ncommand = \"y\"")
        .variable("MCP_SIDECAR_SERVERS__A_B__REQUIRED", "false")
        .error();
    assert!(error.contains("MCP_SIDECAR_SERVERS__A_B__REQUIRED") && error.contains("A_b, a-b"), "{error}");
}

#[test]
fn servers_may_come_from_variables_alone() {
    let given = given()
        .variable("MCP_SIDECAR_SERVERS__DOCS__URL", "https://docs.example.com/mcp")
        .variable("MCP_SIDECAR_SERVERS__DOCS__HEADERS__X_API_KEY", "k");
    assert_eq!(given.http("docs").headers["X-API-KEY"].expose_secret(), "k");
}

#[test]
fn a_header_in_a_variable_replaces_the_files_one() {
    let given = file("[servers.d]\nurl = \"http://h/\"\nheaders = { Authorization = \"a\" }")
        .variable("MCP_SIDECAR_SERVERS__D__HEADERS__AUTHORIZATION", "b");
    let headers = given.http("d").headers;
    assert_eq!(headers.len(), 1);
    assert_eq!(headers["Authorization"].expose_secret(), "b");
}

#[test]
fn an_unknown_variable_is_an_error_with_the_likely_name() {
    let error = |name: &str| file(SERVER).variable(name, "canary").error();
    let cases = [
        ("MCP_SIDECAR_HODL", "MCP_SIDECAR_HOLD"),
        ("MCP_SIDECAR_RECONNECT_MAX_ATTEMPTS", "MCP_SIDECAR_RECONNECT__MAX_ATTEMPTS"),
        ("MCP_SIDECAR_SERVERS__S__REQUIERD", "MCP_SIDECAR_SERVERS__S__REQUIRED"),
        ("MCP_SIDECAR_SERVERS__S__TIMEOUTS__CAL", "MCP_SIDECAR_SERVERS__S__TIMEOUTS__CALL"),
    ];
    for (given, meant) in cases {
        let error = error(given);
        assert!(error.starts_with(given) && error.ends_with(&format!("did you mean {meant}?")), "{error}");
        assert!(!error.contains("canary"), "{error}");
    }
    assert!(error("MCP_SIDECAR_PORT").contains("is no variable of this program"));
}

#[test]
fn our_own_markers_are_no_options() {
    let settings = file(SERVER).variable("MCP_SIDECAR_MARK_1", "x").variable("MCP_SIDECAR_MARK", "x").settings();
    assert_eq!(settings.warnings, [""; 0]);
}

#[test]
fn what_kubernetes_injects_is_ignored_with_one_warning() {
    let injected = [
        ("MCP_SIDECAR_SERVICE_HOST", "10.0.0.7"),
        ("MCP_SIDECAR_SERVICE_PORT", "9900"),
        ("MCP_SIDECAR_SERVICE_PORT_MCP", "9900"),
        ("MCP_SIDECAR_PORT", "tcp://10.0.0.7:9900"),
        ("MCP_SIDECAR_PORT_9900_TCP", "tcp://10.0.0.7:9900"),
        ("MCP_SIDECAR_PORT_9900_TCP_PROTO", "tcp"),
        ("MCP_SIDECAR_PORT_9900_TCP_PORT", "9900"),
        ("MCP_SIDECAR_PORT_9900_TCP_ADDR", "10.0.0.7"),
        ("TOOLHIVE_SERVICE_HOST", "10.0.0.8"),
        ("TOOLHIVE_PORT", "tcp://10.0.0.8:8080"),
        ("TOOLHIVE_PORT_8080_TCP_ADDR", "10.0.0.8"),
    ];
    let given = injected.iter().fold(file(SERVER), |given, (name, value)| given.variable(name, value));
    let warnings = given.settings().warnings;
    let [warning] = warnings.as_slice() else { panic!("{warnings:#?}") };
    for (name, _) in injected {
        assert!(warning.contains(name), "{name} is not in {warning}");
    }
}

#[test]
fn toolhive_variables_are_ignored_with_a_warning() {
    let settings = file(SERVER).variable("TOOLHIVE_PORT", "50001").variable("TOOLHIVE_HOST", "h").settings();
    let [warning] = settings.warnings.as_slice() else { panic!("{:?}", settings.warnings) };
    assert!(warning.contains("TOOLHIVE_HOST, TOOLHIVE_PORT"), "{warning}");
}

#[test]
fn toolhive_asked_for_in_our_own_variables_is_refused() {
    let given = file(SERVER).variable("MCP_SIDECAR_TOOLHIVE__MODE", "local");
    assert!(given.error().contains("not supported by this version"));
    file(SERVER).variable("MCP_SIDECAR_TOOLHIVE__MODE", "off").settings();
}

#[test]
fn systemds_state_directory_is_the_default() {
    let given = file(SERVER).variable("STATE_DIRECTORY", "/var/lib/a:/var/lib/b");
    assert_eq!(given.settings().state_dir, Some("/var/lib/a".into()));
    assert_eq!(given.set("state_dir=/c").settings().state_dir, Some("/c".into()));
}

#[test]
fn proxies_are_taken_from_the_environment() {
    let proxy = file(SERVER).variable("HTTPS_PROXY", "http://p:3128").variable("no_proxy", "x").settings().proxy;
    assert_eq!(proxy.https.expect("a proxy").expose_secret(), "http://p:3128");
    assert_eq!((proxy.http.is_none(), proxy.no_proxy.as_deref()), (true, Some("x")));
}
