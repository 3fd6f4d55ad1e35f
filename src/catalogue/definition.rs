//! A tool's definition on its way from its server to clients: another `name`, else the same JSON.

use serde_json::value::RawValue;

use crate::jsonrpc::object::{self, Object};

/// Members that a definition may have, and the first character of a value of the right type. Clients check whole lists:
/// one member of a wrong type would hide the tools of all servers from them.
const OPTIONAL: [(&str, u8); 7] = [
    ("title", b'"'),
    ("description", b'"'),
    ("icons", b'['),
    ("outputSchema", b'{'),
    ("annotations", b'{'),
    ("execution", b'{'),
    ("_meta", b'{'),
];

/// The definition with `public_name` as its `name`; key order, unknown keys and the text of every value stay.
/// An optional member that is `null` is left out, which means the same and is understood by all clients.
///
/// # Errors
/// Why clients couldn't use it.
pub fn rename(definition: &RawValue, public_name: &str) -> Result<Box<RawValue>, String> {
    let object = Object::parse(definition.get()).map_err(|_| "its definition is no JSON object".to_owned())?;
    check_schema(object.get("inputSchema"))?;
    let mut name = String::new();
    object::push_string(&mut name, public_name);
    let mut members = Vec::new();
    let mut named = false;
    for (key, value) in object.iter() {
        if key == "name" {
            if !named {
                members.push((key, name.as_str()));
            }
            named = true;
        } else if is_wanted(key, value)? {
            members.push((key, value.get()));
        }
    }
    if !named {
        return Err("its definition has no name".to_owned());
    }
    RawValue::from_string(object::render(members)).map_err(|error| error.to_string())
}

fn check_schema(schema: Option<&RawValue>) -> Result<(), String> {
    let schema = schema.and_then(|schema| Object::parse(schema.get()).ok());
    match schema.and_then(|schema| schema.get("type")).map(RawValue::get) {
        Some(r#""object""#) => Ok(()),
        Some(_) | None => Err(r#"its inputSchema is no schema of type "object""#.to_owned()),
    }
}

fn is_wanted(key: &str, value: &RawValue) -> Result<bool, String> {
    match OPTIONAL.iter().find(|(name, _)| *name == key) {
        None => Ok(true),
        Some(_) if value.get() == "null" => Ok(false),
        Some((_, first)) if value.get().as_bytes().first() == Some(first) => Ok(true),
        Some(_) => Err(format!("its {key} is of a wrong type")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn renamed(text: &str) -> Result<String, String> {
        rename(&RawValue::from_string(text.to_owned()).unwrap(), "s__t").map(|raw| raw.get().to_owned())
    }

    #[test]
    fn nothing_but_the_name_changes() {
        let text = r#"{"xTool":[1.10,12345678901234567890123],"inputSchema":{"z":1,"type":"object","a":{"b" :2}},"name":"t","_meta":{"k":1e2},"execution":{"taskSupport":"optional"},"description":"é\u00e9"}"#;
        assert_eq!(renamed(text).unwrap(), text.replace(r#""name":"t""#, r#""name":"s__t""#));
    }

    #[test]
    fn a_null_where_nothing_is_required_is_left_out() {
        let text = r#"{"name":"t","title":null,"inputSchema":{"type":"object"},"annotations":null,"x":null}"#;
        assert_eq!(renamed(text).unwrap(), r#"{"name":"s__t","inputSchema":{"type":"object"},"x":null}"#);
    }

    #[test]
    fn what_clients_would_choke_on_is_refused() {
        for bad in [
            "[]",
            r#"{"name":"t"}"#,
            r#"{"name":"t","inputSchema":null}"#,
            r#"{"name":"t","inputSchema":{"type":"string"}}"#,
            r#"{"name":"t","inputSchema":{"properties":{}}}"#,
            r#"{"inputSchema":{"type":"object"}}"#,
            r#"{"name":"t","inputSchema":{"type":"object"},"description":7}"#,
        ] {
            assert!(renamed(bad).is_err(), "{bad}");
        }
    }
}
