//! Durations as configuration spells them.

use std::time::Duration;

/// Reads `500ms`, `30s`, `5m`, `1h`, `1m 30s`.
///
/// # Errors
/// What is wrong, for a person: above all the missing unit.
pub fn parse(text: &str) -> Result<Duration, String> {
    let trimmed = text.trim();
    if !trimmed.is_empty() && trimmed.chars().all(|c| c.is_ascii_digit() || c == '.' || c == '_') {
        return Err(without_unit(trimmed));
    }
    humantime::parse_duration(trimmed)
        .map_err(|_| "is not a duration; write a number and a unit, e.g. \"500ms\", \"30s\" or \"5m\"".to_owned())
}

/// What to say about a number that lacks its unit.
#[must_use]
pub fn without_unit(number: &str) -> String {
    format!(
        "has no unit; write \"{number}s\" for seconds, \"{number}ms\" for milliseconds or \"{number}m\" for minutes"
    )
}

/// The shortest usual spelling, e.g. `90s` for 90 s and `10m` for 600 s.
#[must_use]
pub fn show(duration: Duration) -> String {
    let millis = duration.as_millis();
    match millis {
        0 => "0s".to_owned(),
        _ if !millis.is_multiple_of(1000) => format!("{millis}ms"),
        _ if millis.is_multiple_of(3_600_000) => format!("{}h", millis / 3_600_000),
        _ if millis.is_multiple_of(60_000) => format!("{}m", millis / 60_000),
        _ => format!("{}s", millis / 1000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_and_a_unit_make_a_duration() {
        assert_eq!(parse("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse(" 5m "), Ok(Duration::from_secs(300)));
        assert_eq!(parse("1m 30s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse("0s"), Ok(Duration::ZERO));
    }

    #[test]
    fn a_missing_unit_is_named_with_the_right_spelling() {
        assert!(parse("30").unwrap_err().contains("\"30s\""));
        assert!(parse("1.5").unwrap_err().contains("has no unit"));
        for bad in ["", "s", "-5s", "5 parsecs"] {
            assert!(parse(bad).unwrap_err().contains("is not a duration"), "{bad}");
        }
    }

    #[test]
    fn durations_are_shown_in_their_largest_exact_unit() {
        for text in ["0s", "1500ms", "90s", "10m", "1h"] {
            assert_eq!(show(parse(text).unwrap()), text);
        }
    }
}
