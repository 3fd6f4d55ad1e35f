//! What a connection to an HTTP server needs.

use std::collections::BTreeMap;

use http::header::{HeaderName, HeaderValue};
use secrecy::SecretString;
use url::Url;

use crate::config::resolve::judge::{Judge, Scope};
use crate::config::settings::HttpSettings;
use crate::config::toml_text::{self, HIDDEN};

/// Headers that belong to the protocol itself.
const OURS: [&str; 8] = [
    "accept",
    "connection",
    "content-length",
    "content-type",
    "last-event-id",
    "mcp-protocol-version",
    "mcp-session-id",
    "transfer-encoding",
];

/// Reads and judges it.
pub(super) fn settings(judge: &mut Judge<'_>, name: &str) -> Option<HttpSettings> {
    let scope = Scope::Server(name);
    let url = url(judge, scope);
    let headers = judge.secrets(scope, "servers.NAME.headers", judge_header);
    refuse_same_names(judge, name, &headers);
    let (url, shown) = url?;
    Some(HttpSettings::new(url, shown, headers))
}

/// The URL, and what may be shown of it.
fn url(judge: &mut Judge<'_>, scope: Scope<'_>) -> Option<(Url, String)> {
    let (expanded, mut place) = judge.expanded(scope, "servers.NAME.url")?;
    let shown = presentable(&expanded.shown);
    place.shown = toml_text::quoted(&shown);
    match Url::parse(expanded.text.trim()) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => {
            judge.show(&place);
            return Some((url, shown));
        }
        Ok(_) => judge.object(&place, "must begin with http:// or https:// and name a host"),
        Err(error) => {
            // What is no URL may have its secrets anywhere.
            place.shown = HIDDEN.to_owned();
            judge.object(&place, format!("is no URL ({error}); write e.g. https://example.com/mcp"));
        }
    }
    None
}

/// A URL without user info, query and fragment. Works on text: what was put in for a variable stands there as `***`.
fn presentable(shown: &str) -> String {
    let (kept, cut) = match shown.find(['?', '#']) {
        Some(end) => (&shown[..end], "?***"),
        None => (shown, ""),
    };
    let (scheme, rest) = kept.split_once("://").map_or(("", kept), |(scheme, rest)| (scheme, rest));
    let separator = if scheme.is_empty() { "" } else { "://" };
    let (authority, path) = rest.split_at(rest.find(['/', '\\']).unwrap_or(rest.len()));
    let authority = match authority.rsplit_once('@') {
        Some((_, host)) => format!("***@{host}"),
        None => authority.to_owned(),
    };
    format!("{scheme}{separator}{authority}{path}{cut}")
}

fn judge_header(name: &str, value: &str) -> Result<(), String> {
    let parsed =
        HeaderName::from_bytes(name.as_bytes()).map_err(|_| "has an impossible name for a header".to_owned())?;
    if OURS.contains(&parsed.as_str()) {
        return Err("is a header that the sidecar sets itself; remove it".to_owned());
    }
    HeaderValue::from_str(value).map_err(|_| "holds a character that a header can't have".to_owned())?;
    Ok(())
}

/// Headers have no case.
fn refuse_same_names(judge: &mut Judge<'_>, name: &str, headers: &BTreeMap<String, SecretString>) {
    let mut names: Vec<String> = headers.keys().map(|header| header.to_ascii_lowercase()).collect();
    names.sort();
    let twice: Vec<&String> = names.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| &pair[0]).collect();
    if let (Some(twice), Some((_, place))) = (twice.first(), judge.find(Scope::Server(name), "servers.NAME.headers")) {
        judge.object(&place, format!("holds header {twice} twice, in different case"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_of_a_url_has_neither_password_nor_query() {
        let cases = [
            ("https://example.com/mcp", "https://example.com/mcp"),
            ("https://u:p@example.com/mcp?key=canary#x", "https://***@example.com/mcp?***"),
            ("https://example.com#canary", "https://example.com?***"),
            ("u:p@host", "***@host"),
            ("https://host/a@b", "https://host/a@b"),
        ];
        for (given, shown) in cases {
            assert_eq!(presentable(given), shown);
        }
    }

    #[test]
    fn headers_are_valid_and_not_the_protocols_own() {
        assert_eq!(judge_header("Authorization", "Bearer x"), Ok(()));
        for (name, value) in [("", "x"), ("a b", "x"), ("X", "a\nb"), ("Mcp-Session-Id", "x"), ("ACCEPT", "x")] {
            assert!(judge_header(name, value).is_err(), "{name}");
        }
    }
}
