//! One immutable state of the catalogue.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use serde_json::value::RawValue;

use super::page::{self, Page};
use super::param_headers::ParamHeader;

/// A tool as its server defines it.
#[derive(Clone, Debug)]
pub struct UpstreamTool {
    /// The server's own name of it.
    pub name: String,
    /// The definition as the server sent it, same JSON text.
    pub definition: Box<RawValue>,
    /// `annotations.readOnlyHint == true`.
    pub read_only: bool,
    /// `annotations.idempotentHint == true`.
    pub idempotent: bool,
}

/// A tool as clients see it.
#[derive(Clone, Debug)]
pub struct Tool {
    /// Name for clients, a function of (server, upstream name) only.
    pub public_name: String,
    /// The server that has it.
    pub server: Arc<str>,
    /// The server's own name of it.
    pub upstream_name: String,
    /// The upstream definition with `name` replaced and everything else, key order included, as it was.
    pub definition: Box<RawValue>,
    /// `annotations.readOnlyHint == true`.
    pub read_only: bool,
    /// `annotations.idempotentHint == true`.
    pub idempotent: bool,
    /// Arguments that modern clients repeat in headers.
    pub param_headers: Vec<ParamHeader>,
}

impl PartialEq for Tool {
    /// Equal for clients and for routing; everything else is derived from the definition.
    fn eq(&self, other: &Self) -> bool {
        self.definition.get() == other.definition.get()
            && self.server == other.server
            && self.upstream_name == other.upstream_name
    }
}

impl Eq for Tool {}

/// All tools, sorted by public name.
#[derive(Debug, Default)]
pub struct Snapshot {
    tools: Vec<Arc<Tool>>,
    version: u64,
    pages: OnceLock<Vec<Page>>,
}

impl Snapshot {
    /// A snapshot of these tools; sorts them. Public names must be unique.
    #[must_use]
    pub fn new(mut tools: Vec<Arc<Tool>>) -> Self {
        static VERSION: AtomicU64 = AtomicU64::new(1);
        tools.sort_by(|a, b| a.public_name.cmp(&b.public_name));
        Self { tools, version: VERSION.fetch_add(1, Ordering::Relaxed), pages: OnceLock::new() }
    }

    /// All tools, sorted by public name.
    #[must_use]
    pub fn tools(&self) -> &[Arc<Tool>] {
        &self.tools
    }

    /// The tool with this public name.
    #[must_use]
    pub fn find(&self, public_name: &str) -> Option<&Arc<Tool>> {
        let at = self.tools.binary_search_by(|tool| tool.public_name.as_str().cmp(public_name)).ok()?;
        self.tools.get(at)
    }

    /// Different for each snapshot of this process.
    #[must_use]
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// The page of tools whose names come after `after`, or the first one. Rendered once per snapshot, except for a
    /// client that began its walk in another snapshot.
    #[must_use]
    pub fn page(&self, after: Option<&str>) -> Page {
        let pages = self.pages.get_or_init(|| page::render_all(&self.tools));
        let rendered = match after {
            None => pages.first(),
            Some(name) => {
                let before = pages.iter().position(|page| page.next.as_deref() == Some(name));
                before.and_then(|before| pages.get(before + 1))
            }
        };
        rendered.cloned().unwrap_or_else(|| {
            let from = self.tools.partition_point(|tool| Some(tool.public_name.as_str()) <= after);
            page::render(self.tools.get(from..).unwrap_or_default())
        })
    }
}
