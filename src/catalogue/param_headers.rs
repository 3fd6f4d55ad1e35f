//! Arguments that clients mirror into HTTP headers because a schema says `x-mcp-header` (2026-07-28).

use serde_json::Value;
use serde_json::value::RawValue;

const ANNOTATION: &str = "x-mcp-header";

/// One such argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamHeader {
    /// Property names from the root of `arguments` to it.
    pub path: Vec<String>,
    /// The header: `mcp-param-` and the annotation, in lower case.
    pub header: String,
}

/// Those of a tool's definition. Annotations off the chain of `properties`, or that are no header names, are none.
#[must_use]
pub fn of(definition: &RawValue) -> Vec<ParamHeader> {
    let mut found = Vec::new();
    // Parsing every schema for a rare annotation would be a waste.
    if definition.get().contains(ANNOTATION)
        && let Ok(definition) = serde_json::from_str::<Value>(definition.get())
    {
        collect(&definition["inputSchema"], &mut Vec::new(), &mut found);
    }
    found
}

fn collect(schema: &Value, path: &mut Vec<String>, found: &mut Vec<ParamHeader>) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    for (name, property) in properties {
        path.push(name.clone());
        if let Some(header) = property.get(ANNOTATION).and_then(Value::as_str)
            && let Ok(header) = http::HeaderName::try_from(format!("mcp-param-{header}"))
            && !header.as_str().ends_with("mcp-param-")
        {
            found.push(ParamHeader { path: path.clone(), header: header.as_str().to_owned() });
        }
        collect(property, path, found);
        path.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_are_found_along_properties_only() {
        let text = r#"{"inputSchema":{"properties":{"region":{"x-mcp-header":"Region"},"deep":{"properties":{"id":{
            "x-mcp-header":"Id"}}},"list":{"items":{"x-mcp-header":"No"}},"bad":{"x-mcp-header":"a b"},"none":{"x-mcp-header":""}}}}"#;
        let found = of(&RawValue::from_string(text.to_owned()).unwrap());
        let expected = [("region", "mcp-param-region"), ("deep.id", "mcp-param-id")];
        let found: Vec<_> = found.iter().map(|found| (found.path.join("."), found.header.as_str())).collect();
        assert_eq!(found, expected.map(|(path, header)| (path.to_owned(), header)));
    }
}
