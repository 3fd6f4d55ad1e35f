//! The process environment as a value: taken once, handed on, replaceable in tests.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;

/// The variables of a process. Debug shows names only: values may be secrets.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment {
    variables: BTreeMap<OsString, OsString>,
}

impl Environment {
    /// That of this process, now.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    pub fn of_process() -> Self {
        std::env::vars_os().collect()
    }

    /// A variable's value, whatever its encoding.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// A variable's value, if it is set and UTF-8.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(OsStr::to_str)
    }

    /// Every variable whose name is UTF-8, sorted by name. Others can't be named by anyone, hence never matter here.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &OsStr)> {
        self.variables.iter().filter_map(|(name, value)| Some((name.to_str()?, value.as_os_str())))
    }
}

impl<N: Into<OsString>, V: Into<OsString>> FromIterator<(N, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Self {
        Self { variables: variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect() }
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.variables.keys()).finish()
    }
}
