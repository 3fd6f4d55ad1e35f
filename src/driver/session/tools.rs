//! `tools/list`, page by page, as the same JSON text, within bounds.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::exchange::{Bystanders, Link, Patience};
use super::text::Request;
use super::{CallError, Era};
use crate::catalogue::snapshot::UpstreamTool;
use crate::core::cause::{Cause, CauseKind};
use crate::driver::wire::MESSAGE_LIMIT;
use crate::jsonrpc::Reply;

/// More pages than this are a walk that never ends.
const MAX_PAGES: usize = 10_000;
/// Bytes of all pages together. 16 MiB.
const MAX_BYTES: usize = MESSAGE_LIMIT;

/// The outcome of a walk.
pub struct Listing {
    /// Tools that can be served, in the server's order.
    pub tools: Vec<UpstreamTool>,
    /// Name (as far as there is one) and reason of those that can't.
    pub rejected: Vec<(String, String)>,
}

/// Lists all tools within `limit`.
///
/// # Errors
/// Of kind `ListFailed`, or why the generation ended.
pub async fn list(link: &Arc<Link>, era: Era, limit: Duration) -> Result<Listing, Cause> {
    let deadline = Instant::now() + limit;
    let mut walk = Walk::default();
    let mut cursor: Option<Box<RawValue>> = None;
    for _ in 0..MAX_PAGES {
        let wait = deadline.saturating_duration_since(Instant::now());
        let page = ask(link, era, cursor.as_deref(), wait).await.map_err(|error| explain(error, limit))?;
        match walk.take(&page)? {
            Some(next) => cursor = Some(next),
            None => return Ok(Listing { tools: walk.tools, rejected: walk.rejected }),
        }
    }
    Err(failed(format!("tools/list has more than {MAX_PAGES} pages")))
}

async fn ask(link: &Arc<Link>, era: Era, cursor: Option<&RawValue>, wait: Duration) -> Result<Reply, CallError> {
    let params: Vec<_> = cursor.map(|cursor| ("cursor", cursor.get())).into_iter().collect();
    link.exchange(era, Request::plain("tools/list", &params), Patience::fixed(wait), Bystanders::default()).await
}

fn explain(error: CallError, limit: Duration) -> Cause {
    match error {
        CallError::OutcomeUnknown(cause) | CallError::NotExecuted(cause) => cause,
        CallError::Failed(cause) => failed(format!("tools/list failed: {cause}")),
        CallError::Timeout(_) | CallError::Cancelled => failed(format!("tools/list was not finished within {limit:?}")),
    }
}

fn failed(detail: String) -> Cause {
    Cause::new(CauseKind::ListFailed, detail)
}

#[derive(Default)]
struct Walk {
    tools: Vec<UpstreamTool>,
    rejected: Vec<(String, String)>,
    names: HashSet<String>,
    cursors: HashSet<String>,
    bytes: usize,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    tools: Vec<Box<RawValue>>,
    next_cursor: Option<Box<RawValue>>,
}

