//! The layers of a configuration and what they make together: command line over environment over files (a later one
//! over an earlier one) over an agent's own JSON over defaults. Nothing is judged here but what can't be read at all.

mod command_line;
mod defaults;
mod file;
mod kubernetes;
mod mcp_json;
mod syntax;
mod variables;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use figment::value::{Dict, Map, Value};
use figment::{Figment, Metadata, Profile, Provider, Source};

use super::environment::Environment;
use super::violation::Violation;
use crate::cli::ConfigArgs;

/// All layers put together, each value still knowing its own. Values may be secrets: no Debug.
pub struct Raw {
    /// The merged values.
    pub tree: Dict,
    origins: Figment,
}

/// What reading the layers gave.
pub struct Assembled {
    /// The merged layers, without those that could not be read.
    pub raw: Raw,
    /// What could not be read.
    pub violations: Vec<Violation>,
    /// What the operator should hear about although it is no error.
    pub warnings: Vec<String>,
}

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Nobody set it.
    Default,
    /// A configuration file.
    File(PathBuf),
    /// An agent's own JSON.
    McpJson(PathBuf),
    /// An environment variable. Its text is taken as it is: it was put together by whoever set the variable.
    Environment(String),
    /// A flag.
    CommandLine(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "file {}", path.display()),
            Self::McpJson(path) => write!(f, "MCP JSON file {}", path.display()),
            Self::Environment(name) => write!(f, "environment {name}"),
            Self::CommandLine(flag) => write!(f, "command line {flag}"),
        }
    }
}

impl Raw {
    /// The layer a value came from.
    #[must_use]
    pub fn origin(&self, value: &Value) -> Origin {
        let Some(metadata) = self.origins.get_metadata(value.tag()) else { return Origin::Default };
        let name = || metadata.name.to_string();
        match &metadata.source {
            Some(Source::File(path)) if metadata.name == MCP_JSON => Origin::McpJson(path.clone()),
            Some(Source::File(path)) => Origin::File(path.clone()),
            Some(Source::Custom(kind)) if kind == ENVIRONMENT => Origin::Environment(name()),
            Some(Source::Custom(_)) => Origin::CommandLine(name()),
            Some(_) | None => Origin::Default,
        }
    }
}

/// Reads all layers that `args` and `environment` name.
#[must_use]
pub fn assemble(args: &ConfigArgs, environment: &Environment) -> Assembled {
    let mut reader = Reader::default();
    reader.layers.push(defaults::layer());
    reader.layers.extend(defaults::state_directory(environment));
    for (path, named_by) in named(&args.mcp_json, "--mcp-json", variables::MCP_JSON, environment) {
        mcp_json::read(&path, &named_by, &mut reader);
    }
    for (path, named_by) in named(&args.config, "--config", variables::CONFIG, environment) {
        file::read(&path, &named_by, &mut reader);
    }
    reader.refuse_second_definitions();
    let command_line = command_line::layers(args, &mut reader.violations);
    variables::read(environment, &command_line, &mut reader);
    reader.layers.extend(command_line);
    reader.finish()
}

/// One layer, or a part of one that has an origin of its own.
struct Layer {
    origin: Origin,
    values: Dict,
}

/// What has been read so far; later layers win.
#[derive(Default)]
struct Reader {
    layers: Vec<Layer>,
    violations: Vec<Violation>,
    warnings: Vec<String>,
}

const MCP_JSON: &str = "mcp-json";
const ENVIRONMENT: &str = "environment";

impl Reader {
    /// A server is defined by its command or url. Two files that define one name are two servers that want one name;
    /// a file that only changes other options of it is a layer.
    fn refuse_second_definitions(&mut self) {
        let mut definitions: BTreeMap<&str, Vec<&Origin>> = BTreeMap::new();
        for layer in &self.layers {
            for (name, server) in layer.servers() {
                if server.contains_key("command") || server.contains_key("url") {
                    definitions.entry(name).or_default().push(&layer.origin);
                }
            }
        }
        for (name, origins) in definitions.into_iter().filter(|(_, origins)| origins.len() > 1) {
            let all: Vec<String> = origins.iter().map(ToString::to_string).collect();
            let problem =
                format!("is defined more than once, by {}; each server needs a name of its own", all.join(" and "));
            self.violations.push(Violation::new(format!("servers.{name}"), problem));
        }
    }

