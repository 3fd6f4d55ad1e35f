//! The `mcpServers` / `servers` JSON that agents already have. It is somebody else's file: what we don't know in it is
//! none of our business, and said once.

use std::path::Path;

use figment::value::{Dict, Value};

use super::syntax::Syntax;
use super::{Layer, Origin, Reader, nest, text_of};
use crate::config::toml_text;
use crate::config::violation::Violation;

/// Keys that mean the same in our own files.
const SAME: [&str; 6] = ["command", "args", "env", "cwd", "url", "headers"];
/// Keys that are read here.
const KNOWN: [&str; 4] = ["type", "transport", "disabled", "enabled"];

/// Reads one file into a layer, and the default that its servers are not required into the layer below.
pub(super) fn read(path: &Path, named_by: &Origin, reader: &mut Reader) {
    let Some(text) = text_of(path, "mcp-json", named_by, &mut reader.violations) else { return };
    let file = path.display().to_string();
    let mut top = match Syntax::Json.parse(&text) {
        Ok(top) => top,
        Err(problem) => return reader.violations.push(Violation::new(file, problem).from(named_by)),
    };
    let found: Vec<Value> = ["mcpServers", "servers"].iter().filter_map(|key| top.remove(*key)).collect();
    let [Value::Dict(_, servers)] = found.as_slice() else {
        let problem = "must hold one table of servers, mcpServers or servers";
        return reader.violations.push(Violation::new(file, problem).from(named_by));
    };
    if !top.is_empty() {
        reader.warnings.push(format!("ignoring unknown keys in {file}: {}", listed(&top)));
    }
    let origin = Origin::McpJson(path.to_owned());
    let mut translated = Dict::new();
    for (name, server) in servers {
        match server {
            Value::Dict(_, server) => translated.extend(translate(name, server, &origin, reader)),
            _ => reader.violations.push(Violation::new(format!("servers.{name}"), "must be a table").from(&origin)),
        }
    }
    let optional = translated.keys().map(|name| (name.clone(), Value::from(nest(&["required"], Value::from(false)))));
    let optional = Value::from(optional.collect::<Dict>());
    reader.layers.push(Layer { origin: Origin::Default, values: nest(&["servers"], optional) });
    reader.layers.push(Layer { origin, values: nest(&["servers"], Value::from(translated)) });
}

/// One server in our own words, unless it is switched off.
fn translate(name: &str, server: &Dict, origin: &Origin, reader: &mut Reader) -> Option<(String, Value)> {
    let flag = |key: &str| server.get(key).and_then(Value::to_bool);
    if flag("disabled") == Some(true) || flag("enabled") == Some(false) {
        reader.warnings.push(format!("leaving out server {name}, which {origin} disables"));
        return None;
    }
    let mut ours = Dict::new();
    let mut unknown = Dict::new();
    for (key, value) in server.iter().filter(|(_, value)| !matches!(value, Value::Empty(..))) {
        if SAME.contains(&key.as_str()) {
            ours.insert(key.clone(), texts(value));
        } else if !KNOWN.contains(&key.as_str()) {
            unknown.insert(key.clone(), value.clone());
        }
    }
    if !unknown.is_empty() {
        let keys = listed(&unknown);
        reader.warnings.push(format!("ignoring unknown keys of server {name} in {origin}: {keys}"));
    }
    match ["type", "transport"].map(|key| server.get(key).map(transport)) {
        [Some(a), Some(b)] if a != b => {
            let problem = "has a type and a transport that contradict each other";
            reader.violations.push(Violation::new(format!("servers.{name}"), problem).from(origin));
        }
        [Some(transport), _] | [None, Some(transport)] => {
            ours.insert("transport".to_owned(), transport);
        }
        [None, None] => {}
    }
    Some((name.to_owned(), Value::from(ours)))
}

/// Streamable HTTP goes by several names.
fn transport(value: &Value) -> Value {
    match value.as_str().map(|word| word.to_ascii_lowercase().replace('_', "-")) {
        Some(word) if matches!(word.as_str(), "http" | "streamablehttp") => Value::from("streamable-http"),
        Some(word) => Value::from(word),
        None => value.clone(),
    }
}

/// Numbers and truth values where agents expect texts: `"env": { "PORT": 8080 }`. JSON spells these in one way only, so
/// nothing is lost; a fraction might be.
fn texts(value: &Value) -> Value {
    match value {
        Value::Bool(_, it) => Value::from(it.to_string()),
        Value::Num(_, number) => toml_text::whole(number).map_or_else(|| value.clone(), Value::from),
        Value::Array(tag, items) => Value::Array(*tag, items.iter().map(texts).collect()),
        Value::Dict(tag, entries) => {
            let entries = entries.iter().filter(|(_, value)| !matches!(value, Value::Empty(..)));
            Value::Dict(*tag, entries.map(|(key, value)| (key.clone(), texts(value))).collect())
        }
        Value::String(..) | Value::Char(..) | Value::Empty(..) => value.clone(),
    }
}

fn listed(table: &Dict) -> String {
    table.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
}
