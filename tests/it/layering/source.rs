//! Just enough of Rust's syntax to look for names in code and not in comments or strings.

/// The text with comments, strings and characters blanked; line numbers stay.
pub fn blank(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let after_word = out.ends_with(|last: char| last.is_alphanumeric() || last == '_');
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment(rest)
        } else if first == '"' {
            string(rest)
        } else if let Some(length) = raw_string(rest).filter(|_| !after_word) {
            length
        } else {
            character(rest)
        };
        if length == 0 {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            out.extend(rest[..length].chars().map(|blanked| if blanked == '\n' { '\n' } else { ' ' }));
            rest = &rest[length..];
        }
    }
    out
}

/// Blanked code without its test module, which stands last in a file by this project's rule.
pub fn without_tests(code: &str) -> String {
    code.find("#[cfg(test)]\nmod ").map_or(code, |begin| &code[..begin]).to_owned()
}

/// Every path that blanked code imports, one per leaf of each `use` tree, without `as` names.
pub fn imports(code: &str) -> Vec<String> {
    let mut paths = Vec::new();
    for (begin, _) in code.match_indices("use ") {
        let starts = code[..begin].trim_end_matches(' ').chars().next_back();
        if starts.is_some_and(|before| !matches!(before, '\n' | ';' | '{' | '}' | ')' | 'b')) {
            continue;
        }
        let tree = code[begin + 4..].split(';').next().unwrap_or_default();
        leaves("", &tree.split_whitespace().collect::<Vec<&str>>().join(" "), &mut paths);
    }
    paths
}

/// The lines, counted from 1, on which blanked code has `word` and not merely as the end of a longer path or name.
pub fn word_positions(code: &str, word: &str) -> impl Iterator<Item = usize> {
    let begins_with_name = word.starts_with(|first: char| first.is_alphanumeric() || first == '_');
    code.match_indices(word).filter_map(move |(position, _)| {
        let before = code[..position].chars().next_back();
        let part_of_more = before.is_some_and(|last| last.is_alphanumeric() || last == '_' || last == ':');
        (!begins_with_name || !part_of_more).then(|| code[..position].matches('\n').count() + 1)
    })
}

/// The lines, counted from 1, on which blanked code has `word`, whatever stands before it.
pub fn mentions(code: &str, word: &str) -> impl Iterator<Item = usize> {
    code.lines().enumerate().filter(move |(_, line)| line.contains(word)).map(|(index, _)| index + 1)
}

fn leaves(prefix: &str, tree: &str, paths: &mut Vec<String>) {
    let tree = tree.trim().trim_start_matches("::");
    let Some(open) = tree.find('{') else {
        let path = tree.split(" as ").next().unwrap_or_default().trim();
        let path = format!("{prefix}{path}");
        paths.push(path.strip_suffix("::self").unwrap_or(&path).to_owned());
        return;
    };
    let prefix = format!("{prefix}{}", tree[..open].trim());
    let inner = &tree[open + 1..tree.rfind('}').unwrap_or(tree.len())];
    let (mut depth, mut begin) = (0_i32, 0);
    for (position, letter) in inner.char_indices() {
        depth += i32::from(letter == '{') - i32::from(letter == '}');
        if letter == ',' && depth == 0 {
            leaves(&prefix, &inner[begin..position], paths);
            begin = position + 1;
        }
    }
    if !inner[begin..].trim().is_empty() {
        leaves(&prefix, &inner[begin..], paths);
    }
}

fn block_comment(text: &str) -> usize {
    let (mut depth, mut position) = (0_usize, 0);
    while position < text.len() {
        if text[position..].starts_with("/*") {
            (depth, position) = (depth + 1, position + 2);
        } else if text[position..].starts_with("*/") {
            (depth, position) = (depth - 1, position + 2);
            if depth == 0 {
                return position;
            }
        } else {
            position += text[position..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

fn string(text: &str) -> usize {
    let mut escaped = false;
    for (position, letter) in text.char_indices().skip(1) {
        match letter {
            '"' if !escaped => return position + 1,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    text.len()
}

/// `r"…"`, `r#"…"#`, `br"…"`.
fn raw_string(text: &str) -> Option<usize> {
    let opening = text.strip_prefix('b').unwrap_or(text).strip_prefix('r')?;
    let hashes = opening.len() - opening.trim_start_matches('#').len();
    let body = opening[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let length = body.find(&end).map_or(body.len(), |position| position + end.len());
    Some(text.len() - body.len() + length)
}

/// A character literal; a lifetime is none.
fn character(text: &str) -> usize {
    let Some(body) = text.strip_prefix('\'') else { return 0 };
    if let Some(escape) = body.strip_prefix('\\') {
        return escape.char_indices().skip(1).find(|(_, letter)| *letter == '\'').map_or(0, |(end, _)| end + 3);
    }
    let Some(letter) = body.chars().next() else { return 0 };
    if body[letter.len_utf8()..].starts_with('\'') { letter.len_utf8() + 2 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_strings_and_characters_are_blanked_and_lines_stay() {
        let text = "a(); // tokio::x\n/* tokio::y /* nested */ tokio::z */ b(\"tokio::s \\\" \", r#\"tokio::\"r\"#, '\"', 'x');\nfn c<'a>(d: &'a str) {}";
        let code = blank(text);
        assert!(!code.contains("tokio"), "{code}");
        assert!(code.contains("a();") && code.contains("b(") && code.contains("fn c<'a>(d: &'a str) {}"), "{code}");
        assert_eq!(code.lines().count(), 3);
    }

    #[test]
    fn use_trees_are_flattened() {
        let code = "use a::{self, b::{c, d as e}, f};\npub use g;\npub(crate) use h::i;\nfn reuse () { use j::k; }";
        assert_eq!(imports(code), ["a", "a::b::c", "a::b::d", "a::f", "g", "h::i", "j::k"]);
    }

    #[test]
    fn names_within_longer_names_and_paths_are_not_found() {
        let code = "my_log::x();\ncatalog::y();\na::log::z();\nlog::w();";
        assert_eq!(word_positions(code, "log::").collect::<Vec<usize>>(), [4]);
    }
}
