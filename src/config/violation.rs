//! What is wrong with a configuration, one finding at a time.

use std::fmt;

/// One finding. Never holds a secret: whoever makes one decides whether the value may be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Path of the option, e.g. `servers.docs.url`, or the name of a file or variable where no option is concerned.
    pub field: String,
    /// The value as TOML, `"***"` for a secret one, `None` where there is none to show.
    pub value: Option<String>,
    /// Which layer it came from, e.g. `file c.toml`.
    pub origin: Option<String>,
    /// What is wrong, and what would be right: the allowed range, the missing piece, the similar name.
    pub problem: String,
}

impl Violation {
    /// A finding about `field` as a whole.
    #[must_use]
    pub fn new(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { field: field.into(), value: None, origin: None, problem: problem.into() }
    }

    /// With the layer it came from.
    #[must_use]
    pub fn from(mut self, origin: impl fmt::Display) -> Self {
        self.origin = Some(origin.to_string());
        self
    }

    /// With the value as it may be shown.
    #[must_use]
    pub fn value(mut self, shown: impl Into<String>) -> Self {
        self.value = Some(shown.into());
        self
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.field)?;
        if let Some(value) = &self.value {
            write!(f, " = {value}")?;
        }
        if let Some(origin) = &self.origin {
            write!(f, " ({origin})")?;
        }
        write!(f, ": {}", self.problem)
    }
}

/// Everything that is wrong with a configuration, at once; exit code 78.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// At least one, those of one layer together.
    pub violations: Vec<Violation>,
}

impl ConfigError {
    /// Sorts the findings so that those of one layer stand together.
    #[must_use]
    pub fn new(mut violations: Vec<Violation>) -> Self {
        violations.sort_by(|a, b| (&a.origin, &a.field).cmp(&(&b.origin, &b.field)));
        violations.dedup();
        Self { violations }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.violations.len();
        write!(f, "the configuration has {count} {}", if count == 1 { "error" } else { "errors" })?;
        for violation in &self.violations {
            write!(f, "\n  {violation}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_names_field_value_source_and_what_would_be_right() {
        let violation = Violation::new("hold", "must be 0s to 10m").value("\"1h\"").from("file a.toml");
        assert_eq!(violation.to_string(), "hold = \"1h\" (file a.toml): must be 0s to 10m");
    }

    #[test]
    fn findings_of_one_layer_stand_together() {
        let finding = |field: &str, origin: &str| Violation::new(field, "bad").from(origin);
        let error = ConfigError::new(vec![finding("a", "file 2"), finding("b", "file 1"), finding("c", "file 2")]);
        assert_eq!(
            error.to_string(),
            "the configuration has 3 errors\n  b (file 1): bad\n  a (file 2): bad\n  c (file 2): bad"
        );
    }
}
