//! Values as TOML text, for `config show` and for findings.

use figment::value::{Num, Value};

/// What stands where a secret would.
pub const HIDDEN: &str = "\"***\"";

/// A text in quotes.
#[must_use]
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A list of texts.
#[must_use]
pub fn list<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> String {
    let texts: Vec<String> = texts.into_iter().map(|text| quoted(text.as_ref())).collect();
    format!("[{}]", texts.join(", "))
}

/// A key, in quotes where it needs them.
#[must_use]
pub fn key(key: &str) -> String {
    let bare = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if bare { key.to_owned() } else { quoted(key) }
}

/// A dotted path.
#[must_use]
pub fn path<T: AsRef<str>>(parts: impl IntoIterator<Item = T>) -> String {
    parts.into_iter().map(|part| key(part.as_ref())).collect::<Vec<_>>().join(".")
}

/// A whole number's digits; nothing for a fraction.
#[must_use]
pub fn whole(number: &Num) -> Option<String> {
    number.to_i128().map(|whole| whole.to_string()).or_else(|| number.to_u128().map(|whole| whole.to_string()))
}

/// Any value, on one line.
#[must_use]
pub fn value(value: &Value) -> String {
    match value {
        Value::String(_, text) => quoted(text),
        Value::Char(_, c) => quoted(&c.to_string()),
        Value::Bool(_, it) => it.to_string(),
        Value::Num(_, number) => match (whole(number), number.to_f64()) {
            (Some(whole), _) => whole,
            (None, fraction) => fraction.map(|fraction| fraction.to_string()).unwrap_or_default(),
        },
        Value::Empty(..) => "null".to_owned(),
        Value::Array(_, items) => format!("[{}]", items.iter().map(self::value).collect::<Vec<_>>().join(", ")),
        Value::Dict(_, table) => {
            let entries: Vec<String> = table.iter().map(|(k, v)| format!("{} = {}", key(k), self::value(v))).collect();
            format!("{{ {} }}", entries.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use figment::providers::{Format as _, Toml};
    use figment::value::Dict;

    use super::*;

    #[test]
    fn what_is_shown_can_be_read_again() {
        let text = "a\"b\\c\nd\te\u{7f}é";
        let table =
            Dict::from([("x y".to_owned(), Value::from(vec![Value::from(text), Value::from(-1), Value::from(true)]))]);
        let shown = table.iter().map(|(k, v)| format!("{} = {}", key(k), value(v))).collect::<String>();
        assert_eq!(Toml::from_str::<Dict>(&shown).unwrap(), table);
    }
}
