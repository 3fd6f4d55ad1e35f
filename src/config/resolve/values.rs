//! One value into one type, from its own type or from text. An error is what is wrong with it, without repeating it.

use std::time::Duration;

use figment::providers::{Format as _, Toml};
use figment::value::{Dict, Value};

use crate::config::{duration, suggest, toml_text};

/// A text. Numbers are no texts: `007` would already be 7.
pub(super) fn text(value: &Value) -> Result<&str, String> {
    match value {
        Value::String(_, text) => Ok(text),
        Value::Num(..) | Value::Bool(..) => Err("must be a text; put it in quotes".to_owned()),
        Value::Char(..) | Value::Empty(..) | Value::Dict(..) | Value::Array(..) => Err(wrong_type("a text", value)),
    }
}

pub(super) fn bool(value: &Value) -> Result<bool, String> {
    match (value, value.as_str().map(str::trim)) {
        (Value::Bool(_, it), _) => Ok(*it),
        (_, Some("true")) => Ok(true),
        (_, Some("false")) => Ok(false),
        _ => Err("must be true or false".to_owned()),
    }
}

/// A whole number in a range.
pub(super) fn count(value: &Value, min: u64, max: u64) -> Result<u64, String> {
    let digits = match value {
        Value::Num(_, number) => toml_text::whole(number),
        _ => value.as_str().map(|text| text.trim().to_owned()),
    };
    let number: Option<u64> = digits.and_then(|digits| digits.parse().ok());
    let wrong = || format!("must be a whole number, {min} to {max}");
    number.filter(|number| (min..=max).contains(number)).ok_or_else(wrong)
}

/// A number with a unit, in a range.
pub(super) fn duration(value: &Value, min: Duration, max: Duration) -> Result<Duration, String> {
    let allowed = format!("(allowed: {} to {})", duration::show(min), duration::show(max));
    let parsed = match value {
        Value::Num(..) => Err(duration::without_unit(&toml_text::value(value))),
        _ => text(value).and_then(duration::parse),
    };
    let duration = parsed.map_err(|problem| format!("{problem} {allowed}"))?;
    if (min..=max).contains(&duration) {
        Ok(duration)
    } else {
        Err(format!("must be {} to {}", duration::show(min), duration::show(max)))
    }
}

/// One of some words, by its place among them.
pub(super) fn choice(value: &Value, words: &[&str]) -> Result<usize, String> {
    let given = text(value)?.trim();
    words.iter().position(|word| *word == given).ok_or_else(|| {
        let nearest = suggest::nearest(given, words.iter().copied());
        format!("must be one of {}{}", words.join(", "), suggest::did_you_mean(nearest))
    })
}

/// Permission bits.
pub(super) fn mode(value: &Value) -> Result<u32, String> {
    let wrong = || "must be permission bits in octal and in quotes, \"0000\" to \"0777\", e.g. \"0660\"".to_owned();
    let text = value.as_str().ok_or_else(wrong)?.trim();
    let digits = text.strip_prefix("0o").unwrap_or(text);
    let octal = !digits.is_empty() && digits.chars().all(|c| c.is_digit(8));
    u32::from_str_radix(digits, 8).ok().filter(|mode| octal && *mode <= 0o777).ok_or_else(wrong)
}

/// A list of texts; also one text that holds a TOML list, or else texts between commas.
pub(super) fn list(value: &Value) -> Result<Vec<String>, String> {
    match value.as_str().map(str::trim) {
        Some(text) if text.starts_with('[') => arguments(value),
        Some(text) => Ok(text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect()),
        None => arguments(value),
    }
}

/// A list of texts; also one text that holds a TOML list. No commas here: an argument may hold one.
pub(super) fn arguments(value: &Value) -> Result<Vec<String>, String> {
    let wrong = || "must be a list of texts, e.g. [\"a\", \"b\"]".to_owned();
    match value {
        Value::Array(_, items) => {
            items.iter().map(|item| text(item).map(str::to_owned)).collect::<Result<_, _>>().map_err(|_| wrong())
        }
        Value::String(_, text) => {
            let mut table = Toml::from_str::<Dict>(&format!("list = {}", text.trim())).map_err(|_| wrong())?;
            let list = table.remove("list").filter(|list| table.is_empty() && list.as_array().is_some());
            arguments(&list.ok_or_else(wrong)?)
        }
        Value::Char(..) | Value::Bool(..) | Value::Num(..) | Value::Empty(..) | Value::Dict(..) => Err(wrong()),
    }
}

/// `must be X, not Y`.
pub(super) fn wrong_type(expected: &str, found: &Value) -> String {
    let found = match found {
        Value::String(..) | Value::Char(..) => "a text",
        Value::Bool(..) => "true or false",
        Value::Num(..) => "a number",
        Value::Empty(..) => "null",
        Value::Dict(..) => "a table",
        Value::Array(..) => "a list",
    };
    format!("must be {expected}, not {found}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_from_their_own_type_and_from_text() {
        assert_eq!((bool(&Value::from(true)), bool(&Value::from("false"))), (Ok(true), Ok(false)));
        assert_eq!((count(&Value::from(7), 1, 9), count(&Value::from("7"), 1, 9)), (Ok(7), Ok(7)));
        assert_eq!(mode(&Value::from("0660")), Ok(0o660));
        let expected = Ok(vec!["a".to_owned(), "b".to_owned()]);
        for value in [Value::from(vec!["a", "b"]), Value::from("[\"a\", \"b\"]"), Value::from("a, b,")] {
            assert_eq!(list(&value), expected);
        }
    }

    #[test]
    fn what_is_out_of_range_is_told_the_range() {
        assert!(count(&Value::from(0), 1, 9).unwrap_err().ends_with("1 to 9"));
        assert!(count(&Value::from(-1), 0, 9).unwrap_err().ends_with("0 to 9"));
        assert!(count(&Value::from("7.0"), 0, 9).is_err());
        let hold = |value: Value| duration(&value, Duration::ZERO, Duration::from_secs(600)).unwrap_err();
        assert_eq!(hold(Value::from("11m")), "must be 0s to 10m");
        assert!(hold(Value::from(5)).contains("\"5s\"") && hold(Value::from("5")).contains("0s to 10m"));
    }

    #[test]
    fn a_number_is_no_text_and_a_bare_number_no_mode() {
        assert!(text(&Value::from(7)).unwrap_err().contains("in quotes"));
        for wrong in [Value::from(384), Value::from("888"), Value::from("7777"), Value::from(""), Value::from("+7")] {
            assert!(mode(&wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn arguments_are_never_split_at_commas() {
        assert!(arguments(&Value::from("--a,--b")).is_err());
        assert!(arguments(&Value::from("[\"a\"]\nx = 1")).is_err());
        assert_eq!(arguments(&Value::from("[\"a,b\"]")), Ok(vec!["a,b".to_owned()]));
    }

    #[test]
    fn a_misspelt_word_is_answered_with_the_nearest() {
        assert!(
            choice(&Value::from("redonly"), &["never", "read-only"]).unwrap_err().ends_with("did you mean read-only?")
        );
    }
}
