//! What a server may look like.

use secrecy::ExposeSecret as _;

use mcp_sidecar::config::settings::{ProtocolChoice, Transport};

use super::{file, given};

/// A server's table, and what is said about it.
#[test]
fn each_rule_of_a_server_is_judged_and_named() {
    let cases = [
        ("", "servers.s (file FILE): has neither a command nor a url"),
        ("command = \"x\"\nurl = \"http://h/\"", "servers.s (file FILE): has both a command and a url"),
        ("command = \"\"", "servers.s.command = \"\" (file FILE): must not be empty"),
        ("command = \"${EMPTY}\"", "servers.s.command = \"***\" (file FILE): must not be empty"),
        ("command = [\"npx\", \"x\"]", "must be a text, not a list"),
        ("command = \"x\"\nargs = \"-y\"", "must be a list of texts"),
        ("command = \"x\"\nargs = [1]", "must be a list of texts"),
        (
            "command = \"x\"\nargs = [\"a\", \"${NONE}\"]",
            "servers.s.args.1 = \"***\" (file FILE): uses variable NONE, which is not set",
        ),
        ("command = \"x\"\nenv = { A = 1 }", "servers.s.env.A = \"***\" (file FILE): must be a text; put it in quotes"),
        ("command = \"x\"\nenv = { \"A=B\" = \"x\" }", "impossible name"),
        (
            "command = \"x\"\nenv = { A = \"${NONE}\" }",
            "servers.s.env.A = \"***\" (file FILE): uses variable NONE, which is not set",
        ),
        ("command = \"x\"\nenv = { A = \"${input:key}\" }", "nobody is there to be asked"),
        (
            "command = \"x\"\nenv = { A = { file = \"/no/such\" } }",
            "servers.s.env.A = \"***\" (file FILE): cannot read /no/such",
        ),
        ("command = \"x\"\nenv = { A = { path = \"x\" } }", "must be a text or { file = \"/path\" }"),
        ("command = \"x\"\nenv = \"A=1\"", "servers.s.env = \"***\" (file FILE): must be a table of texts, not a text"),
        (
            "command = \"x\"\ncwd = \"/no/such\"",
            "servers.s.cwd = \"/no/such\" (file FILE): is not an existing directory",
        ),
        ("command = \"x\"\ncwd = \"/etc/passwd\"", "is not an existing directory"),
        ("command = \"x\"\ncwd = \"~/x\"", "write ${HOME}"),
        ("command = \"x\"\nheaders = { A = \"b\" }", "belongs to a server with a url"),
        ("command = \"x\"\ntransport = \"sse\"", "needs a url"),
        ("url = \"http://h/\"\nargs = []", "belongs to a server with a command"),
        ("url = \"http://h/\"\ncwd = \"/\"", "belongs to a server with a command"),
        ("url = \"http://h/\"\ntransport = \"stdio\"", "needs a command"),
        ("url = \"http://h/\"\ntransport = \"ws\"", "must be one of stdio, streamable-http, sse"),
        ("url = \"ftp://h/\"", "servers.s.url = \"ftp://h/\" (file FILE): must begin with http:// or https://"),
        ("url = \"localhost:80/mcp\"", "must begin with http:// or https://"),
        ("url = \"h/mcp\"", "is no URL"),
        ("url = \"http://h/\"\nheaders = { \"a b\" = \"c\" }", "impossible name for a header"),
        (
            "url = \"http://h/\"\nheaders = { A = \"a\\nb\" }",
            "servers.s.headers.A = \"***\" (file FILE): holds a character",
        ),
        ("url = \"http://h/\"\nheaders = { Mcp-Session-Id = \"1\" }", "the sidecar sets itself"),
        ("url = \"http://h/\"\nheaders = { A = \"1\", a = \"2\" }", "holds header a twice"),
        ("command = \"x\"\nrequired = 1", "must be true or false"),
        ("command = \"x\"\nprotocol = \"new\"", "must be one of auto, legacy, modern"),
        ("command = \"x\"\ncomand = \"y\"", "servers.s.comand (file FILE): is no option; did you mean command?"),
        ("command = \"x\"\nhold = \"1s\"", "servers.s.hold (file FILE): is no option"),
        ("command = \"x\"\nreconnect = { max_delay = \"1ms\" }", "servers.s.reconnect.max_delay = \"1ms\""),
        (
            "command = \"x\"\nreconnect = { max_delay = \"100ms\" }",
            "servers.s.reconnect.max_delay = \"100ms\" (file FILE): must be at least reconnect.initial_delay, which is 500ms (default)",
        ),
        ("command = \"x\"\nreconnect = { enable = true }", "did you mean enabled?"),
        (
            "command = \"x\"\ntimeouts = { close = \"25s\" }",
            "stop_timeout = \"25s\" (default): must be at least 26s: timeouts.close of server s",
        ),
        ("command = \"x\"\ntimeouts = \"1s\"", "servers.s.timeouts (file FILE): must be a table, not a text"),
    ];
    for (text, expected) in cases {
        let given = file(&format!("[servers.s]\n{text}")).variable("EMPTY", "");
        let expected = expected.replace("FILE", &given.path("c.toml").display().to_string());
        let error = given.error();
        assert!(error.contains(&expected), "{text}\n  {error}\nlacks\n  {expected}");
    }
}

