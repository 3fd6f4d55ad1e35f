//! One server.

mod http;
mod stdio;

use figment::value::{Dict, Value};

use super::judge::{Judge, Scope};
use super::supervision::{Supervision, supervision};
use crate::config::expand::Expanded;
use crate::config::settings::{ProtocolChoice, ServerSettings, Transport};
use crate::config::violation::Violation;
use crate::config::{suggest, toml_text};

const LONGEST_NAME: usize = 64;

/// All of them, by name.
pub(super) fn servers(judge: &mut Judge<'_>, fail_on_startup_error: bool) -> Vec<ServerSettings> {
    let raw = judge.raw;
    let Some(table) = raw.tree.get("servers").and_then(Value::as_dict) else { return Vec::new() };
    warn_of_case(judge, table);
    table
        .iter()
        .filter(|(_, server)| server.as_dict().is_some())
        .filter_map(|(name, value)| {
            if let Err(problem) = judge_name(name) {
                object::<()>(judge, name, value, problem);
            }
            server(judge, name, value, fail_on_startup_error)
        })
        .collect()
}

/// How a server is reached, before the rest of it is known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Stdio,
    StreamableHttp,
    Sse,
}

fn server(judge: &mut Judge<'_>, name: &str, value: &Value, fail_on_startup_error: bool) -> Option<ServerSettings> {
    let scope = Scope::Server(name);
    let given = |key| judge.find(scope, key).is_some();
    let (has_command, has_url) = (given("servers.NAME.command"), given("servers.NAME.url"));
    let command = judge.expanded(scope, "servers.NAME.command").map(|(command, place)| {
        judge.show(&place);
        command
    });
    let transport = given_transport(judge, name);
    let transport = match (has_command, has_url) {
        (true, true) => object(judge, name, value, "has both a command and a url; a server has exactly one of them"),
        (false, false) => {
            let others = judge.raw.tree.get("servers").and_then(Value::as_dict).into_iter().flat_map(Dict::keys);
            let near = suggest::nearest(name, others.map(String::as_str).filter(|other| *other != name));
            let hint = suggest::did_you_mean(near.map(|near| format!("server {near}")));
            object(
                judge,
                name,
                value,
                format!("has neither a command nor a url; a server has exactly one of them{hint}"),
            )
        }
        (true, false) => of_command(judge, name, command, transport),
        (false, true) => of_url(judge, name, transport),
    };
    let required = judge.bool(scope, "servers.NAME.required").value;
    let eras = [ProtocolChoice::Auto, ProtocolChoice::Legacy, ProtocolChoice::Modern];
    let protocol = judge.choice(scope, "servers.NAME.protocol", eras).value;
    let Supervision { reconnect, timeouts, liveness } = supervision(judge, scope);
    Some(ServerSettings {
        name: name.to_owned(),
        required,
        protocol,
        transport: transport?,
        reconnect,
        timeouts,
        liveness,
        strict_startup: fail_on_startup_error && required,
    })
}

/// The transport that was named, if one was.
fn given_transport(judge: &mut Judge<'_>, name: &str) -> Option<Kind> {
    let scope = Scope::Server(name);
    judge.find(scope, "servers.NAME.transport")?;
    let kinds = [Kind::Stdio, Kind::StreamableHttp, Kind::Sse];
    let judged = judge.choice(scope, "servers.NAME.transport", kinds);
    judged.valid.then_some(judged.value)
}

fn of_command(
    judge: &mut Judge<'_>,
    name: &str,
    command: Option<Expanded>,
    transport: Option<Kind>,
) -> Option<Transport> {
    refuse_keys(judge, name, &["servers.NAME.headers"], "belongs to a server with a url, but this one has a command");
    match transport {
        None | Some(Kind::Stdio) => {}
        Some(Kind::StreamableHttp | Kind::Sse) => {
            refuse_keys(
                judge,
                name,
                &["servers.NAME.transport"],
                "needs a url, but this server has a command; use stdio",
            );
        }
    }
    let settings = stdio::settings(judge, name, command);
    settings.map(Transport::Stdio)
}

fn of_url(judge: &mut Judge<'_>, name: &str, transport: Option<Kind>) -> Option<Transport> {
    let stdio_only = ["servers.NAME.args", "servers.NAME.env", "servers.NAME.cwd"];
    refuse_keys(judge, name, &stdio_only, "belongs to a server with a command, but this one has a url");
    let settings = http::settings(judge, name);
    match transport {
        None | Some(Kind::StreamableHttp) => settings.map(Transport::Http),
        Some(Kind::Sse) => settings.map(Transport::Sse),
        Some(Kind::Stdio) => {
            let problem = "needs a command, but this server has a url; use streamable-http or sse";
            refuse_keys(judge, name, &["servers.NAME.transport"], problem);
            None
        }
    }
}

fn refuse_keys(judge: &mut Judge<'_>, name: &str, keys: &[&str], problem: &str) {
    for key in keys {
        if let Some((_, place)) = judge.find(Scope::Server(name), key) {
            judge.object(&place, problem);
        }
    }
}

/// Public tool names are `{server}__{tool}`.
fn judge_name(name: &str) -> Result<(), String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(allowed) {
        return Err(format!("has an impossible name; use 1 to {LONGEST_NAME} letters, digits, \"_\" and \"-\""));
    }
    if name.contains("__") {
        return Err("has \"__\" in its name, which separates server and tool in public tool names".to_owned());
    }
    Ok(())
}

fn warn_of_case(judge: &mut Judge<'_>, table: &Dict) {
    let folded = |name: &String| name.to_ascii_lowercase().replace('-', "_");
    let mut names: Vec<&String> = table.keys().collect();
    names.sort_by_key(|name| folded(name));
    for pair in names.windows(2) {
        if let [a, b] = pair
            && folded(a) == folded(b)
        {
            judge
                .warnings
                .push(format!("the environment can't tell servers {a} and {b} apart; use --set or a file for them"));
        }
    }
}

/// Reports something about a server as a whole.
fn object<T>(judge: &mut Judge<'_>, name: &str, value: &Value, problem: impl Into<String>) -> Option<T> {
    let violation = Violation::new(toml_text::path(["servers", name]), problem);
    judge.violations.push(violation.from(judge.raw.origin(value)));
    None
}
