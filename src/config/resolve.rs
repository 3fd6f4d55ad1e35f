//! The one place where a configuration is judged, whoever built it: every bound and every rule between options. All
//! findings are collected; nothing stops at the first.

mod endpoints;
mod judge;
mod program;
mod secrets;
mod server;
mod supervision;
mod unknown;
mod values;

use super::environment::Environment;
use super::layers::{Origin, Raw};
use super::settings::Settings;
use super::violation::Violation;

/// A judged configuration.
#[derive(Debug)]
pub struct Resolved {
    /// What the program runs with.
    pub settings: Settings,
    /// The same for people, in the order of the option table.
    pub shown: Vec<Shown>,
}

/// One effective value as it may be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Its path.
    pub path: Vec<String>,
    /// The value as TOML, secrets redacted.
    pub value: String,
    /// Which layer it came from.
    pub origin: Origin,
}

/// Judges the merged layers.
///
/// # Errors
/// Every rule that is broken.
pub fn resolve(raw: &Raw, environment: &Environment) -> Result<Resolved, Vec<Violation>> {
    let mut judge = judge::Judge::new(raw, environment);
    unknown::refuse(&mut judge);
    let settings = program::settings(&mut judge);
    if judge.violations.is_empty() { Ok(Resolved { settings, shown: judge.shown }) } else { Err(judge.violations) }
}
