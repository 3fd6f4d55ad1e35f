//! Layers → [`resolve`] → [`settings::Settings`]. Nothing else in the program reads the environment.
//!
//! A value comes from the command line, else from the environment, else from a file (a later one first), else from an
//! agent's own JSON, else it is the default. [`reference`] is the table of all options; everything here that reads,
//! judges, shows, suggests or documents an option takes it from there.

mod address;
mod child_environment;
mod commands;
mod duration;
pub mod environment;
mod expand;
mod layers;
mod proxy;
pub mod reference;
pub mod resolve;
mod secret_file;
pub mod settings;
mod suggest;
mod toml_text;
pub mod violation;

pub use child_environment::{PASSED_ON, PASSED_ON_PREFIXES};
pub use commands::{Answer, check, run_check, run_show, show};
pub use environment::Environment;
pub use layers::Origin;
pub use settings::Settings;
pub use violation::{ConfigError, Violation};

use crate::cli::ConfigArgs;
use resolve::Resolved;

/// Everything `run` needs, from the command line, the process environment and files.
///
/// # Errors
/// All that is wrong, at once; exit code 78.
pub fn load(args: &ConfigArgs) -> Result<Settings, ConfigError> {
    load_from(args, &Environment::of_process())
}

/// The same from a given environment. Where no server is configured that is an error: there is nothing to run.
///
/// # Errors
/// All that is wrong, at once; exit code 78.
pub fn load_from(args: &ConfigArgs, environment: &Environment) -> Result<Settings, ConfigError> {
    let settings = judged(args, environment)?.settings;
    if settings.servers.is_empty() {
        let problem = "none is configured; name a file with --config FILE that has a [servers.NAME] table with a command \
                       or a url, or an agent's own JSON with --mcp-json FILE";
        return Err(ConfigError::new(vec![Violation::new("servers", problem)]));
    }
    Ok(settings)
}

/// The effective values, also without any server.
fn judged(args: &ConfigArgs, environment: &Environment) -> Result<Resolved, ConfigError> {
    let layers::Assembled { raw, mut violations, mut warnings } = layers::assemble(args, environment);
    match resolve::resolve(&raw, environment) {
        Ok(mut resolved) if violations.is_empty() => {
            warnings.append(&mut resolved.settings.warnings);
            resolved.settings.warnings = warnings;
            Ok(resolved)
        }
        Ok(_) => Err(ConfigError::new(violations)),
        Err(more) => {
            violations.extend(more);
            Err(ConfigError::new(violations))
        }
    }
}
