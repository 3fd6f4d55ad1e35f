//! What a child process needs.

use std::path::PathBuf;

use figment::value::Value;
use secrecy::SecretString;

use crate::config::child_environment;
use crate::config::expand::Expanded;
use crate::config::resolve::judge::{Judge, Place, Scope};
use crate::config::resolve::values;
use crate::config::settings::StdioSettings;
use crate::config::toml_text::{self, HIDDEN};

/// Reads and judges it. A command that does not exist is no error: it may be installed later.
pub(super) fn settings(judge: &mut Judge<'_>, name: &str, command: Option<Expanded>) -> Option<StdioSettings> {
    let scope = Scope::Server(name);
    let args = arguments(judge, scope);
    let env = judge.secrets(scope, "servers.NAME.env", judge_variable);
    let cwd = directory(judge, scope);
    let command = command?.text;
    if command.contains(char::is_whitespace) && !std::path::Path::new(&command).exists() {
        judge.warnings.push(format!("the command of server {name} has spaces in it; arguments belong into args"));
    }
    let mut environment = child_environment::minimal(judge.environment);
    environment.extend(env.iter().map(|(name, value)| (name.clone(), value.clone())));
    Some(StdioSettings { command, args, env, environment, cwd })
}

fn arguments(judge: &mut Judge<'_>, scope: Scope<'_>) -> Vec<SecretString> {
    let Some((value, mut place)) = judge.find(scope, "servers.NAME.args") else { return Vec::new() };
    // A list that came as one text, from a variable, is taken as it is; one in a file has texts of its own.
    let list = values::arguments(value).map_err(|problem| judge.object(&place, problem)).unwrap_or_default();
    let items = value.as_array().unwrap_or_default();
    let mut arguments = Vec::new();
    for (index, text) in list.iter().enumerate() {
        let mut own = Place { path: place.path.clone(), shown: HIDDEN.to_owned(), ..place.clone() };
        own.path.push(index.to_string());
        own.origin = items.get(index).map_or(place.origin.clone(), |item: &Value| judge.raw.origin(item));
        match judge.expand(text, &own) {
            Some(expanded) if expanded.text.contains('\0') => judge.object(&own, "must not hold a NUL character"),
            Some(expanded) => arguments.push((expanded, text)),
            None => {}
        }
    }
    place.shown = toml_text::list(arguments.iter().map(|(expanded, _)| presentable(&expanded.shown)));
    judge.show(&place);
    arguments.into_iter().map(|(expanded, _)| SecretString::from(expanded.text)).collect()
}

/// An argument as it may be shown: the name of a flag at most. Nothing tells `--token abc` and `--port 80`, or
/// `postgres://user:password@host` and the name of a package, apart.
fn presentable(shown: &str) -> String {
    let (flag, value) = match shown.split_once('=') {
        Some((flag, _)) => (flag, "=***"),
        None => (shown, ""),
    };
    let short = |name: &str| name.len() == 1 && name.chars().all(|c| c.is_ascii_alphanumeric());
    let long = |name: &str| name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(word);
    let is_flag = match flag.strip_prefix("--") {
        Some(name) => name.is_empty() || long(name),
        None => flag.strip_prefix('-').is_some_and(short),
    };
    if is_flag { format!("{flag}{value}") } else { "***".to_owned() }
}

fn word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_'
}

fn directory(judge: &mut Judge<'_>, scope: Scope<'_>) -> Option<PathBuf> {
    let (path, place) = judge.path(scope, "servers.NAME.cwd")?;
    if !path.is_dir() {
        let hint = if path.starts_with("~") { "; \"~\" is not expanded, write ${HOME}" } else { "" };
        judge.object(&place, format!("is not an existing directory{hint}"));
        return None;
    }
    // Whatever becomes of our own working directory later.
    std::path::absolute(&path).ok().or(Some(path))
}

fn judge_variable(name: &str, value: &str) -> Result<(), String> {
    if name.is_empty() || name.contains(['=', '\0']) {
        return Err("has an impossible name for an environment variable".to_owned());
    }
    if value.contains('\0') {
        return Err("must not hold a NUL character".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_flags_are_presentable() {
        let cases = [
            ("-y", "-y"),
            ("--", "--"),
            ("--port=80", "--port=***"),
            ("--api-key", "--api-key"),
            ("-e", "-e"),
            ("-psecret", "***"),
            ("T=canary", "***"),
            ("canary", "***"),
            ("-----BEGIN", "***"),
            ("postgres://u:p@h/d?x=y", "***"),
        ];
        for (given, shown) in cases {
            assert_eq!(presentable(given), shown, "{given}");
        }
    }
}
