//! The highest layer: what was typed.

use figment::value::{Dict, Value};

use super::syntax::Syntax;
use super::{Layer, Origin, nest};
use crate::cli::{Assignment, ConfigArgs};
use crate::config::violation::Violation;

/// A layer per flag, `--set` last: it is the more deliberate way to say something.
pub(super) fn layers(args: &ConfigArgs, violations: &mut Vec<Violation>) -> Vec<Layer> {
    let state_dir = args.state_dir.as_deref().and_then(|path| {
        let wrong = || Violation::new("state_dir", "is not valid UTF-8").from("command line --state-dir");
        path.to_str().or_else(|| {
            violations.push(wrong());
            None
        })
    });
    let flags = [
        ("--listen", "listen", args.listen.as_deref()),
        ("--admin", "admin", args.admin.as_deref()),
        ("--state-dir", "state_dir", state_dir),
        ("--log-format", "log.format", args.log_format.as_deref()),
        ("--log-level", "log.level", args.log_level.as_deref()),
    ];
    let mut layers: Vec<Layer> = flags
        .into_iter()
        .filter_map(|(flag, key, value)| {
            let path: Vec<&str> = key.split('.').collect();
            Some(Layer { origin: Origin::CommandLine(flag.to_owned()), values: nest(&path, Value::from(value?)) })
        })
        .collect();
    for assignment in &args.set {
        let origin = Origin::CommandLine(format!("--set {}", assignment.key));
        match values_of(assignment) {
            Some(values) => layers.push(Layer { origin, values }),
            None => violations.push(
                Violation::new(&assignment.key, "is not a path of options, e.g. reconnect.max_attempts").from(origin),
            ),
        }
    }
    layers
}

/// Lists, tables and quoted texts are read as TOML. Anything else stays the text that was typed, which every option can
/// be read from: `007` is no 7 where a text is meant.
fn values_of(Assignment { key, value }: &Assignment) -> Option<Dict> {
    let path = path_of(key)?;
    let value = value.trim();
    let toml = value.starts_with(['[', '{', '"', '\'']).then(|| Syntax::Toml.parse(&format!("value = {value}")).ok());
    let parsed = toml.flatten().filter(|table| table.len() == 1).and_then(|mut table| table.remove("value"));
    Some(nest(&path, parsed.unwrap_or_else(|| Value::from(value))))
}

/// Splits `servers.docs.headers."X.Y"` as TOML does.
fn path_of(key: &str) -> Option<Vec<String>> {
    let mut table = Syntax::Toml.parse(&format!("{key} = 0")).ok().filter(|_| !key.contains('\n'))?;
    let mut path = Vec::new();
    loop {
        let (key, value) = table.pop_first()?;
        path.push(key);
        match value {
            Value::Dict(_, inner) => table = inner,
            _ => return Some(path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str) -> Option<Dict> {
        values_of(&text.parse().unwrap())
    }

    #[test]
    fn plain_text_stays_what_was_typed() {
        for text in ["007", "5s", "true", "1.10", "a#b", "a = b", "2026-01-01", "[not toml", "x\nlisten = 1"] {
            let value = Value::from(text);
            assert_eq!(set(&format!("token={text}")), Some(nest(&["token"], value)), "{text}");
        }
    }

    #[test]
    fn lists_tables_and_quoted_texts_are_toml() {
        assert_eq!(set("a.b=[\"x\", \"y\"]"), Some(nest(&["a", "b"], Value::from(vec!["x", "y"]))));
        assert_eq!(set("a=\" x \""), Some(nest(&["a"], Value::from(" x "))));
        assert_eq!(set("a={ file = \"x\" }"), Some(nest(&["a", "file"], Value::from("x"))));
    }

    #[test]
    fn a_path_may_quote_its_parts() {
        let value = Value::from("1");
        assert_eq!(set("servers.x.headers.\"A.B\"=1"), Some(nest(&["servers", "x", "headers", "A.B"], value)));
        assert_eq!(set("a b=1"), None);
        assert_eq!(set("a..b=1"), None);
    }
}
