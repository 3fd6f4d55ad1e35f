//! Request ids.

use std::fmt;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// A request id: a number or a string, nothing else (JSON-RPC 2.0 §4, MCP forbids null).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(untagged)]
pub enum Id {
    /// An integer.
    Number(i64),
    /// A string.
    Text(String),
}

impl Id {
    /// The number that this id is or spells. Some servers give a number back as a string.
    #[must_use]
    pub fn as_number(&self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(text) => text.parse().ok(),
        }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

/// By hand: an untagged derive would buffer the value, and refuse `1.0`, which servers without integers send.
impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(IdVisitor)
    }
}

struct IdVisitor;

impl Visitor<'_> for IdVisitor {
    type Value = Id;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an integer or a string")
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Id, E> {
        Ok(Id::Number(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Id, E> {
        i64::try_from(value).map(Id::Number).map_err(|_| E::invalid_value(Unexpected::Unsigned(value), &self))
    }

    #[expect(clippy::cast_possible_truncation, reason = "whole and within 2^53, which is judged first")]
    fn visit_f64<E: Error>(self, value: f64) -> Result<Id, E> {
        if value.fract() == 0.0 && value.abs() < 9_007_199_254_740_992.0 {
            Ok(Id::Number(value as i64))
        } else {
            Err(E::invalid_value(Unexpected::Float(value), &self))
        }
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Id, E> {
        Ok(Id::Text(value.to_owned()))
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Id, E> {
        Ok(Id::Text(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_an_integer_or_a_string_however_it_is_spelled() {
        let read = |json: &str| serde_json::from_str::<Id>(json).ok();
        assert_eq!(read("7"), Some(Id::Number(7)));
        assert_eq!(read("-7"), Some(Id::Number(-7)));
        assert_eq!(read("7.0"), Some(Id::Number(7)));
        assert_eq!(read(r#""srv-1""#), Some(Id::Text("srv-1".to_owned())));
        for bad in ["7.5", "true", "[1]", "{}", "18446744073709551615"] {
            assert_eq!(read(bad), None, "{bad}");
        }
        assert_eq!(serde_json::from_str::<Option<Id>>("null").ok(), Some(None));
    }

    #[test]
    fn a_string_that_spells_a_number_is_that_number() {
        assert_eq!(Id::Text("1000000000".to_owned()).as_number(), Some(1_000_000_000));
        assert_eq!(Id::Text("srv-1".to_owned()).as_number(), None);
    }
}