#[test]
fn names_are_short_plain_and_without_the_separator() {
    let named = |name: &str| file(&format!("[servers.\"{name}\"]\ncommand = \"x\""));
    for name in ["a", "A-b_c9", &"x".repeat(64), "_", "-"] {
        named(name).settings();
    }
    for name in ["", "a b", "a.b", "é", &"x".repeat(65)] {
        assert!(named(name).error().contains("impossible name"), "{name}");
    }
    assert!(named("a__b").error().contains("separates server and tool"));
}

#[test]
fn plain_names_are_for_one_server_only() {
    let one = "naming = \"plain\"\n[servers.a]\ncommand = \"x\"\n";
    file(one).settings();
    assert!(file(&format!("{one}[servers.b]\ncommand = \"x\"")).error().contains("but there are 2"));
}

#[test]
fn one_name_from_two_files_is_an_error_that_names_both() {
    let given = given()
        .file("a.toml", "[servers.s]\ncommand = \"x\"")
        .mcp_json("m.json", r#"{"mcpServers": {"s": {"url": "http://h/"}}}"#);
    let errors = given.errors().join("\n");
    let (a, m) = (given.path("a.toml"), given.path("m.json"));
    let both = format!("is defined more than once, by MCP JSON file {} and file {}", m.display(), a.display());
    assert!(errors.contains(&both), "{errors}");
}

#[test]
fn a_later_file_may_change_a_server_without_defining_it_again() {
    let given = given().file("a.toml", "[servers.s]\ncommand = \"x\"").file("b.toml", "[servers.s]\nrequired = false");
    assert!(!given.server("s").required);
}

#[test]
fn a_misspelt_server_in_an_override_is_told_the_likely_name() {
    let error = file("[servers.github]\ncommand = \"x\"").set("servers.gihub.required=false").error();
    assert!(error.ends_with("did you mean server github?"), "{error}");
}

#[test]
fn names_that_variables_cannot_tell_apart_are_warned_of() {
    let settings = file("[servers.a-b]\ncommand = \"x\"\n[servers.A_B]\ncommand = \"x\"").settings();
    assert!(settings.warnings.iter().any(|warning| warning.contains("A_B and a-b") || warning.contains("a-b and A_B")));
}

#[test]
fn the_transport_follows_from_the_table() {
    let given = file(
        "[servers.a]\ncommand = \"x\"\n[servers.b]\nurl = \"http://h/\"\n[servers.c]\nurl = \"http://h/\"\ntransport = \
         \"sse\"\nprotocol = \"legacy\"",
    );
    let servers = given.settings().servers;
    assert!(matches!(servers[0].transport, Transport::Stdio(_)));
    assert!(matches!(servers[1].transport, Transport::Http(_)));
    assert!(matches!(servers[2].transport, Transport::Sse(_)));
    assert_eq!(servers[2].protocol, ProtocolChoice::Legacy);
}

#[test]
fn a_servers_tables_override_the_general_ones_key_by_key() {
    let given = file(
        "[reconnect]\nmax_attempts = 3\njitter = false\n[servers.s]\ncommand = \"x\"\nreconnect = { max_attempts = 4 }\n\
         timeouts = { call = \"1s\" }\nliveness = { failures = 9 }\n[servers.t]\ncommand = \"x\"",
    );
    let (s, t) = (given.server("s"), given.server("t"));
    assert_eq!((s.reconnect.max_attempts, s.reconnect.jitter, s.timeouts.call.as_secs()), (4, false, 1));
    assert_eq!((s.timeouts.list.as_secs(), s.liveness.failures, s.liveness.timeout.as_secs()), (30, 9, 10));
    assert_eq!((t.reconnect.max_attempts, t.timeouts.call.as_secs(), t.liveness.failures), (3, 300, 3));
}

#[test]
fn strict_start_up_is_for_required_servers() {
    let given = file(
        "fail_on_startup_error = true\n[servers.a]\ncommand = \"x\"\n[servers.b]\ncommand = \"x\"\nrequired = false",
    );
    assert_eq!((given.server("a").strict_startup, given.server("b").strict_startup), (true, false));
}

#[test]
fn variables_are_put_in_once_in_every_text_of_a_server() {
    let given = file(
        "[servers.s]\ncommand = \"${DIR}/srv\"\nargs = [\"--t=${T}\", \"${NONE:-d}\", \"$T\", \"$${T}\"]\ncwd = \"${DIR}\"\n\
         env = { A = \"${env:T}\", B = \"\" }\n[servers.h]\nurl = \"http://${HOST:-h}/\"\nheaders = { Authorization = \
         \"Bearer ${T}\" }",
    )
    .variable("T", "${DIR}")
    .variable("DIR", "/usr");
    let stdio = given.stdio("s");
    assert_eq!(stdio.command, "/usr/srv");
    let args: Vec<&str> = stdio.args.iter().map(|arg| arg.expose_secret()).collect();
    assert_eq!(args, ["--t=${DIR}", "d", "$T", "${T}"]);
    assert_eq!(stdio.cwd, Some("/usr".into()));
    assert_eq!(stdio.env["A"].expose_secret(), "${DIR}");
    assert_eq!(given.http("h").url.as_str(), "http://h/");
    assert_eq!(given.http("h").headers["Authorization"].expose_secret(), "Bearer ${DIR}");
}

#[test]
fn a_child_keeps_path_and_home_whatever_its_env_says() {
    let environment = file("[servers.s]\ncommand = \"npx\"\nenv = { A = \"\", HOME = \"/other\" }")
        .variable("NOTIFY_SOCKET", "/n")
        .variable("MCP_SIDECAR_HOLD", "1s")
        .variable("LC_ALL", "C")
        .stdio("s")
        .environment;
    let environment: Vec<(&str, &str)> =
        environment.iter().map(|(name, value)| (name.as_str(), value.expose_secret())).collect();
    assert_eq!(environment, [("A", ""), ("HOME", "/other"), ("LC_ALL", "C"), ("PATH", "/usr/bin")]);
}

#[test]
fn a_command_that_does_not_exist_is_no_error_and_one_with_spaces_is_warned_of() {
    let warnings = |command: &str| file(&format!("[servers.s]\ncommand = \"{command}\"")).settings().warnings;
    assert_eq!(warnings("/no/such/program"), [""; 0]);
    assert!(warnings("npx -y server")[0].contains("arguments belong into args"));
}
