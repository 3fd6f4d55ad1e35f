//! What of a call HTTP repeats in headers (2026-07-28): the tool's name, and the arguments that its schema marks with
//! `x-mcp-header`.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use serde_json::Value;
use serde_json::value::RawValue;

use crate::catalogue::snapshot::UpstreamTool;
use crate::driver::wire::Mirrored;

const MARK: &str = "x-mcp-header";

/// The marks of all tools that have some.
#[derive(Debug, Default)]
pub struct Mirrors(RwLock<HashMap<String, Vec<Mark>>>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Mark {
    header: String,
    /// From the arguments' root to the value.
    path: Vec<String>,
}

impl Mirrors {
    /// Learns the marks of these tools and forgets all others.
    pub fn learn(&self, tools: &[UpstreamTool]) {
        let marked = tools.iter().filter(|tool| tool.definition.get().contains(MARK));
        let marks = marked.map(|tool| (tool.name.clone(), marks(tool.definition.get()))).collect();
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = marks;
    }

    /// What of this call is repeated.
    pub fn of(&self, tool: &str, arguments: Option<&RawValue>) -> Mirrored {
        let marks = self.0.read().unwrap_or_else(PoisonError::into_inner).get(tool).cloned().unwrap_or_default();
        let arguments = arguments.filter(|_| !marks.is_empty());
        let arguments: Option<Value> = arguments.and_then(|json| serde_json::from_str(json.get()).ok());
        let repeated = arguments.iter().flat_map(|arguments| {
            marks.iter().filter_map(|mark| Some((mark.header.clone(), plain(at(arguments, &mark.path)?)?)))
        });
        Mirrored { name: Some(tool.to_owned()), arguments: repeated.collect() }
    }
}

/// The marks on properties of primitive type, as deep as there are `properties` alone. Others are void.
fn marks(definition: &str) -> Vec<Mark> {
    let mut found = Vec::new();
    if let Ok(tool) = serde_json::from_str::<Value>(definition) {
        collect(&tool["inputSchema"]["properties"], &mut Vec::new(), &mut found);
    }
    found
}

fn collect(properties: &Value, path: &mut Vec<String>, found: &mut Vec<Mark>) {
    for (name, schema) in properties.as_object().into_iter().flatten() {
        path.push(name.clone());
        let primitive = matches!(schema["type"].as_str(), Some("string" | "integer" | "boolean"));
        if let Some(header) = schema[MARK].as_str().filter(|header| primitive && !header.is_empty()) {
            found.push(Mark { header: header.to_owned(), path: path.clone() });
        }
        collect(&schema["properties"], path, found);
        path.pop();
    }
}

fn at<'a>(arguments: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(arguments, |value, key| value.get(key))
}

fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(yes) => Some(yes.to_string()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }

    fn tool(definition: &str) -> UpstreamTool {
        UpstreamTool { name: "t".to_owned(), definition: raw(definition), read_only: false, idempotent: false }
    }

    #[test]
    fn marked_arguments_are_repeated() {
        let mirrors = Mirrors::default();
        mirrors.learn(&[tool(
            r#"{"name":"t","inputSchema":{"properties":{
                "region":{"type":"string","x-mcp-header":"Region"},
                "list":{"type":"array","x-mcp-header":"List"},
                "deep":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"Count"}}}}}}"#,
        )]);
        let call = raw(r#"{"region":"eu","list":[1],"deep":{"n":7}}"#);
        let mirrored = mirrors.of("t", Some(&call));
        assert_eq!(mirrored.name.as_deref(), Some("t"));
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(mirrored.arguments, [pair("Region", "eu"), pair("Count", "7")]);
        assert!(mirrors.of("t", Some(&raw(r#"{"region":null}"#))).arguments.is_empty());
        assert!(mirrors.of("t", None).arguments.is_empty());
        assert!(mirrors.of("other", Some(&call)).arguments.is_empty());
        mirrors.learn(&[]);
        assert!(mirrors.of("t", Some(&call)).arguments.is_empty());
    }
}