impl Walk {
    /// Takes a page; the cursor of the next one, if there is one.
    fn take(&mut self, reply: &Reply) -> Result<Option<Box<RawValue>>, Cause> {
        let result = match reply {
            Reply::Result(result) => result.get(),
            Reply::Error(error) => return Err(failed(format!("tools/list was refused: {}", error.get()))),
        };
        self.bytes += result.len();
        if self.bytes > MAX_BYTES {
            return Err(failed(format!("tools/list is longer than {MAX_BYTES} bytes")));
        }
        let page: Page =
            serde_json::from_str(result).map_err(|error| failed(format!("the answer to tools/list: {error}")))?;
        for definition in page.tools {
            self.take_tool(definition);
        }
        let Some(next) = page.next_cursor.filter(|cursor| !matches!(cursor.get(), r#""""# | "null")) else {
            return Ok(None);
        };
        if !self.cursors.insert(next.get().to_owned()) {
            return Err(failed(format!("tools/list gave the cursor {} twice", next.get())));
        }
        Ok(Some(next))
    }

    fn take_tool(&mut self, definition: Box<RawValue>) {
        match read(definition) {
            Ok(tool) if self.names.insert(tool.name.clone()) => self.tools.push(tool),
            Ok(tool) => self.rejected.push((tool.name, "the server has another tool of this name".to_owned())),
            Err(rejection) => self.rejected.push(rejection),
        }
    }
}

/// A definition that a strict client can't read would cost it the whole list: such a tool is left out.
fn read(definition: Box<RawValue>) -> Result<UpstreamTool, (String, String)> {
    match serde_json::from_str::<rmcp::model::Tool>(definition.get()) {
        Ok(tool) => {
            let hints = tool.annotations.as_ref();
            Ok(UpstreamTool {
                read_only: hints.and_then(|hints| hints.read_only_hint).unwrap_or_default(),
                idempotent: hints.and_then(|hints| hints.idempotent_hint).unwrap_or_default(),
                name: tool.name.into_owned(),
                definition,
            })
        }
        Err(error) => Err((name_of(definition.get()), error.to_string())),
    }
}

fn name_of(definition: &str) -> String {
    #[derive(Deserialize)]
    struct Named {
        name: String,
    }
    let name = serde_json::from_str(definition).map_or_else(|_| "(without a name)".to_owned(), |Named { name }| name);
    name.chars().take(100).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str) -> Reply {
        Reply::Result(RawValue::from_string(text.to_owned()).unwrap())
    }

    #[test]
    fn one_bad_tool_never_hides_the_others() {
        let mut walk = Walk::default();
        let text = r#"{"tools":[42,{"name":7,"inputSchema":{}},{"name":"no_schema"},{"name":"bad","inputSchema":[]},
            {"name":"good","inputSchema":{"type":"object"}},{"name":"good","inputSchema":{"type":"object"}}]}"#;
        assert!(walk.take(&page(text)).unwrap().is_none());
        assert_eq!(walk.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["good"]);
        let rejected: Vec<_> = walk.rejected.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(rejected, ["(without a name)", "(without a name)", "no_schema", "bad", "good"]);
    }

    #[test]
    fn hints_are_read_and_definitions_kept_as_text() {
        let definition = r#"{"x":{"z":1.10,"a":12345678901234567890123},"name":"t","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"}}"#;
        let mut walk = Walk::default();
        walk.take(&page(&format!(r#"{{"tools":[{definition}]}}"#))).unwrap();
        let tool = &walk.tools[0];
        assert!(tool.read_only && !tool.idempotent);
        assert_eq!(tool.definition.get(), definition);
    }

    #[test]
    fn a_walk_ends_without_a_cursor_and_with_a_cursor_that_says_nothing() {
        for end in ["", r#","nextCursor":null"#, r#","nextCursor":"""#] {
            let text = format!(r#"{{"tools":[]{end}}}"#);
            assert!(Walk::default().take(&page(&text)).unwrap().is_none(), "{end}");
        }
    }

    #[test]
    fn a_walk_in_circles_is_an_error() {
        let mut walk = Walk::default();
        assert_eq!(walk.take(&page(r#"{"tools":[],"nextCursor":"a"}"#)).unwrap().unwrap().get(), r#""a""#);
        assert!(walk.take(&page(r#"{"tools":[],"nextCursor":"b"}"#)).unwrap().is_some());
        let cause = walk.take(&page(r#"{"tools":[],"nextCursor":"a"}"#)).unwrap_err();
        assert_eq!(cause.kind, CauseKind::ListFailed);
    }

    #[test]
    fn a_list_of_any_length_is_bounded() {
        let mut walk = Walk::default();
        let filler = "x".repeat(MAX_BYTES / 4);
        let mut take = |n: u32| walk.take(&page(&format!(r#"{{"tools":[],"nextCursor":"{n}","x":"{filler}"}}"#)));
        assert!((0..3).all(|n| take(n).is_ok()));
        assert_eq!(take(3).unwrap_err().kind, CauseKind::ListFailed);
    }
}
