//! Headers that repeat a part of the body, so that what is between client and server can route by them. Where the two
//! disagree, somebody could be made to route one request and carry out another.

use std::borrow::Cow;

use http::HeaderMap;
use serde_json::Value;
use serde_json::value::RawValue;

use super::Refused;
use crate::catalogue::param_headers::ParamHeader;
use crate::gateway::http::PROTOCOL_VERSION;
use crate::jsonrpc::code;

const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";

/// The refusal for a disagreement.
pub fn mismatch(message: impl Into<String>) -> Refused {
    Refused::bad_request(code::HEADER_MISMATCH, format!("Header mismatch: {}", message.into()))
}

/// `MCP-Protocol-Version`, if it is there.
pub fn version(headers: &HeaderMap) -> Result<Option<&str>, Refused> {
    single(headers, PROTOCOL_VERSION)
}

/// `Mcp-Method` must be the body's `method`.
pub fn check_method(headers: &HeaderMap, method: &str) -> Result<(), Refused> {
    match single(headers, METHOD)? {
        None => Err(mismatch("Mcp-Method is missing")),
        Some(value) if value != method => Err(mismatch("Mcp-Method differs from the body's method")),
        Some(_) => Ok(()),
    }
}

/// `Mcp-Name` must be the body's `params.name`.
pub fn check_name(headers: &HeaderMap, name: &str) -> Result<(), Refused> {
    match single(headers, NAME)?.map(decode) {
        None => Err(mismatch("Mcp-Name is missing")),
        Some(Some(value)) if value == name => Ok(()),
        Some(_) => Err(mismatch("Mcp-Name differs from params.name")),
    }
}

/// Each `Mcp-Param-…` that the tool's schema asks for must be there exactly if its argument is, and say the same.
pub fn check_params(
    headers: &HeaderMap,
    annotated: &[ParamHeader],
    arguments: Option<&RawValue>,
) -> Result<(), Refused> {
    if annotated.is_empty() {
        return Ok(());
    }
    let arguments: Value = arguments.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
    for ParamHeader { path, header } in annotated {
        let value = path.iter().try_fold(&arguments, |value, key| value.get(key)).filter(|value| !value.is_null());
        let given = single(headers, header)?;
        let agrees = match (given, value) {
            (None, None) => true,
            (Some(given), Some(value)) => decode(given).is_some_and(|given| says(&given, value)),
            (Some(_), None) | (None, Some(_)) => false,
        };
        if !agrees {
            return Err(mismatch(format!("{header} differs from the argument {}", path.join("."))));
        }
    }
    Ok(())
}

fn says(header: &str, value: &Value) -> bool {
    match value {
        Value::String(text) => text == header,
        Value::Bool(flag) => header == if *flag { "true" } else { "false" },
        Value::Number(number) => {
            number.to_string() == header || header.parse::<f64>().is_ok_and(|header| number.as_f64() == Some(header))
        }
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

/// The value of a header that must not be repeated.
fn single<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, Refused> {
    let mut values = headers.get_all(name).iter();
    let Some(first) = values.next() else { return Ok(None) };
    match (first.to_str(), values.next()) {
        (Ok(value), None) => Ok(Some(value)),
        (Ok(_), Some(_)) => Err(mismatch(format!("{name} is there more than once"))),
        (Err(_), _) => Err(mismatch(format!("{name} has invalid characters"))),
    }
}

/// Undoes `=?base64?…?=`; `None` if what it wraps is no base64 of UTF-8.
fn decode(value: &str) -> Option<Cow<'_, str>> {
    let Some(wrapped) = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else {
        return Some(Cow::Borrowed(value));
    };
    String::from_utf8(base64(wrapped)?).ok().map(Cow::Owned)
}

/// RFC 4648 §4, with padding.
fn base64(text: &str) -> Option<Vec<u8>> {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let digits = text.trim_end_matches('=');
    if text.len() - digits.len() > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() * 3 / 4);
    let (mut bits, mut held) = (0u32, 0u32);
    for digit in digits.bytes() {
        let value = ALPHABET.iter().position(|known| *known == digit)?;
        bits = (bits << 6) | u32::try_from(value).ok()?;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from((bits >> held) & 0xff).ok()?);
        }
    }
    // The bits that no byte needs must be zero: there is one encoding of each value.
    (bits & ((1 << held) - 1) == 0).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(*name, HeaderValue::from_str(value).unwrap());
        }
        map
    }

    #[test]
    fn wrapped_values_are_unwrapped() {
        let decoded = |text| decode(text).map(Cow::into_owned);
        assert_eq!(decoded("plain").as_deref(), Some("plain"));
        assert_eq!(decoded("=?base64?SGVsbG8sIOS4lueVjA==?=").as_deref(), Some("Hello, \u{4e16}\u{754c}"));
        assert_eq!(decoded("=?base64?IHBhZGRlZCA=?=").as_deref(), Some(" padded "));
        assert_eq!(decoded("=?base64??=").as_deref(), Some(""));
        for bad in ["=?base64?SGVsbG8?=", "=?base64?****?=", "=?base64?/w==?=", "=?base64?A===?=", "=?base64?IB==?="] {
            assert_eq!(decoded(bad), None, "{bad}");
        }
    }

    #[test]
    fn names_and_methods_must_be_repeated_exactly_once() {
        assert!(check_method(&headers(&[("mcp-method", "tools/list")]), "tools/list").is_ok());
        for bad in
            [&[][..], &[("mcp-method", "tools/call")], &[("mcp-method", "tools/list"), ("mcp-method", "tools/list")]]
        {
            assert_eq!(check_method(&headers(bad), "tools/list").unwrap_err().code, code::HEADER_MISMATCH);
        }
        assert!(check_name(&headers(&[("mcp-name", "s__t")]), "s__t").is_ok());
        assert!(check_name(&headers(&[("mcp-name", "=?base64?c19fdA==?=")]), "s__t").is_ok());
        assert!(check_name(&headers(&[("mcp-name", "S__T")]), "s__t").is_err());
    }

    #[test]
    fn annotated_arguments_must_agree_with_their_headers() {
        let annotated = [
            ParamHeader { path: vec!["region".into()], header: "mcp-param-region".into() },
            ParamHeader { path: vec!["deep".into(), "n".into()], header: "mcp-param-n".into() },
        ];
        let check = |pairs: &[(&'static str, &str)], arguments: &str| {
            let arguments = RawValue::from_string(arguments.to_owned()).unwrap();
            check_params(&headers(pairs), &annotated, Some(&arguments)).is_ok()
        };
        let region = ("mcp-param-region", "eu");
        assert!(check(&[region, ("mcp-param-n", "42.0")], r#"{"region":"eu","deep":{"n":42}}"#));
        assert!(check(&[], r#"{"region":null}"#));
        assert!(!check(&[region], r#"{}"#));
        assert!(!check(&[], r#"{"region":"eu"}"#));
        assert!(!check(&[region], r#"{"region":"us"}"#));
        assert!(!check(&[region, region], r#"{"region":"eu"}"#));
    }
}
