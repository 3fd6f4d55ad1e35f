//! Every option there is, in one table: what is read, judged, shown, suggested and documented comes from here.

mod table;

use std::time::Duration;

pub use table::OPTIONS;

use super::duration;

/// Prefix of our environment variables.
pub const ENV_PREFIX: &str = "MCP_SIDECAR_";

/// The part of a key that stands for a server's name.
pub const NAME: &str = "NAME";

/// One option.
#[derive(Clone, Copy, Debug)]
pub struct Opt {
    /// Its path; `NAME` stands for a server's name.
    pub key: &'static str,
    /// What a value looks like, and its range.
    pub kind: Kind,
    /// The value it has when nobody sets it, as text.
    pub default: Option<&'static str>,
    /// The flag that sets it as well.
    pub flag: Option<&'static str>,
    /// What it does, in one sentence.
    pub help: &'static str,
}

/// What a value looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `true` or `false`.
    Bool,
    /// A whole number in a range.
    Count {
        /// Smallest.
        min: u64,
        /// Largest.
        max: u64,
    },
    /// A number with a unit, in a range.
    Duration {
        /// Shortest.
        min: Duration,
        /// Longest.
        max: Duration,
    },
    /// One of some words.
    Choice(&'static [&'static str]),
    /// Any text.
    Text,
    /// A text that is never shown; also `{ file = "…" }`.
    Secret,
    /// A path.
    Path,
    /// A path, or `off`.
    PathOrOff,
    /// A TCP address or a UNIX socket's path.
    Address,
    /// The same, or `off`.
    AddressOrOff,
    /// Permission bits in octal.
    Mode,
    /// A list of texts.
    List,
    /// A list of texts that may hold secrets.
    Arguments,
    /// An `http://` or `https://` URL.
    Url,
    /// A table of texts that are never shown; a value may also be `{ file = "…" }`.
    Secrets,
}

impl Kind {
    /// The allowed values, for a person.
    #[must_use]
    pub fn range(&self) -> String {
        match self {
            Self::Bool => "true or false".to_owned(),
            Self::Count { min, max } => format!("{min} to {max}"),
            Self::Duration { min, max } => format!("{} to {}", duration::show(*min), duration::show(*max)),
            Self::Choice(words) => words.join(", "),
            Self::Text => "text".to_owned(),
            Self::Secret => "text or { file = \"…\" }".to_owned(),
            Self::Path => "path".to_owned(),
            Self::PathOrOff => "path or off".to_owned(),
            Self::Address => "IP:PORT or unix:/path".to_owned(),
            Self::AddressOrOff => "IP:PORT, unix:/path or off".to_owned(),
            Self::Mode => "octal, \"0000\" to \"0777\"".to_owned(),
            Self::List => "list of texts".to_owned(),
            Self::Arguments => "list of texts".to_owned(),
            Self::Url => "http:// or https:// URL".to_owned(),
            Self::Secrets => "table of texts or { file = \"…\" }".to_owned(),
        }
    }
}

impl Opt {
    /// The variable that sets it, e.g. `MCP_SIDECAR_RECONNECT__MAX_ATTEMPTS`; a table is set key by key.
    #[must_use]
    pub fn variable(&self) -> String {
        let key = if self.kind == Kind::Secrets { "__KEY" } else { "" };
        format!("{ENV_PREFIX}{}{key}", self.key.replace('.', "__").to_ascii_uppercase())
    }

    /// Whether it belongs to a server rather than to the whole program.
    #[must_use]
    pub fn of_server(&self) -> bool {
        self.key.starts_with("servers.")
    }

    /// Whether a server's table may hold it as well, to override it for that server.
    #[must_use]
    pub fn overridable(&self) -> bool {
        ["reconnect.", "timeouts.", "liveness."].iter().any(|table| self.key.starts_with(table))
    }
}

/// The option with this key.
#[must_use]
pub fn option(key: &str) -> Option<&'static Opt> {
    OPTIONS.iter().find(|option| option.key == key)
}

/// The table of all options as README shows it.
#[must_use]
pub fn markdown() -> String {
    let mut text = String::from("| option | values | default | environment | what it does |\n|---|---|---|---|---|\n");
    for option in OPTIONS {
        let default = option.default.map(|default| format!("`{default}`")).unwrap_or_default();
        let also = option.flag.map(|flag| format!(", `{flag}`")).unwrap_or_default();
        let help = option.help;
        text.push_str(&format!(
            "| `{}` | {} | {default} | `{}`{also} | {help} |\n",
            option.key,
            option.kind.range(),
            option.variable(),
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_option_stands_twice_and_each_has_a_sentence() {
        for (index, opt) in OPTIONS.iter().enumerate() {
            assert!(OPTIONS[..index].iter().all(|other| other.key != opt.key), "{} stands twice", opt.key);
            assert!(opt.help.ends_with('.') && !opt.help.contains('|'), "{}", opt.key);
        }
    }

    #[test]
    fn variables_are_derived_from_keys() {
        let variable = |key| option(key).unwrap().variable();
        assert_eq!(variable("reconnect.max_attempts"), "MCP_SIDECAR_RECONNECT__MAX_ATTEMPTS");
        assert_eq!(variable("servers.NAME.required"), "MCP_SIDECAR_SERVERS__NAME__REQUIRED");
    }
}