    fn finish(mut self) -> Assembled {
        for layer in &mut self.layers {
            self.violations.extend(layer.fold_token_file());
        }
        let origins = self.layers.iter().fold(Figment::new(), |figment, layer| figment.merge(layer));
        // Reading them is what could fail, and that is done.
        let tree = origins.data().ok().and_then(|mut profiles| profiles.remove(&Profile::Default)).unwrap_or_default();
        Assembled { raw: Raw { tree, origins }, violations: self.violations, warnings: self.warnings }
    }
}

impl Layer {
    /// The tables of servers that stand in this layer.
    fn servers(&self) -> impl Iterator<Item = (&str, &Dict)> {
        let servers = self.values.get("servers").and_then(Value::as_dict);
        servers.into_iter().flatten().filter_map(|(name, server)| Some((name.as_str(), server.as_dict()?)))
    }

    /// Makes `token_file` a spelling of `token`, so that the higher layer wins whichever of both it uses.
    fn fold_token_file(&mut self) -> Option<Violation> {
        let file = self.values.remove("token_file")?;
        if self.values.contains_key("token") {
            let problem = "stands beside token; only one of them can count";
            return Some(Violation::new("token_file", problem).from(&self.origin));
        }
        self.values.insert("token".to_owned(), Value::from(Dict::from([("file".to_owned(), file)])));
        None
    }
}

impl Provider for &Layer {
    fn metadata(&self) -> Metadata {
        let custom = |name: &str, kind: &str| Metadata::from(name.to_owned(), Source::Custom(kind.to_owned()));
        match &self.origin {
            Origin::Default => Metadata::named("default"),
            Origin::File(path) => Metadata::from("file", Source::File(path.clone())),
            Origin::McpJson(path) => Metadata::from(MCP_JSON, Source::File(path.clone())),
            Origin::Environment(name) => custom(name, ENVIRONMENT),
            Origin::CommandLine(flag) => custom(flag, "command line"),
        }
    }

    fn data(&self) -> figment::Result<Map<Profile, Dict>> {
        Ok(Map::from([(Profile::Default, self.values.clone())]))
    }
}

/// The files that a flag names, or else a variable, with what named them.
fn named(flagged: &[PathBuf], flag: &str, variable: &str, environment: &Environment) -> Vec<(PathBuf, Origin)> {
    if !flagged.is_empty() {
        return flagged.iter().map(|path| (path.clone(), Origin::CommandLine(flag.to_owned()))).collect();
    }
    let value = environment.get(variable).unwrap_or_default();
    std::env::split_paths(value)
        .filter(|path| !path.as_os_str().is_empty())
        .map(|path| (path, Origin::Environment(variable.to_owned())))
        .collect()
}

/// The text of a named file; a missing one is a finding.
fn text_of(path: &Path, field: &str, named_by: &Origin, violations: &mut Vec<Violation>) -> Option<String> {
    match std::fs::read_to_string(path) {
        Ok(text) => Some(text),
        Err(error) => {
            let shown = path.display();
            violations.push(Violation::new(field, format!("cannot read {shown}: {error}")).from(named_by));
            None
        }
    }
}

/// The table that holds nothing but `value` at `path`.
fn nest(path: &[impl AsRef<str>], value: Value) -> Dict {
    match path {
        [] => Dict::new(),
        [key] => Dict::from([(key.as_ref().to_owned(), value)]),
        [key, rest @ ..] => Dict::from([(key.as_ref().to_owned(), Value::from(nest(rest, value)))]),
    }
}
