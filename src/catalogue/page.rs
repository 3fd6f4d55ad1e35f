//! Pages of `tools/list`, as JSON text that is made once and sent many times.

use std::sync::Arc;

use super::snapshot::Tool;

/// How many tools a page has at most.
pub const PAGE: usize = 1000;

/// One page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The JSON array of definitions.
    pub tools: Arc<str>,
    /// The last name of this page, if there are more: what the next page comes after.
    pub next: Option<Arc<str>>,
}

/// All pages; one, empty, where there are no tools.
pub fn render_all(tools: &[Arc<Tool>]) -> Vec<Page> {
    let starts = (0..tools.len().max(1)).step_by(PAGE);
    starts.map(|start| render(tools.get(start..).unwrap_or_default())).collect()
}

/// The page that begins with the first of `tools`.
pub fn render(tools: &[Arc<Tool>]) -> Page {
    let page = tools.get(..PAGE).unwrap_or(tools);
    let mut text = String::with_capacity(2 + page.iter().map(|tool| tool.definition.get().len() + 1).sum::<usize>());
    text.push('[');
    for (at, tool) in page.iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        text.push_str(tool.definition.get());
    }
    text.push(']');
    let more = tools.len() > page.len();
    let next = page.last().filter(|_| more).map(|tool| tool.public_name.as_str().into());
    Page { tools: text.into(), next }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::super::snapshot::Snapshot;
    use super::*;

    fn snapshot(count: usize) -> Snapshot {
        Snapshot::new((0..count).map(|n| Arc::new(numbered(n))).collect())
    }

    fn numbered(n: usize) -> Tool {
        let public_name = format!("s__{n:05}");
        let definition = RawValue::from_string(format!(r#"{{"name":"{public_name}"}}"#)).unwrap();
        Tool {
            upstream_name: format!("{n:05}"),
            server: "s".into(),
            public_name,
            definition,
            read_only: false,
            idempotent: false,
            param_headers: Vec::new(),
        }
    }

    fn walk(snapshot: &Snapshot) -> Vec<String> {
        let (mut names, mut after): (Vec<String>, Option<Arc<str>>) = (Vec::new(), None);
        loop {
            let page = snapshot.page(after.as_deref());
            let tools: Vec<serde_json::Value> = serde_json::from_str(&page.tools).unwrap();
            assert!(tools.len() <= PAGE);
            names.extend(tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()));
            after = page.next;
            if after.is_none() {
                return names;
            }
        }
    }

    #[test]
    fn a_walk_meets_each_tool_once_in_order() {
        for count in [0, 1, PAGE - 1, PAGE, PAGE + 1, 10_000] {
            let expected: Vec<_> = (0..count).map(|n| format!("s__{n:05}")).collect();
            assert_eq!(walk(&snapshot(count)), expected);
        }
    }

    #[test]
    fn a_walk_goes_on_although_the_tool_it_stopped_at_is_gone() {
        let page = snapshot(2500).page(Some("s__01234x"));
        assert!(page.tools.starts_with(r#"[{"name":"s__01235"}"#));
        assert_eq!(page.next.as_deref(), Some("s__02234"));
        assert_eq!(snapshot(5).page(Some("zzz")), Page { tools: "[]".into(), next: None });
    }
}
