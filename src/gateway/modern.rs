//! Clients of 2026-07-28: each request says everything about itself.

mod headers;

use std::sync::Arc;

use axum::response::Response;
use http::{HeaderMap, StatusCode};
use serde_json::{Map, Value, json};

use super::call::{self, Call};
use super::changes::{Audience, Changes};
use super::era::{Era, LEGACY_VERSIONS, MODERN_VERSION};
use super::http::{Accepts, json as json_response, status};
use super::message::{Message, Params, meta};
use super::upstream::Upstream;
use super::{Gateway, answer, sse, tools};
use crate::jsonrpc::{Id, code};

/// How long a client may believe what `server/discover` says: it only changes with the program.
const DISCOVER_TTL_MS: u64 = 60_000;

/// A request that is refused with an HTTP status of its own.
#[derive(Debug, PartialEq, Eq)]
struct Refused {
    status: StatusCode,
    code: i64,
    message: String,
    data: Option<String>,
}

impl Refused {
    fn bad_request(code: i64, message: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, code, message: message.into(), data: None }
    }
}

/// Answers a POST. `params` are `None` if they can't be read.
pub async fn post<U: Upstream>(
    gateway: &Arc<Gateway<U>>,
    headers: &HeaderMap,
    message: Message<'_>,
    params: Option<Params<'_>>,
) -> Response {
    let (id, method) = match message {
        Message::Request { id, method, .. } => (id, method),
        // This revision has none that are sent over HTTP; what a client tells anyway changes nothing.
        Message::Notification { .. } => return status(StatusCode::ACCEPTED),
        Message::Response => return status(StatusCode::BAD_REQUEST),
    };
    match request(gateway, headers, &id, &method, params).await {
        Ok(response) => response,
        Err(Refused { status, code, message, data }) => {
            json_response(status, answer::error(Some(&id), code, &message, data.as_deref()))
        }
    }
}

/// `_meta` of what we answer ourselves.
#[must_use]
pub fn server_info_meta() -> Value {
    json!({meta::SERVER_INFO: super::server_info()})
}

async fn request<U: Upstream>(
    gateway: &Arc<Gateway<U>>,
    headers: &HeaderMap,
    id: &Id,
    method: &str,
    params: Option<Params<'_>>,
) -> Result<Response, Refused> {
    let Some(params) = params else {
        return Err(Refused::bad_request(code::INVALID_PARAMS, "params can't be read"));
    };
    check_version(headers, &params)?;
    headers::check_method(headers, method)?;
    let accepts = Accepts::of(headers);
    if !accepts.json && !accepts.stream {
        return Ok(status(StatusCode::NOT_ACCEPTABLE));
    }
    let result = match method {
        "server/discover" => discover(),
        "tools/list" => {
            let snapshot = gateway.catalogue.borrow().clone();
            tools::list(&snapshot, params.cursor.as_deref(), Era::Modern).map_err(|tools::BadCursor| Refused {
                status: StatusCode::OK,
                code: code::INVALID_PARAMS,
                message: "Invalid cursor".to_owned(),
                data: None,
            })?
        }
        "tools/call" => return call(gateway, headers, id, params, accepts).await,
        "subscriptions/listen" => return listen(gateway, id, &params, accepts),
        other => {
            return Err(Refused {
                status: StatusCode::NOT_FOUND,
                code: code::METHOD_NOT_FOUND,
                message: format!("Method not found: {other}"),
                data: None,
            });
        }
    };
    Ok(json_response(StatusCode::OK, answer::result(id, &result)))
}

