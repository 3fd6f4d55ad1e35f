//! Our environment variables. Their values stay text: `007` and `12345` are what they are.

use std::collections::BTreeMap;

use figment::value::{Dict, Value};

use super::{Layer, Origin, Reader, kubernetes, nest};
use crate::config::environment::Environment;
use crate::config::reference::{ENV_PREFIX, NAME, OPTIONS, option};
use crate::config::suggest;
use crate::config::violation::Violation;

/// Names configuration files, as `--config` does.
pub(super) const CONFIG: &str = "MCP_SIDECAR_CONFIG";
/// Names an agent's JSON files, as `--mcp-json` does.
pub(super) const MCP_JSON: &str = "MCP_SIDECAR_MCP_JSON";
/// What we put into the environment of our own processes to know them again.
const MARKERS: &str = "MCP_SIDECAR_MARK";
const TOOLHIVE: &str = "TOOLHIVE_";
const SERVERS: &str = "SERVERS__";

/// Adds a layer per variable. `command_line` may name servers as well.
pub(super) fn read(environment: &Environment, command_line: &[Layer], reader: &mut Reader) {
    let known = Known::of(reader.layers.iter().chain(command_line));
    let mut injected = Vec::new();
    let mut toolhive = Vec::new();
    for (name, value) in environment.iter() {
        let text = value.to_str();
        if [ENV_PREFIX, TOOLHIVE].iter().any(|prefix| kubernetes::injected(prefix, name, text.unwrap_or_default())) {
            injected.push(name);
        } else if name.starts_with(TOOLHIVE) {
            toolhive.push(name);
        } else if let Some(key) = name.strip_prefix(ENV_PREFIX).filter(|_| !ours(name)) {
            let layer = known.path_of(key).and_then(|path| match text {
                Some(text) => Ok(nest(&path, Value::from(text))),
                None => Err("is not valid UTF-8".to_owned()),
            });
            let origin = Origin::Environment(name.to_owned());
            match layer {
                Ok(values) => reader.layers.push(Layer { origin, values }),
                Err(problem) => reader.violations.push(Violation::new(name, problem).from("environment")),
            }
        }
    }
    reader.refuse_two_tokens();
    if !injected.is_empty() {
        let names = injected.join(", ");
        reader.warnings.push(format!("ignoring variables that Kubernetes sets for a service of our name: {names}"));
    }
    if !toolhive.is_empty() {
        let names = toolhive.join(", ");
        reader.warnings.push(format!("ignoring ToolHive variables, which this version does not support: {names}"));
    }
}

fn ours(name: &str) -> bool {
    name == CONFIG || name == MCP_JSON || name.starts_with(MARKERS)
}

impl Reader {
    /// Two variables are two layers here, but neither is above the other.
    fn refuse_two_tokens(&mut self) {
        let set = |key: &str| {
            let from_variable = |layer: &&Layer| matches!(layer.origin, Origin::Environment(_));
            self.layers.iter().filter(from_variable).any(|layer| layer.values.contains_key(key))
        };
        if set("token") && set("token_file") {
            let problem = "is set beside MCP_SIDECAR_TOKEN; only one of them can count";
            self.violations.push(Violation::new("MCP_SIDECAR_TOKEN_FILE", problem).from("environment"));
        }
    }
}

/// The names that variables may mean, whatever their case: servers, and the headers of each.
struct Known {
    servers: BTreeMap<String, Vec<String>>,
}

impl Known {
    fn of<'a>(layers: impl Iterator<Item = &'a Layer>) -> Self {
        let mut servers: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, server) in layers.flat_map(Layer::servers) {
            let headers = server.get("headers").and_then(Value::as_dict).into_iter().flat_map(Dict::keys);
            servers.entry(name.to_owned()).or_default().extend(headers.cloned());
        }
        Self { servers }
    }

    /// The path of the option that a variable, its prefix stripped, sets.
    fn path_of(&self, key: &str) -> Result<Vec<String>, String> {
        if let Some(rest) = key.strip_prefix(SERVERS) {
            return self.path_in_server(rest);
        }
        let path = key.to_ascii_lowercase().replace("__", ".");
        match option(&path) {
            Some(found) if !found.of_server() => Ok(path.split('.').map(str::to_owned).collect()),
            Some(_) | None if path == "toolhive" || path.starts_with("toolhive.") => {
                Ok(path.split('.').map(str::to_owned).collect())
            }
            Some(_) | None => Err(unknown(key, NAME)),
        }
    }

    fn path_in_server(&self, rest: &str) -> Result<Vec<String>, String> {
        let unknown = || {
            let name = rest.split("__").next().unwrap_or_default();
            unknown(&format!("{SERVERS}{rest}"), name)
        };
        let (name, field) = rest.split_once("__").ok_or_else(unknown)?;
        let name = self.server(name)?;
        let mut path = vec!["servers".to_owned(), name.clone()];
        let (table, entry) = field.split_once("__").unwrap_or((field, ""));
        match table.to_ascii_lowercase().as_str() {
            table @ ("env" | "headers") if !entry.is_empty() => {
                let (entry, file) = match entry.strip_suffix("__FILE") {
                    Some(entry) => (entry, Some("file".to_owned())),
                    None => (entry, None),
                };
                let entry = if table == "headers" { self.header(&name, entry) } else { entry.to_owned() };
                path.extend([table.to_owned(), entry].into_iter().chain(file));
            }
            _ => {
                let key = field.to_ascii_lowercase().replace("__", ".");
                let of_server = option(&format!("servers.{NAME}.{key}")).is_some();
                if !of_server && !option(&key).is_some_and(|option| option.overridable()) {
                    return Err(unknown());
                }
                path.extend(key.split('.').map(str::to_owned));
            }
        }
        Ok(path)
    }

    /// The server that is meant. A name that no file knows is a new server's.
    fn server(&self, given: &str) -> Result<String, String> {
        let folded = |name: &str| name.to_ascii_lowercase().replace('-', "_");
        let matching: Vec<&String> = self.servers.keys().filter(|name| folded(name) == folded(given)).collect();
        match matching.as_slice() {
            [] => Ok(given.to_ascii_lowercase()),
            [name] => Ok((*name).clone()),
            several => {
                let names: Vec<&str> = several.iter().map(|name| name.as_str()).collect();
                Err(format!("could mean any of the servers {}; use --set or a file instead", names.join(", ")))
            }
        }
    }

    /// Names of headers are written with `-`, which variables can't have.
    fn header(&self, server: &str, given: &str) -> String {
        let folded = given.replace('_', "-");
        let known = self.servers.get(server).into_iter().flatten();
        known.into_iter().find(|name| name.eq_ignore_ascii_case(&folded)).cloned().unwrap_or(folded)
    }
}

/// What to say about a variable that sets nothing; `name` is the server it is about, if any.
fn unknown(key: &str, name: &str) -> String {
    let given = format!("{ENV_PREFIX}{key}");
    let variables: Vec<String> = OPTIONS
        .iter()
        .flat_map(|option| {
            let own = option.variable().replacen(NAME, name, usize::from(option.of_server()));
            let overriding = format!("{ENV_PREFIX}{SERVERS}{name}__");
            let in_server = option.overridable().then(|| own.replacen(ENV_PREFIX, &overriding, 1));
            [Some(own), in_server]
        })
        .flatten()
        .collect();
    let candidates = variables.iter().map(String::as_str).chain([CONFIG, MCP_JSON]);
    format!("is no variable of this program{}", suggest::did_you_mean(suggest::nearest(&given, candidates)))
}
