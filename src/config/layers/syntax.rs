//! Text to values. Errors say where, never what: a line of a configuration file may be a secret.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use figment::providers::{Format as _, Json, Toml, Yaml};
use figment::value::{Dict, Value};
use serde::Deserialize;
use serde::de::{Deserializer, EnumAccess, Error as _, IgnoredAny, MapAccess, SeqAccess, VariantAccess as _, Visitor};

/// A language that configuration is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syntax {
    Toml,
    Yaml,
    Json,
}

impl Syntax {
    /// By the name's ending.
    pub(super) fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "toml" => Some(Self::Toml),
            "yaml" | "yml" => Some(Self::Yaml),
            "json" => Some(Self::Json),
            _ => None,
        }
    }

    /// Reads a table.
    pub(super) fn parse(self, text: &str) -> Result<Dict, String> {
        let value = match self {
            Self::Toml => Toml::from_str::<Dict>(text).map(Value::from).map_err(|error| {
                format!("is not valid TOML: {}{}", error.message(), position(text, error.span().map(|span| span.start)))
            }),
            Self::Yaml => Yaml::from_str::<Unique>(text)
                .and_then(|Unique| Yaml::from_str(text))
                .map_err(|error| format!("is not valid YAML: {error}")),
            Self::Json => Json::from_str::<Unique>(text)
                .and_then(|Unique| Json::from_str(text))
                .map_err(|error| format!("is not valid JSON: {error}")),
        }?;
        match value {
            Value::Dict(_, dict) => Ok(dict),
            Value::Empty(..) => Ok(Dict::new()),
            Value::String(..) | Value::Char(..) | Value::Bool(..) | Value::Num(..) | Value::Array(..) => {
                Err("must hold a table of options at its top".to_owned())
            }
        }
    }
}

fn position(text: &str, offset: Option<usize>) -> String {
    let Some(before) = offset.and_then(|offset| text.get(..offset)) else { return String::new() };
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    format!(" at line {line} column {column}")
}

/// Proof that no table has one key twice, where JSON and YAML readers would silently take the last one.
struct Unique;

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueVisitor)
    }
}

struct UniqueVisitor;

impl<'de> Visitor<'de> for UniqueVisitor {
    type Value = Unique;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Unique, A::Error> {
        let mut keys = BTreeSet::new();
        while let Some(key) = map.next_key::<String>()? {
            map.next_value::<Unique>()?;
            if let Some(twice) = keys.replace(key) {
                return Err(A::Error::custom(format!("key \"{}\" stands twice in one table", twice.escape_debug())));
            }
        }
        Ok(Unique)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Unique, A::Error> {
        while seq.next_element::<Unique>()?.is_some() {}
        Ok(Unique)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_i128<E>(self, _: i128) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_u128<E>(self, _: u128) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_str<E>(self, _: &str) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_unit<E>(self) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_none<E>(self) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Unique, D::Error> {
        Unique::deserialize(deserializer)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<Unique, A::Error> {
        data.variant::<IgnoredAny>().and_then(|(_, variant)| variant.newtype_variant())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_decides_the_syntax() {
        assert_eq!(Syntax::of(Path::new("a.TOML")), Some(Syntax::Toml));
        assert_eq!(Syntax::of(Path::new("a.yml")), Some(Syntax::Yaml));
        assert_eq!(Syntax::of(Path::new("a.json")), Some(Syntax::Json));
        assert_eq!(Syntax::of(Path::new("a.ini")), None);
        assert_eq!(Syntax::of(Path::new("toml")), None);
    }

    #[test]
    fn all_three_say_the_same() {
        let toml = Syntax::Toml.parse("hold = \"1s\"\n[log]\nformat = \"json\"").unwrap();
        assert_eq!(toml, Syntax::Yaml.parse("hold: 1s\nlog:\n  format: json\n").unwrap());
        assert_eq!(toml, Syntax::Json.parse(r#"{"hold": "1s", "log": {"format": "json"}}"#).unwrap());
        assert_eq!(Syntax::Yaml.parse("# nothing\n"), Ok(Dict::new()));
    }

    #[test]
    fn a_syntax_error_says_where_and_repeats_no_secret() {
        let cases = [
            (Syntax::Toml, "hold = \"1s\"\ntoken = canary\n", "line 2"),
            (Syntax::Yaml, "hold: 1s\ntoken: \"canary\n", "line"),
            (Syntax::Json, "{\n\"token\": canary}", "line 2"),
            (Syntax::Yaml, "canary", "table of options"),
            (Syntax::Json, "\"canary\"", "table of options"),
            (Syntax::Yaml, "token: !canary x", ""),
        ];
        for (syntax, text, place) in cases {
            let error = syntax.parse(text).map(|_| String::new()).unwrap_or_else(|error| error);
            assert!(error.contains(place) && !error.contains("canary"), "{error}");
        }
    }

    #[test]
    fn one_key_twice_is_refused_in_every_syntax() {
        let toml = Syntax::Toml.parse("[servers.a]\nurl = \"x\"\n[servers.a]\nurl = \"y\"").unwrap_err();
        let yaml = Syntax::Yaml.parse("servers:\n  a: {url: x}\n  a: {url: y}\n").unwrap_err();
        let json = Syntax::Json.parse(r#"{"servers": {"a": {"url": "x"}, "a": {"url": "y"}}}"#).unwrap_err();
        for error in [toml, yaml, json] {
            assert!(error.contains("duplicate") || error.contains("stands twice"), "{error}");
        }
    }

    proptest::proptest! {
        /// Whatever stands in a file, reading it ends without a panic.
        #[test]
        fn no_text_breaks_a_reader(text in r#"([a-c]|[\[\]{}:,"'#=&*!|>?%@. \n\t-]|1|~|é|\PC){0,40}"#) {
            for syntax in [Syntax::Toml, Syntax::Yaml, Syntax::Json] {
                let _ = syntax.parse(&text);
            }
        }
    }
}
