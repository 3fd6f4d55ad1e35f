//! Options that do not exist, and tables that are none.

use figment::value::{Dict, Value};

use super::judge::Judge;
use crate::config::reference::{NAME, OPTIONS, Opt};
use crate::config::violation::Violation;
use crate::config::{suggest, toml_text};

/// Reports every key that no option has.
pub(super) fn refuse(judge: &mut Judge<'_>) {
    let raw = judge.raw;
    for (key, value) in &raw.tree {
        match (key.as_str(), value) {
            ("toolhive", value) => toolhive(judge, value),
            ("servers", Value::Dict(_, servers)) => {
                for (name, server) in servers {
                    walk_server(judge, name, server);
                }
            }
            _ => walk(judge, &[], key, value, &|option| (!option.of_server()).then_some(option.key)),
        }
    }
}

fn walk_server(judge: &mut Judge<'_>, name: &str, server: &Value) {
    let at = ["servers".to_owned(), name.to_owned()];
    let Value::Dict(_, table) = server else {
        return not_a_table(judge, &at, server);
    };
    let prefix = format!("servers.{NAME}.");
    for (key, value) in table {
        walk(judge, &at, key, value, &|option| {
            option.key.strip_prefix(&prefix).or_else(|| option.overridable().then_some(option.key))
        });
    }
}

/// One key: an option, a table of options, or an error. `allowed` gives the key an option has in this place, if any.
fn walk(
    judge: &mut Judge<'_>,
    at: &[String],
    key: &str,
    value: &Value,
    allowed: &dyn Fn(&'static Opt) -> Option<&'static str>,
) {
    let keys: Vec<&str> = OPTIONS.iter().filter_map(allowed).collect();
    let path: Vec<String> = at.iter().cloned().chain([key.to_owned()]).collect();
    if keys.contains(&key) {
        return;
    }
    let inside: Vec<&str> = keys.iter().filter_map(|option| option.strip_prefix(key)?.strip_prefix('.')).collect();
    let (true, Value::Dict(_, table)) = (!inside.is_empty(), value) else {
        return if inside.is_empty() && !(at.is_empty() && key == "servers") {
            no_such_option(judge, &path, key, value, &keys);
        } else {
            not_a_table(judge, &path, value);
        };
    };
    for (key, value) in table {
        if !inside.contains(&key.as_str()) {
            let path: Vec<String> = path.iter().cloned().chain([key.clone()]).collect();
            no_such_option(judge, &path, key, value, &inside);
        }
    }
}

/// The value is not repeated: a misspelt `token` is a secret still.
fn no_such_option(judge: &mut Judge<'_>, path: &[String], key: &str, value: &Value, siblings: &[&str]) {
    let tables = siblings.iter().map(|sibling| sibling.split('.').next().unwrap_or(sibling));
    let servers = (path.len() == 1).then_some("servers");
    let near = suggest::nearest(key, tables.chain(servers)).map(str::to_owned);
    // Right word, wrong table.
    let elsewhere = || OPTIONS.iter().map(|option| option.key).find(|known| known.rsplit('.').next() == Some(key));
    let hint = suggest::did_you_mean(near.or_else(|| elsewhere().map(str::to_owned)));
    let violation = Violation::new(toml_text::path(path), format!("is no option{hint}"));
    judge.violations.push(violation.from(judge.raw.origin(value)));
}

fn not_a_table(judge: &mut Judge<'_>, path: &[String], value: &Value) {
    let violation = Violation::new(toml_text::path(path), super::values::wrong_type("a table", value));
    judge.violations.push(violation.from(judge.raw.origin(value)));
}

/// Somebody who configures ToolHive must not believe that it is looked for.
fn toolhive(judge: &mut Judge<'_>, value: &Value) {
    let off = |table: &Dict| table.len() == 1 && table.get("mode").and_then(Value::as_str) == Some("off");
    if !value.as_dict().is_some_and(off) {
        let violation =
            Violation::new("toolhive", "is not supported by this version; remove it or set mode = \"off\" only");
        judge.violations.push(violation.from(judge.raw.origin(value)));
    }
}
