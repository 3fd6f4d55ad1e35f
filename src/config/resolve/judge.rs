//! Looks options up, reads them by the option table, and collects what is wrong and what may be shown.

use std::path::PathBuf;
use std::time::Duration;

use figment::value::{Dict, Value};

use super::{Shown, values};
use crate::config::environment::Environment;
use crate::config::expand::{self, Expanded};
use crate::config::layers::{Origin, Raw};
use crate::config::reference::{Kind, NAME, Opt, option};
use crate::config::toml_text::{self, HIDDEN};
use crate::config::violation::Violation;

/// Collects while it reads.
pub(super) struct Judge<'a> {
    pub(super) raw: &'a Raw,
    pub(super) environment: &'a Environment,
    pub(super) violations: Vec<Violation>,
    pub(super) warnings: Vec<String>,
    pub(super) shown: Vec<Shown>,
}

/// Whose option is meant.
#[derive(Clone, Copy)]
pub(super) enum Scope<'s> {
    /// The whole program's.
    Program,
    /// A server's, falling back to the whole program's where it has none of its own.
    Server(&'s str),
}

/// Where a value stands.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) path: Vec<String>,
    pub(super) origin: Origin,
    /// The value as it may be shown.
    pub(super) shown: String,
    /// A server's value that is really the whole program's: judged and shown there.
    pub(super) inherited: bool,
}

/// A value that was read, and where it stands. Not valid = reported already, the default stands in.
pub(super) struct Judged<T> {
    pub(super) value: T,
    pub(super) place: Place,
    pub(super) valid: bool,
}

impl<'a> Judge<'a> {
    pub(super) fn new(raw: &'a Raw, environment: &'a Environment) -> Self {
        Self { raw, environment, violations: Vec::new(), warnings: Vec::new(), shown: Vec::new() }
    }

    /// Reports what is wrong with the value at `place`.
    pub(super) fn object(&mut self, place: &Place, problem: impl Into<String>) {
        let violation = Violation::new(toml_text::path(&place.path), problem).from(&place.origin);
        self.violations.push(violation.value(&place.shown));
    }

    /// Remembers the value at `place` for `config show`.
    pub(super) fn show(&mut self, place: &Place) {
        let Place { path, origin, shown, inherited: _ } = place.clone();
        self.shown.push(Shown { path, value: shown, origin });
    }

    pub(super) fn bool(&mut self, scope: Scope<'_>, key: &'static str) -> Judged<bool> {
        self.read(scope, key, |_, value| values::bool(value), false)
    }

    /// A whole number in the table's range.
    pub(super) fn count(&mut self, scope: Scope<'_>, key: &'static str) -> Judged<u32> {
        let read = |kind: Kind, value: &Value| {
            let Kind::Count { min, max } = kind else { return Err(not_of_this_kind()) };
            values::count(value, min, max).map(|number| u32::try_from(number).unwrap_or(u32::MAX))
        };
        self.read(scope, key, read, 1)
    }

    /// A duration in the table's range.
    pub(super) fn duration(&mut self, scope: Scope<'_>, key: &'static str) -> Judged<Duration> {
        let read = |kind: Kind, value: &Value| {
            let Kind::Duration { min, max } = kind else { return Err(not_of_this_kind()) };
            values::duration(value, min, max)
        };
        self.read(scope, key, read, Duration::ZERO)
    }

    /// One of the table's words; `meanings` in their order.
    pub(super) fn choice<T: Copy, const N: usize>(
        &mut self,
        scope: Scope<'_>,
        key: &'static str,
        meanings: [T; N],
    ) -> Judged<T> {
        let read = |kind: Kind, value: &Value| {
            let Kind::Choice(words) = kind else { return Err(not_of_this_kind()) };
            debug_assert_eq!(words.len(), N, "{key}");
            values::choice(value, words).and_then(|index| meanings.get(index).copied().ok_or_else(not_of_this_kind))
        };
        self.read(scope, key, read, meanings[0])
    }

    /// Texts of a list that is no secret; `judge_entry` says what an entry should be, if it isn't.
    pub(super) fn list(
        &mut self,
        scope: Scope<'_>,
        key: &'static str,
        judge_entry: impl Fn(&str) -> Result<(), &'static str>,
    ) -> Vec<String> {
        let read = |_, value: &Value| {
            let list = values::list(value)?;
            let wrong = list.iter().find_map(|entry| Some((entry, judge_entry(entry).err()?)));
            match wrong {
                Some((entry, right)) => Err(format!("holds {}, which should be {right}", toml_text::quoted(entry))),
                None => Ok(list),
            }
        };
        self.read(scope, key, read, Vec::new()).value
    }

