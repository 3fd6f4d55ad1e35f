//! The JSON that agents already have.

use secrecy::ExposeSecret as _;

use mcp_sidecar::config::settings::Transport;

use super::given;

fn json(text: &str) -> super::Given {
    given().mcp_json("mcp.json", text)
}

#[test]
fn servers_are_read_as_agents_write_them() {
    let given = json(
        r#"{"mcpServers": {
            "fs": {"command": "npx", "args": ["-y", "server", 8080], "env": {"PORT": 8080, "DEBUG": true, "N": null},
                   "cwd": "/", "type": "stdio"},
            "docs": {"url": "https://h/mcp", "headers": {"Authorization": "Bearer ${T}"}, "type": "http"},
            "old": {"url": "https://h/sse", "transport": "SSE"},
            "new": {"url": "https://h/mcp", "type": "streamable-http"}
        }}"#,
    )
    .variable("T", "t");
    let stdio = given.stdio("fs");
    let args: Vec<&str> = stdio.args.iter().map(|arg| arg.expose_secret()).collect();
    assert_eq!(args, ["-y", "server", "8080"]);
    let env: Vec<(&str, &str)> = stdio.env.iter().map(|(name, value)| (name.as_str(), value.expose_secret())).collect();
    assert_eq!(env, [("DEBUG", "true"), ("PORT", "8080")]);
    assert_eq!(given.http("docs").headers["Authorization"].expose_secret(), "Bearer t");
    assert!(matches!(given.server("old").transport, Transport::Sse(_)));
    assert!(matches!(given.server("new").transport, Transport::Http(_)));
    assert!(given.settings().servers.iter().all(|server| !server.required));
    assert_eq!(given.settings().warnings, [""; 0]);
}

#[test]
fn vs_codes_key_is_read_as_well_and_unknown_keys_are_warned_of() {
    let given = json(r#"{"servers": {"a": {"command": "x", "envFile": ".env", "timeout": 5}}, "inputs": []}"#);
    let warnings = given.settings().warnings.join("\n");
    assert!(warnings.contains("unknown keys in") && warnings.contains("inputs"), "{warnings}");
    assert!(warnings.contains("unknown keys of server a in MCP JSON file"), "{warnings}");
    assert!(warnings.contains("envFile, timeout"), "{warnings}");
}

#[test]
fn a_disabled_server_is_left_out_with_a_warning_and_not_judged() {
    let given = json(
        r#"{"mcpServers": {"on": {"command": "x"}, "off": {"command": "${NONE}", "disabled": true},
            "out": {"url": "nonsense", "enabled": false}}}"#,
    );
    assert_eq!(given.settings().servers.len(), 1);
    assert_eq!(given.settings().warnings.len(), 2);
}

#[test]
fn what_cannot_be_meant_is_an_error_that_names_the_file() {
    let cases = [
        ("{}", "must hold one table of servers, mcpServers or servers"),
        (r#"{"mcpServers": {}, "servers": {}}"#, "must hold one table of servers"),
        (r#"{"mcpServers": []}"#, "must hold one table of servers"),
        (r#"{"mcpServers": {"a": 1}}"#, "servers.a (MCP JSON file"),
        (r#"{"mcpServers": {"a": {"command": "${NONE}"}}}"#, "servers.a.command"),
        (
            r#"{"mcpServers": {"a": {"command": "x", "env": {"K": "${input:k}"}}}}"#,
            "servers.a.env.K = \"***\" (MCP JSON file",
        ),
        (r#"{"mcpServers": {"a b": {"command": "x"}}}"#, "impossible name"),
        (r#"{"mcpServers": {"a": {"command": "x", "type": "ws"}}}"#, "must be one of stdio, streamable-http, sse"),
        (r#"{"mcpServers": {"a": {"url": "http://h", "type": "sse", "transport": "http"}}}"#, "contradict each other"),
        ("{\"mcpServers\": {\n// mine\n}}", "is not valid JSON"),
        (r#"{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}"#, "stands twice"),
    ];
    for (text, expected) in cases {
        let given = json(text).file("own.toml", super::SERVER);
        let error = given.error();
        assert!(error.contains(expected) && error.contains("mcp.json"), "{text}\n  {error}\nlacks\n  {expected}");
    }
}
