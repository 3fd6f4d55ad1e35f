//! `mcp-sidecar config check` and `mcp-sidecar config show`.

use std::io::Write as _;

use super::environment::Environment;
use super::resolve::Shown;
use super::settings::Settings;
use super::{ConfigError, judged, toml_text};
use crate::cli::{ConfigArgs, ShowArgs};
use crate::exit;

/// Judges the configuration. Says `ok: …` on stdout and returns 0, or lists all errors on stderr and returns 78.
#[must_use]
pub fn run_check(args: &ConfigArgs) -> u8 {
    report(check(args, &Environment::of_process()))
}

/// Prints the effective configuration as TOML on stdout and returns 0, or lists all errors on stderr and returns 78.
#[must_use]
pub fn run_show(args: &ShowArgs) -> u8 {
    report(show(args, &Environment::of_process()))
}

/// What a command has to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// For stdout.
    pub text: String,
    /// For stderr, one line each.
    pub warnings: Vec<String>,
}

/// `config check` with a given environment.
///
/// # Errors
/// All that is wrong, at once.
pub fn check(args: &ConfigArgs, environment: &Environment) -> Result<Answer, ConfigError> {
    let settings = judged(args, environment)?.settings;
    Ok(Answer { text: summary(&settings), warnings: warnings(settings) })
}

/// `config show` with a given environment.
///
/// # Errors
/// All that is wrong, at once.
pub fn show(args: &ShowArgs, environment: &Environment) -> Result<Answer, ConfigError> {
    let resolved = judged(&args.config, environment)?;
    Ok(Answer { text: document(&resolved.shown, args.sources), warnings: warnings(resolved.settings) })
}

fn report(outcome: Result<Answer, ConfigError>) -> u8 {
    // A closed stdout or stderr leaves nobody to tell.
    match outcome {
        Ok(answer) => {
            for warning in &answer.warnings {
                let _ = writeln!(std::io::stderr(), "warning: {warning}");
            }
            let _ = std::io::stdout().write_all(answer.text.as_bytes());
            exit::CLEAN
        }
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error}");
            exit::CONFIG
        }
    }
}

fn warnings(settings: Settings) -> Vec<String> {
    let nothing = settings.servers.is_empty().then(|| "no server is configured, which run refuses".to_owned());
    settings.warnings.into_iter().chain(nothing).collect()
}

fn summary(settings: &Settings) -> String {
    let count = settings.servers.len();
    let required = settings.servers.iter().filter(|server| server.required).count();
    let servers = if count == 1 { "server" } else { "servers" };
    format!("ok: {count} {servers}, {required} required\n")
}

/// The values as a TOML document: those without a table first, as TOML demands.
fn document(shown: &[Shown], sources: bool) -> String {
    let mut tables: Vec<&[String]> = Vec::new();
    for value in shown {
        if let Some((_, table)) = value.path.split_last()
            && !tables.contains(&table)
        {
            tables.push(table);
        }
    }
    let mut text = String::new();
    for table in tables {
        if !table.is_empty() {
            text.push_str(&format!("\n[{}]\n", toml_text::path(table)));
        }
        for value in shown {
            let Some((key, _)) = value.path.split_last().filter(|(_, own)| *own == table) else { continue };
            text.push_str(&format!("{} = {}", toml_text::key(key), value.value));
            if sources {
                text.push_str(&format!("  # from {}", one_line(&value.origin.to_string())));
            }
            text.push('\n');
        }
    }
    text
}

/// A file's name may hold anything.
fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}
