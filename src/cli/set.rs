//! `--set key.path=value`.

use std::str::FromStr;

/// One `--set`: a path as TOML spells it (`servers.docs.headers."X.Y"`) and a value. The value is read as TOML (`20`,
/// `true`, `["a", "b"]`), and as plain text where it is no TOML. Its Debug hides the value, which may be a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The path, as typed.
    pub key: String,
    /// The value, as typed.
    pub value: String,
}

impl FromStr for Assignment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() => {
                Ok(Self { key: key.trim().to_owned(), value: value.to_owned() })
            }
            Some(_) | None => Err("write it as key.path=value, e.g. hold=2s or reconnect.max_attempts=20".to_owned()),
        }
    }
}

impl std::fmt::Debug for Assignment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}=***", self.key)
    }
}