    /// Reads an option that has a default.
    pub(super) fn read<T>(
        &mut self,
        scope: Scope<'_>,
        key: &'static str,
        read: impl Fn(Kind, &Value) -> Result<T, String>,
        last_resort: T,
    ) -> Judged<T> {
        let kind = option(key).map_or(Kind::Text, |option| option.kind);
        let default = || option(key).and_then(|option| read(kind, &Value::from(option.default?)).ok());
        if let Some((value, place)) = self.find(scope, key) {
            match read(kind, value) {
                Ok(value) => {
                    if !place.inherited {
                        self.show(&place);
                    }
                    return Judged { value, place, valid: true };
                }
                Err(problem) if !place.inherited => self.object(&place, problem),
                Err(_) => {}
            }
            return Judged { value: default().unwrap_or(last_resort), place, valid: false };
        }
        let default_text = option(key).and_then(|option| option.default).unwrap_or_default();
        let place = Place {
            path: path(scope, key),
            origin: Origin::Default,
            shown: plain(kind, &Value::from(default_text)),
            inherited: false,
        };
        self.show(&place);
        Judged { value: default().unwrap_or(last_resort), place, valid: true }
    }

    /// A text without a default, `None` where nobody set it or it is none.
    pub(super) fn text(&mut self, scope: Scope<'_>, key: &'static str) -> Option<(&'a str, Place)> {
        let (value, place) = self.find(scope, key)?;
        match values::text(value) {
            Ok("") => self.object(&place, "must not be empty"),
            Ok(text) if text.contains('\0') => self.object(&place, "must not hold a NUL character"),
            Ok(text) => return Some((text, place)),
            Err(problem) => self.object(&place, problem),
        }
        None
    }

    /// The same with variables put in, and shown.
    pub(super) fn expanded(&mut self, scope: Scope<'_>, key: &'static str) -> Option<(Expanded, Place)> {
        let (text, mut place) = self.text(scope, key)?;
        let expanded = self.expand(text, &place)?;
        if option(key).is_some_and(|option| option.kind != Kind::Url) {
            place.shown = toml_text::quoted(&expanded.shown);
        }
        if expanded.text.is_empty() {
            self.object(&place, "must not be empty");
            return None;
        }
        Some((expanded, place))
    }

    /// A path, with variables put in.
    pub(super) fn path(&mut self, scope: Scope<'_>, key: &'static str) -> Option<(PathBuf, Place)> {
        let (expanded, place) = self.expanded(scope, key)?;
        self.show(&place);
        Some((PathBuf::from(expanded.text), place))
    }

    /// Puts variables into a text that came from a file or the command line.
    pub(super) fn expand(&mut self, text: &str, place: &Place) -> Option<Expanded> {
        if matches!(place.origin, Origin::Environment(_)) {
            return Some(Expanded::literal(text));
        }
        expand::expand(text, self.environment).map_err(|problem| self.object(place, problem)).ok()
    }

    /// The value that counts, if anybody set one.
    pub(super) fn find(&self, scope: Scope<'_>, key: &str) -> Option<(&'a Value, Place)> {
        let own = path(scope, key);
        let (value, path, inherited) = match self.at(&own) {
            Some(value) => (value, own, false),
            None => {
                let general = path_of(key);
                (self.at(&general).filter(|_| option(key).is_some_and(Opt::overridable))?, general, true)
            }
        };
        let kind = option(key).map_or(Kind::Secret, |option| option.kind);
        Some((value, Place { path, origin: self.raw.origin(value), shown: plain(kind, value), inherited }))
    }

    fn at(&self, path: &[String]) -> Option<&'a Value> {
        let (last, tables) = path.split_last()?;
        let mut table: &Dict = &self.raw.tree;
        for key in tables {
            table = table.get(key)?.as_dict()?;
        }
        table.get(last)
    }
}

fn path_of(key: &str) -> Vec<String> {
    key.split('.').map(str::to_owned).collect()
}

/// The path of an option for somebody: `servers.NAME.x` and `reconnect.x` both become `servers.<name>.…`.
pub(super) fn path(scope: Scope<'_>, key: &str) -> Vec<String> {
    match scope {
        Scope::Program => path_of(key),
        Scope::Server(name) => {
            let prefix = format!("servers.{NAME}.");
            let rest = path_of(key.strip_prefix(&prefix).unwrap_or(key));
            ["servers".to_owned(), name.to_owned()].into_iter().chain(rest).collect()
        }
    }
}

/// A value as it may be shown before it has been read.
fn plain(kind: Kind, value: &Value) -> String {
    match (kind, value) {
        (Kind::Secret | Kind::Secrets | Kind::Arguments | Kind::Url, _) => HIDDEN.to_owned(),
        (Kind::Bool | Kind::Count { .. }, Value::String(_, text)) if is_scalar(text) => text.trim().to_owned(),
        (Kind::List, Value::String(..)) => {
            values::list(value).map_or_else(|_| toml_text::value(value), toml_text::list)
        }
        (
            Kind::Bool
            | Kind::Count { .. }
            | Kind::Duration { .. }
            | Kind::Choice(_)
            | Kind::Text
            | Kind::Path
            | Kind::PathOrOff
            | Kind::Address
            | Kind::AddressOrOff
            | Kind::Mode
            | Kind::List,
            Value::Dict(..),
        ) => "{ … }".to_owned(),
        (_, value) => toml_text::value(value),
    }
}

/// A truth value or number that came as text.
fn is_scalar(text: &str) -> bool {
    matches!(text.trim(), "true" | "false") || text.trim().parse::<u64>().is_ok()
}

/// Only a key that the table knows differently gets here, which the tests of `program` and `server` rule out.
fn not_of_this_kind() -> String {
    "is read differently than the option table says".to_owned()
}
