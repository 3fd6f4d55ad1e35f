//! A secret appears nowhere.

use secrecy::ExposeSecret as _;

use mcp_sidecar::cli::ShowArgs;
use mcp_sidecar::config;

use super::{Given, SERVER, file, given};

#[test]
fn a_token_may_stand_in_a_file_of_its_own() {
    let given = file(SERVER).write("token", "007\r\n");
    let path = given.path("token");
    let token = |given: &Given| given.settings().token.expect("a token").expose_secret().to_owned();
    let by_variable = given.variable("MCP_SIDECAR_TOKEN_FILE", &path);
    assert_eq!(token(&by_variable), "007");
    let by_file = file(&format!("token_file = {path:?}{SERVER}"));
    assert_eq!(token(&by_file), "007");
    assert_eq!(token(&by_file.variable("MCP_SIDECAR_TOKEN", "above")), "above");
    let both = by_variable.variable("MCP_SIDECAR_TOKEN", "x").error();
    assert!(both.contains("only one of them can count"), "{both}");
}

#[test]
fn a_token_in_a_file_may_refer_to_a_variable() {
    let given = file(&format!("token = \"${{T}}\"{SERVER}"));
    assert!(given.error().contains("uses variable T, which is not set"));
    assert_eq!(given.variable("T", "t").settings().token.expect("a token").expose_secret(), "t");
}

#[test]
fn env_and_headers_may_stand_in_files_of_their_own() {
    let given = given().write("key", "k${T}\n");
    let path = given.path("key");
    let text = format!("[servers.s]\ncommand = \"x\"\nenv = {{ A = {{ file = {path:?} }} }}");
    let given = given.file("c.toml", &text).variable("MCP_SIDECAR_SERVERS__S__ENV__B__FILE", &path);
    let env = given.stdio("s").env;
    assert_eq!((env["A"].expose_secret(), env["B"].expose_secret()), ("k${T}", "k${T}"));
}

/// Every place where a secret may stand, each with a value of its own.
fn full_of_secrets() -> Given {
    let given = given().write("secret", "canary-file");
    let secret = given.path("secret");
    let text = format!(
        "token = \"canary-token\"\n\
         [servers.s]\ncommand = \"${{PREFIX}}srv\"\ncwd = \"/${{NOTHING:-}}\"\n\
         args = [\"-e\", \"T=canary-arg\", \"--key=canary-arg\", \"--token\", \"canary-arg\", \"-pcanary\", \"--${{T}}\"]\n\
         env = {{ A = \"canary-env\", B = \"${{T}}\", C = {{ file = {secret:?} }} }}\n\
         [servers.h]\nurl = \"https://canary-user:canary-password@h/mcp?key=canary-query#canary-fragment\"\n\
         headers = {{ Authorization = \"Bearer canary-header\", X = \"${{T}}\" }}\n\
         [servers.i]\nurl = \"https://h/${{T}}/mcp\"\n"
    );
    given
        .file("c.toml", &text)
        .variable("T", "canary-variable")
        .variable("PREFIX", "/usr/")
        .variable("HTTPS_PROXY", "http://u:canary-proxy@p:1")
        .variable("MCP_SIDECAR_SERVERS__S__ENV__D", "canary-own-variable")
        .set("servers.h.headers.Y=canary-set")
}

#[test]
fn secrets_are_in_no_show_and_no_debug() {
    let given = full_of_secrets();
    let settings = given.settings();
    let Some(mcp_sidecar::config::settings::Transport::Http(http)) = settings.servers.first().map(|s| &s.transport)
    else {
        panic!("{:?}", settings.servers)
    };
    let seen = [
        given.show(true),
        given.show(false),
        format!("{settings:?}"),
        format!("{:?}", given.args),
        format!("{:?}", given.environment()),
        http.display_url().to_owned(),
    ];
    for text in seen {
        assert!(!text.contains("canary"), "{text}");
    }
}

#[test]
fn secrets_are_in_no_error() {
    let breaking = [
        "servers.h.command=canary",
        "servers.s.url=https://canary:canary@h/?canary",
        "servers.s.env=canary",
        "servers.s.args=canary",
        "servers.h.headers=canary",
        "servers.s.env.A={ file = \"/no/such\", text = \"canary\" }",
        "servers.h.url=ftp://canary@h?canary",
        "servers.h.url=//canary@h?canary",
        "servers.h.headers.Mcp-Session-Id=canary",
        "servers.s.envv.A=canary",
        "servers.s.tokn=canary",
        "tokn=canary",
        "token=can ary",
        "token={ fil = \"canary\" }",
        "servers.s.env.\"=\"=canary",
        "servers.s.args=[\"${canary:-\"]",
        "listen={ x = \"canary\" }",
    ];
    for assignment in breaking {
        let errors = full_of_secrets().set(assignment).errors();
        for error in &errors {
            assert!(!error.contains("canary"), "{error}");
        }
    }
}

#[test]
fn show_redacts_but_names_what_there_is() {
    let shown = full_of_secrets().show(true);
    for line in [
        "token = \"***\"",
        "command = \"***srv\"",
        "args = [\"-e\", \"***\", \"--key=***\", \"--token\", \"***\", \"***\", \"***\"]",
        "url = \"https://***@h/mcp?***\"",
        "url = \"https://h/***/mcp\"",
        "A = \"***\"",
        "D = \"***\"  # from environment MCP_SIDECAR_SERVERS__S__ENV__D",
        "Authorization = \"***\"",
    ] {
        assert!(shown.contains(line), "{line}\nis not in\n{shown}");
    }
}

#[test]
fn a_broken_file_does_not_leak_the_line_it_breaks_in() {
    for (name, text) in [("a.toml", "token = canary"), ("a.yaml", "token: \"canary"), ("a.json", "{\"token\": canary}")]
    {
        let given = given().file(name, text);
        let args = ShowArgs { sources: true, config: given.args.clone() };
        let error = config::show(&args, &given.environment()).expect_err("broken").to_string();
        assert!(error.contains(name) && !error.contains("canary"), "{error}");
    }
}
