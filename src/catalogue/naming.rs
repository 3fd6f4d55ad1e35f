//! Public names of tools: a function of (server, tool) and nothing else, so that routing never depends on the order
//! in which servers come up.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

use crate::config::settings::Naming;

/// The longest public name, in characters: what the strictest hosts accept.
pub const MAX_LENGTH: usize = 64;

/// The public name of `tool` of `server`: `{server}__{tool}` or `{tool}`, of `[A-Za-z0-9_-]{1,64}`.
///
/// Every other character becomes `_` and what is too long is cut; a name altered in this way ends in `_` and eight
/// hexadecimal digits that stand for (server, tool). So does every name of a server whose own name ends in `_`, since
/// `a_` + `b` and `a` + `_b` would else be one. Unaltered names can't collide; altered ones hardly, and the catalogue
/// looks.
///
/// # Errors
/// The tool's name is empty.
pub fn public_name(naming: Naming, server: &str, tool: &str) -> Result<String, String> {
    if tool.is_empty() {
        return Err("its name is empty".to_owned());
    }
    let (wanted, ambiguous) = match naming {
        Naming::Prefixed => (format!("{server}__{tool}"), server.ends_with('_')),
        Naming::Plain => (tool.to_owned(), false),
    };
    if !ambiguous && wanted.len() <= MAX_LENGTH && wanted.chars().all(is_safe) {
        return Ok(wanted);
    }
    let hash = short_hash(server, tool);
    let room = MAX_LENGTH - hash.len() - 1;
    let mut name: String = wanted.chars().take(room).map(|c| if is_safe(c) { c } else { '_' }).collect();
    name.push('_');
    name.push_str(&hash);
    Ok(name)
}

fn is_safe(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

fn short_hash(server: &str, tool: &str) -> String {
    let digest = Sha256::new().chain_update(server).chain_update([0]).chain_update(tool).finalize();
    digest.iter().take(4).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn prefixed(server: &str, tool: &str) -> String {
        public_name(Naming::Prefixed, server, tool).unwrap()
    }

    #[test]
    fn safe_names_are_only_prefixed() {
        assert_eq!(prefixed("github", "create_issue"), "github__create_issue");
        assert_eq!(public_name(Naming::Plain, "github", "create_issue").unwrap(), "create_issue");
    }

    #[test]
    fn altered_names_carry_a_hash_that_never_changes() {
        assert_eq!(prefixed("s", "a.b/c"), "s__a_b_c_90bbf8ae");
        assert_eq!(prefixed("s", " "), "s____578a6892");
        let long = prefixed("s", &"x".repeat(300));
        assert_eq!(long.len(), 64);
        assert_ne!(long, prefixed("s", &"x".repeat(301)));
        assert_ne!(prefixed("s", "\u{1f600}"), prefixed("s", "\u{1f601}"));
    }

    #[test]
    fn an_empty_name_is_refused() {
        assert!(public_name(Naming::Prefixed, "s", "").is_err());
    }

    #[test]
    fn underscores_at_the_seam_do_not_make_two_names_one() {
        let pairs = [("a", "b"), ("a_", "b"), ("a", "_b"), ("a", "__b"), ("a_", "_b"), ("a-", "_b")];
        let names: HashSet<_> = pairs.iter().map(|(server, tool)| prefixed(server, tool)).collect();
        assert_eq!(names.len(), pairs.len(), "{names:?}");
    }

    proptest! {
        #[test]
        fn every_name_is_fit_for_every_host(server in "[A-Za-z0-9_-]{1,64}", tool in "\\PC{1,80}") {
            for naming in [Naming::Prefixed, Naming::Plain] {
                let name = public_name(naming, &server, &tool).unwrap();
                prop_assert!((1..=MAX_LENGTH).contains(&name.len()));
                prop_assert!(name.chars().all(is_safe));
                prop_assert_eq!(name, public_name(naming, &server, &tool).unwrap());
            }
        }

        #[test]
        fn different_tools_have_different_names(
            a in ("[a-c_-]{1,3}", "[a-c_.]{1,4}"), b in ("[a-c_-]{1,3}", "[a-c_.]{1,4}"),
        ) {
            prop_assume!(a != b && !a.0.contains("__") && !b.0.contains("__"));
            prop_assert_ne!(prefixed(&a.0, &a.1), prefixed(&b.0, &b.1));
        }
    }
}