/// Header, `_meta` and we must agree on the revision; the rest of `_meta` that is required must be there.
fn check_version(headers: &HeaderMap, params: &Params<'_>) -> Result<(), Refused> {
    let header = headers::version(headers)?;
    let Some(declared) = params.declared_version() else {
        return match header {
            Some(header) if header != MODERN_VERSION => Err(unsupported(header)),
            Some(_) | None => Err(missing(meta::PROTOCOL_VERSION)),
        };
    };
    match header {
        None => return Err(headers::mismatch("MCP-Protocol-Version is missing")),
        Some(header) if header != declared => {
            return Err(headers::mismatch("MCP-Protocol-Version differs from the version in _meta"));
        }
        Some(_) if declared != MODERN_VERSION => return Err(unsupported(declared)),
        Some(_) => {}
    }
    match params.meta.get(meta::CLIENT_CAPABILITIES) {
        Some(Value::Object(_)) => Ok(()),
        Some(_) | None => Err(missing(meta::CLIENT_CAPABILITIES)),
    }
}

fn missing(key: &str) -> Refused {
    Refused::bad_request(code::INVALID_PARAMS, format!("params._meta is missing or has a malformed {key}"))
}

fn unsupported(requested: &str) -> Refused {
    let data = json!({"supported": supported_versions(), "requested": requested}).to_string();
    Refused {
        data: Some(data),
        ..Refused::bad_request(code::UNSUPPORTED_PROTOCOL_VERSION, "Unsupported protocol version")
    }
}

fn supported_versions() -> Vec<&'static str> {
    std::iter::once(MODERN_VERSION).chain(LEGACY_VERSIONS).collect()
}

fn discover() -> String {
    json!({
        "resultType": "complete",
        "supportedVersions": supported_versions(),
        "capabilities": super::capabilities(),
        "ttlMs": DISCOVER_TTL_MS,
        "cacheScope": "private",
        "_meta": server_info_meta(),
    })
    .to_string()
}

async fn call<U: Upstream>(
    gateway: &Arc<Gateway<U>>,
    headers: &HeaderMap,
    id: &Id,
    mut params: Params<'_>,
    accepts: Accepts,
) -> Result<Response, Refused> {
    let Some(name) = params.name.take() else {
        return Err(Refused::bad_request(code::INVALID_PARAMS, "params.name is missing"));
    };
    headers::check_name(headers, &name)?;
    let tool = gateway.catalogue.borrow().find(&name).cloned();
    if let Some(tool) = tool {
        headers::check_params(headers, &tool.param_headers, params.arguments)?;
    }
    let (token, meta) = params.take_meta();
    let arguments = params.arguments.map(ToOwned::to_owned);
    let (id, name, era) = (id.clone(), name.into_owned(), Era::Modern);
    let call = Call { id, era, name, arguments, meta, token, accepts, session: None };
    Ok(call::serve(gateway, call).await)
}

fn listen<U: Upstream>(
    gateway: &Arc<Gateway<U>>,
    id: &Id,
    params: &Params<'_>,
    accepts: Accepts,
) -> Result<Response, Refused> {
    const WANTED: &str = "toolsListChanged";
    let Some(filter) = &params.notifications else {
        return Err(Refused::bad_request(code::INVALID_PARAMS, "params.notifications is missing"));
    };
    if !accepts.stream {
        return Ok(status(StatusCode::NOT_ACCEPTABLE));
    }
    let wants_tools = filter.get(WANTED) == Some(&Value::Bool(true));
    let accepted: Map<_, _> = wants_tools.then(|| (WANTED.to_owned(), Value::Bool(true))).into_iter().collect();
    let subscription = json!({meta::SUBSCRIPTION_ID: id});
    let notify = |method: &str, params: Value| {
        sse::event(&json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string())
    };
    let mut last = server_info_meta();
    last[meta::SUBSCRIPTION_ID] = json!(id);
    let last = json!({"resultType": "complete", "_meta": last}).to_string();
    let changes = Changes {
        catalogue: gateway.catalogue.clone(),
        audience: Audience::Stream(gateway.catalogue.borrow().version()),
        first: Some(notify(
            "notifications/subscriptions/acknowledged",
            json!({"_meta": &subscription, "notifications": accepted}),
        )),
        changed: wants_tools.then(|| notify("notifications/tools/list_changed", json!({"_meta": &subscription}))),
        last: Some(sse::event(&answer::result(id, &last))),
        shutdown: gateway.stop.soft.clone(),
    };
    Ok(sse::response(changes.into_events()))
}
