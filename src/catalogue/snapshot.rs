//! One immutable state of the catalogue.

use std::sync::Arc;

use serde_json::value::RawValue;

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
}

/// All tools, sorted by public name.
#[derive(Debug, Default)]
pub struct Snapshot {
    tools: Vec<Arc<Tool>>,
}

impl Snapshot {
    /// A snapshot of these tools; sorts them. Public names must be unique.
    #[must_use]
    pub fn new(mut tools: Vec<Arc<Tool>>) -> Self {
        tools.sort_by(|a, b| a.public_name.cmp(&b.public_name));
        Self { tools }
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
}
