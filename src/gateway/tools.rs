//! `tools/list`.

use std::fmt::Write as _;

use super::era::Era;
use crate::catalogue::naming::MAX_LENGTH;
use crate::catalogue::snapshot::Snapshot;

/// The cursor is none of ours.
#[derive(Debug, PartialEq, Eq)]
pub struct BadCursor;

/// The `result` of `tools/list`: the page after `cursor`, or the first one. What a modern client may keep of it is
/// nothing: a tool that is gone should not be called.
///
/// # Errors
/// A cursor that we never gave.
pub fn list(snapshot: &Snapshot, cursor: Option<&str>, era: Era) -> Result<String, BadCursor> {
    let after = cursor.map(|cursor| decode(cursor).ok_or(BadCursor)).transpose()?;
    let page = snapshot.page(after.as_deref());
    let mut text = String::with_capacity(page.tools.len() + 320);
    text.push_str(r#"{"tools":"#);
    text.push_str(&page.tools);
    if let Some(last) = &page.next {
        let _ = write!(text, r#","nextCursor":"{}""#, encode(last));
    }
    if era == Era::Modern {
        text.push_str(r#","resultType":"complete","ttlMs":0,"cacheScope":"private","_meta":"#);
        text.push_str(&super::modern::server_info_meta().to_string());
    }
    text.push('}');
    Ok(text)
}

/// Hexadecimal, so that nobody takes it for a name.
fn encode(name: &str) -> String {
    name.bytes().fold(String::with_capacity(name.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn decode(cursor: &str) -> Option<String> {
    let is_hex = cursor.bytes().all(|byte| byte.is_ascii_hexdigit());
    if cursor.is_empty() || !cursor.len().is_multiple_of(2) || cursor.len() > MAX_LENGTH * 2 || !is_hex {
        return None;
    }
    let pairs = (0..cursor.len()).step_by(2).map(|at| cursor.get(at..at + 2));
    let bytes =
        pairs.map(|pair| pair.and_then(|pair| u8::from_str_radix(pair, 16).ok())).collect::<Option<Vec<_>>>()?;
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_that_we_did_not_give_is_refused() {
        let snapshot = Snapshot::default();
        assert_eq!(decode(&encode("s__tool")).as_deref(), Some("s__tool"));
        for cursor in ["", "xyz", "zz", "+1", "ff", "é!", &"61".repeat(65)] {
            assert_eq!(list(&snapshot, Some(cursor), Era::Legacy), Err(BadCursor), "{cursor}");
        }
    }

    #[test]
    fn only_modern_clients_are_told_what_they_may_keep() {
        let snapshot = Snapshot::default();
        assert_eq!(list(&snapshot, None, Era::Legacy).unwrap(), r#"{"tools":[]}"#);
        let modern: serde_json::Value = serde_json::from_str(&list(&snapshot, None, Era::Modern).unwrap()).unwrap();
        assert_eq!(modern["resultType"], "complete");
        assert_eq!(modern["ttlMs"], 0);
        assert_eq!(modern["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "mcp-sidecar");
    }
}
