//! What a configuration means, given files, variables and flags.

mod layers;
mod mcp_json;
mod process;
mod rules;
mod secrets;
mod servers;
mod variables;

use std::path::{Path, PathBuf};

use mcp_sidecar::cli::{ConfigArgs, ShowArgs};
use mcp_sidecar::config::settings::{HttpSettings, ServerSettings, StdioSettings, Transport};
use mcp_sidecar::config::{self, Environment, Settings};

/// One stdio server, so that there is something to run.
const SERVER: &str = "\n[servers.s]\ncommand = \"srv\"\n";

/// A configuration in the making.
struct Given {
    directory: tempfile::TempDir,
    args: ConfigArgs,
    variables: Vec<(String, String)>,
}

fn given() -> Given {
    let directory = tempfile::tempdir().expect("a directory");
    let variables = vec![("PATH".to_owned(), "/usr/bin".to_owned()), ("HOME".to_owned(), "/home/me".to_owned())];
    Given { directory, args: ConfigArgs::default(), variables }
}

/// A configuration file and nothing else.
fn file(text: &str) -> Given {
    given().file("c.toml", text)
}

impl Given {
    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes a file that nobody names yet.
    fn write(self, name: &str, text: &str) -> Self {
        std::fs::write(self.path(name), text).expect("written");
        self
    }

    /// One more `--config`.
    fn file(mut self, name: &str, text: &str) -> Self {
        self.args.config.push(self.path(name));
        self.write(name, text)
    }

    /// One more `--mcp-json`.
    fn mcp_json(mut self, name: &str, text: &str) -> Self {
        self.args.mcp_json.push(self.path(name));
        self.write(name, text)
    }

    fn variable(mut self, name: &str, value: impl AsRef<Path>) -> Self {
        self.variables.push((name.to_owned(), value.as_ref().to_str().expect("UTF-8").to_owned()));
        self
    }

    fn set(mut self, assignment: &str) -> Self {
        self.args.set.push(assignment.parse().expect("an assignment"));
        self
    }

    fn flags(mut self, change: impl FnOnce(&mut ConfigArgs)) -> Self {
        change(&mut self.args);
        self
    }

    fn environment(&self) -> Environment {
        self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
    }

    fn settings(&self) -> Settings {
        config::load_from(&self.args, &self.environment()).unwrap_or_else(|error| panic!("{error}"))
    }

    fn server(&self, name: &str) -> ServerSettings {
        let servers = self.settings().servers;
        servers.into_iter().find(|server| server.name == name).unwrap_or_else(|| panic!("no server {name}"))
    }

    fn stdio(&self, name: &str) -> StdioSettings {
        let Transport::Stdio(stdio) = self.server(name).transport else { panic!("{name} is no stdio server") };
        stdio
    }

    fn http(&self, name: &str) -> HttpSettings {
        let Transport::Http(http) = self.server(name).transport else { panic!("{name} is no HTTP server") };
        http
    }

    /// The errors, one line each.
    fn errors(&self) -> Vec<String> {
        match config::load_from(&self.args, &self.environment()) {
            Ok(settings) => panic!("accepted: {settings:?}"),
            Err(error) => error.violations.iter().map(ToString::to_string).collect(),
        }
    }

    /// The only error.
    fn error(&self) -> String {
        let errors = self.errors();
        let [error] = errors.as_slice() else { panic!("{errors:#?}") };
        error.clone()
    }

    fn show(&self, sources: bool) -> String {
        let args = ShowArgs { sources, config: self.args.clone() };
        config::show(&args, &self.environment()).unwrap_or_else(|error| panic!("{error}")).text
    }
}
