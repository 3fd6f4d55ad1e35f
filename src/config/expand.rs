//! `${VAR}` in the text of a server's settings.
//!
//! | written | becomes |
//! |---|---|
//! | `${VAR}`, `${env:VAR}` | the variable; an unset one is an error |
//! | `${VAR:-default}` | the variable, or `default` where it is unset or empty |
//! | `$${` | `${` |
//!
//! Everything else stays as it is, `$VAR` included. What was put in is never looked at again.

use super::environment::Environment;

/// A text with its variables put in.
#[derive(Clone, PartialEq, Eq)]
pub struct Expanded {
    /// As it is used.
    pub text: String,
    /// As it may be shown: whatever was put in is `***`.
    pub shown: String,
}

impl std::fmt::Debug for Expanded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.shown)
    }
}

impl Expanded {
    /// A text that is used as it is.
    #[must_use]
    pub fn literal(text: &str) -> Self {
        Self { text: text.to_owned(), shown: text.to_owned() }
    }
}

/// Puts the variables of `environment` into `template`, once.
///
/// # Errors
/// What is wrong, naming the variable but no value.
pub fn expand(template: &str, environment: &Environment) -> Result<Expanded, String> {
    let mut expanded = Expanded { text: String::new(), shown: String::new() };
    let mut rest = template;
    while let Some(start) = rest.find("${") {
        let escaped = rest[..start].ends_with('$');
        let before = if escaped { &rest[..start - 1] } else { &rest[..start] };
        expanded.text.push_str(before);
        expanded.shown.push_str(before);
        rest = &rest[start + 2..];
        if escaped {
            expanded.text.push_str("${");
            expanded.shown.push_str("${");
            continue;
        }
        let end = rest.find('}').ok_or("has a \"${\" without \"}\"; write \"$${\" for a literal \"${\"")?;
        expanded.text.push_str(&lookup(&rest[..end], environment)?);
        expanded.shown.push_str("***");
        rest = &rest[end + 1..];
    }
    expanded.text.push_str(rest);
    expanded.shown.push_str(rest);
    Ok(expanded)
}

/// The value of what stands between the braces.
fn lookup(reference: &str, environment: &Environment) -> Result<String, String> {
    if reference.starts_with("input:") {
        return Err(format!("asks for ${{{reference}}}, but nobody is there to be asked; use an environment variable"));
    }
    let reference = reference.strip_prefix("env:").unwrap_or(reference);
    let (name, default) = match reference.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (reference, None),
    };
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        // Not repeated as a whole: a default may be a secret.
        return Err(format!("refers to a variable by the impossible name \"{}\"", name.escape_debug()));
    }
    if default.is_some_and(|default| default.contains("${")) {
        return Err(format!("has a ${{…}} inside the default of {name}, which is not supported"));
    }
    match (environment.get(name), default) {
        (Some(value), Some(default)) if value.is_empty() => Ok(default.to_owned()),
        (Some(value), Some(_) | None) => {
            value.to_str().map(str::to_owned).ok_or_else(|| format!("uses variable {name}, which is not valid UTF-8"))
        }
        (None, Some(default)) => Ok(default.to_owned()),
        (None, None) => Err(format!("uses variable {name}, which is not set; set it or write ${{{name}:-default}}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(template: &str) -> Result<Expanded, String> {
        let environment = [("T", "secret"), ("TWICE", "${T}"), ("EMPTY", "")].into_iter().collect();
        expand(template, &environment)
    }

    fn text(template: &str) -> String {
        expanded(template).map(|expanded| expanded.text).unwrap()
    }

    #[test]
    fn variables_are_put_in_wherever_they_stand() {
        assert_eq!(text("${T}"), "secret");
        assert_eq!(text("Bearer ${env:T}!"), "Bearer secret!");
        assert_eq!(text("${T:-d}-${NONE:-d}-${NONE:-}-${EMPTY:-e}-${EMPTY}"), "secret-d--e-");
        assert_eq!(text("${env:NONE:-a:-b}"), "a:-b");
    }

    #[test]
    fn what_was_put_in_is_not_expanded_again() {
        assert_eq!(text("${TWICE}"), "${T}");
    }

    #[test]
    fn other_dollars_stay() {
        for template in ["$T", "$", "a$b$", "}{", "$ {T}"] {
            assert_eq!(text(template), template);
        }
        assert_eq!(text("$${T}"), "${T}");
        assert_eq!(text("$$T"), "$$T");
    }

    #[test]
    fn an_unset_variable_is_refused_by_name() {
        assert!(expanded("x${NONE}").unwrap_err().contains("variable NONE, which is not set"));
    }

    #[test]
    fn what_nobody_can_answer_is_refused() {
        assert!(expanded("${input:key}").unwrap_err().contains("${input:key}"));
        assert!(expanded("${T").unwrap_err().contains("without"));
        assert!(expanded("${A:-${T}}").unwrap_err().contains("not supported"));
        for template in ["${}", "${a.b}", "${:-d}"] {
            assert!(expanded(template).unwrap_err().contains("impossible name"), "{template}");
        }
    }

    #[test]
    fn what_may_be_shown_holds_nothing_that_was_put_in() {
        assert_eq!(expanded("--token=${T}&${NONE:-canary}").unwrap().shown, "--token=***&***");
    }

    proptest::proptest! {
        #[test]
        fn a_text_without_a_brace_behind_a_dollar_stays_what_it_is(text in "[a-z$} ]{0,20}") {
            proptest::prop_assert_eq!(expanded(&text).unwrap().text, text);
        }

        #[test]
        fn no_template_breaks_the_reader(text in "[$TE{}:=-]{0,20}") {
            if let Ok(expanded) = expanded(&text) {
                proptest::prop_assert!(!expanded.shown.contains("secret"));
            }
        }
    }
}
