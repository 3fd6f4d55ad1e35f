//! Which half of MCP's history a request belongs to, and the revisions of both.

/// Revisions with `initialize` and sessions, newest first.
pub const LEGACY_VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The stateless revision.
pub const MODERN_VERSION: &str = "2026-07-28";

/// The half of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// Revisions up to 2025-11-25.
    Legacy,
    /// 2026-07-28.
    Modern,
}

/// The era of a request, from its method, the version in its `_meta`, and the version in its header.
///
/// `initialize` without modern `_meta` is legacy whatever version it names: some clients ask for the newest. A version
/// that nobody knows is modern, since only that era has an error that lists ours.
#[must_use]
pub fn of(method: Option<&str>, in_meta: Option<&str>, in_header: Option<&str>) -> Era {
    if method == Some("initialize") && in_meta.is_none() {
        return Era::Legacy;
    }
    match in_meta.or(in_header) {
        Some(version) if is_legacy(version) => Era::Legacy,
        Some(_) => Era::Modern,
        None if method == Some("server/discover") => Era::Modern,
        None => Era::Legacy,
    }
}

/// What `initialize` is answered with: the revision asked for, or else our newest of that era.
#[must_use]
pub fn negotiate(requested: Option<&str>) -> &'static str {
    let [newest, ..] = LEGACY_VERSIONS;
    LEGACY_VERSIONS.into_iter().find(|version| Some(*version) == requested).unwrap_or(newest)
}

fn is_legacy(version: &str) -> bool {
    LEGACY_VERSIONS.contains(&version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_era_follows_the_version_a_request_declares() {
        assert_eq!(of(Some("initialize"), None, None), Era::Legacy);
        assert_eq!(of(Some("initialize"), None, Some(MODERN_VERSION)), Era::Legacy);
        assert_eq!(of(Some("initialize"), Some(MODERN_VERSION), Some(MODERN_VERSION)), Era::Modern);
        assert_eq!(of(Some("tools/list"), None, None), Era::Legacy);
        assert_eq!(of(Some("tools/list"), None, Some("2025-06-18")), Era::Legacy);
        assert_eq!(of(Some("tools/list"), None, Some(MODERN_VERSION)), Era::Modern);
        assert_eq!(of(Some("tools/list"), Some("v999"), None), Era::Modern);
        assert_eq!(of(Some("server/discover"), None, None), Era::Modern);
        assert_eq!(of(None, None, None), Era::Legacy);
    }

    #[test]
    fn a_known_revision_is_granted_and_an_unknown_one_answered_with_our_newest() {
        for version in LEGACY_VERSIONS {
            assert_eq!(negotiate(Some(version)), version);
        }
        for other in [None, Some("1.0"), Some(MODERN_VERSION)] {
            assert_eq!(negotiate(other), "2025-11-25");
        }
    }
}
