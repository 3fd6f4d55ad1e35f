//! A JSON object as its members in their order, each value as the text it came as.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The members of one object, in order, values uninterpreted.
#[derive(Debug, Default)]
pub struct Object<'a> {
    members: Vec<(Cow<'a, str>, &'a RawValue)>,
}

impl<'a> Object<'a> {
    /// Reads `text`.
    ///
    /// # Errors
    /// It is no JSON object.
    pub fn parse(text: &'a str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }

    /// The value of `key`; of the last one if there are several, as most parsers have it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&'a RawValue> {
        self.members.iter().rev().find(|(name, _)| name == key).map(|(_, value)| *value)
    }

    /// All members in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.members.iter().map(|(name, value)| (name.as_ref(), *value))
    }
}

/// Writes an object of these members, values as they are.
pub fn render<'v>(members: impl IntoIterator<Item = (impl AsRef<str>, &'v str)>) -> String {
    let mut text = String::from("{");
    for (name, value) in members {
        if text.len() > 1 {
            text.push(',');
        }
        push_string(&mut text, name.as_ref());
        text.push(':');
        text.push_str(value);
    }
    text.push('}');
    text
}

/// Appends `value` as a JSON string.
pub fn push_string(text: &mut String, value: &str) {
    let plain = value.bytes().all(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\');
    if plain {
        text.push('"');
        text.push_str(value);
        text.push('"');
    } else {
        text.push_str(&serde_json::Value::from(value).to_string());
    }
}

#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Object<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Object<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::with_capacity(8);
                while let Some(Key(name)) = map.next_key()? {
                    members.push((name, map.next_value()?));
                }
                Ok(Object { members })
            }
        }
        deserializer.deserialize_map(Members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_order_and_their_text() {
        let text = r#"{"z":1.10,"a":{"big":12345678901234567890123,"k" : [ ]},"n":null,"\u0078":"é\u00e9"}"#;
        let object = Object::parse(text).unwrap();
        let written = render(object.iter().map(|(name, value)| (name, value.get())));
        assert_eq!(written, text.replace(r"\u0078", "x"));
        assert_eq!(object.get("z").unwrap().get(), "1.10");
        assert!(object.get("missing").is_none());
    }

    #[test]
    fn the_last_of_several_equal_keys_counts() {
        assert_eq!(Object::parse(r#"{"a":1,"a":2}"#).unwrap().get("a").unwrap().get(), "2");
        assert!(Object::parse("[1]").is_err());
    }

    #[test]
    fn names_are_escaped_where_they_must_be() {
        assert_eq!(render([("a\"\\\n", "1"), ("é", "2")]), r#"{"a\"\\\n":1,"é":2}"#);
        assert_eq!(render(Vec::<(&str, &str)>::new()), "{}");
    }
}
