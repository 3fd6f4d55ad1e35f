//! Clients of the revisions up to 2025-11-25: `initialize`, a session, a GET stream.

use std::sync::Arc;

use axum::response::Response;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use super::call::{self, Call};
use super::changes::{Audience, Changes};
use super::era::{self, Era};
use super::http::{Accepts, json, status};
use super::message::{Message, Params};
use super::sessions::{Full, Session};
use super::upstream::Upstream;
use super::{Gateway, answer, sse, tools};
use crate::jsonrpc::{Id, code};

/// The header that names the session.
pub const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

const TOOLS_CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;

/// Answers a POST. `params` are `None` if they can't be read.
pub async fn post<U: Upstream>(
    gateway: &Arc<Gateway<U>>,
    headers: &HeaderMap,
    message: Message<'_>,
    params: Option<Params<'_>>,
) -> Response {
    let id = if let Message::Request { id, .. } = &message { Some(id) } else { None };
    if let Message::Request { id, method, .. } = &message
        && method == "initialize"
    {
        return initialize(gateway, id, params);
    }
    let session = match find(gateway, headers, id) {
        Ok(session) => session,
        Err(response) => return *response,
    };
    match message {
        Message::Response => status(StatusCode::ACCEPTED),
        Message::Notification { method, .. } => {
            if method == "notifications/cancelled"
                && let Some(id) = params.and_then(|params| params.request_id)
            {
                session.cancel(&id);
            }
            status(StatusCode::ACCEPTED)
        }
        Message::Request { id, method, .. } => {
            let accepts = Accepts::of(headers);
            if !accepts.json && !accepts.stream {
                return status(StatusCode::NOT_ACCEPTABLE);
            }
            request(gateway, session, id, &method, params, accepts).await
        }
    }
}

async fn request<U: Upstream>(
    gateway: &Arc<Gateway<U>>,
    session: Arc<Session>,
    id: Id,
    method: &str,
    params: Option<Params<'_>>,
    accepts: Accepts,
) -> Response {
    let text = match (method, params) {
        ("ping", _) => answer::result(&id, "{}"),
        ("tools/call", Some(mut params)) => match params.name.take() {
            Some(name) => {
                let (token, meta) = params.take_meta();
                let arguments = params.arguments.map(ToOwned::to_owned);
                let (name, session) = (name.into_owned(), Some(session));
                let call = Call { id, era: Era::Legacy, name, arguments, meta, token, accepts, session };
                return call::serve(gateway, call).await;
            }
            None => answer::error(Some(&id), code::INVALID_PARAMS, "params.name is missing", None),
        },
        ("tools/list", Some(params)) => {
            let snapshot = gateway.catalogue.borrow().clone();
            match tools::list(&snapshot, params.cursor.as_deref(), Era::Legacy) {
                Ok(result) => answer::result(&id, &result),
                Err(tools::BadCursor) => answer::error(Some(&id), code::INVALID_PARAMS, "Invalid cursor", None),
            }
        }
        ("tools/call" | "tools/list", None) => {
            answer::error(Some(&id), code::INVALID_PARAMS, "params can't be read", None)
        }
        (other, _) => answer::error(Some(&id), code::METHOD_NOT_FOUND, &format!("Method not found: {other}"), None),
    };
    json(StatusCode::OK, text)
}

/// Opens the stream of notifications.
pub fn stream<U: Upstream>(gateway: &Arc<Gateway<U>>, headers: &HeaderMap) -> Response {
    let session = match find(gateway, headers, None) {
        Ok(session) => session,
        Err(response) => return *response,
    };
    if !Accepts::of(headers).stream {
        return status(StatusCode::NOT_ACCEPTABLE);
    }
    let changes = Changes {
        catalogue: gateway.catalogue.clone(),
        audience: Audience::Session(session.occupy()),
        first: Some(sse::COMMENT),
        changed: Some(sse::event(TOOLS_CHANGED)),
        last: None,
        shutdown: gateway.stop.soft.clone(),
    };
    sse::response(changes.into_events())
}

/// Ends the session.
pub fn delete<U: Upstream>(gateway: &Arc<Gateway<U>>, headers: &HeaderMap) -> Response {
    match find(gateway, headers, None) {
        Ok(_) => {
            let _ = headers.get(SESSION_ID).and_then(|id| id.to_str().ok()).map(|id| gateway.sessions.end(id));
            status(StatusCode::NO_CONTENT)
        }
        Err(response) => *response,
    }
}

fn initialize<U: Upstream>(gateway: &Arc<Gateway<U>>, id: &Id, params: Option<Params<'_>>) -> Response {
    let Some(Params { protocol_version: Some(requested), .. }) = params else {
        let text = answer::error(Some(id), code::INVALID_PARAMS, "params.protocolVersion is missing", None);
        return json(StatusCode::OK, text);
    };
    let version = gateway.catalogue.borrow().version();
    let session = match gateway.sessions.begin(version) {
        Ok(session) => session,
        Err(Full) => {
            let text = answer::error(Some(id), code::INTERNAL_ERROR, "There are too many sessions", None);
            return json(StatusCode::SERVICE_UNAVAILABLE, text);
        }
    };
    let result = serde_json::json!({
        "protocolVersion": era::negotiate(Some(&requested)),
        "capabilities": super::capabilities(),
        "serverInfo": super::server_info(),
    });
    let mut response = json(StatusCode::OK, answer::result(id, &result.to_string()));
    if let Ok(session) = HeaderValue::from_str(&session) {
        response.headers_mut().insert(SESSION_ID, session);
    }
    response
}

fn find<U: Upstream>(
    gateway: &Arc<Gateway<U>>,
    headers: &HeaderMap,
    id: Option<&Id>,
) -> Result<Arc<Session>, Box<Response>> {
    let refuse = |status, message| Err(Box::new(json(status, answer::error(id, code::INVALID_REQUEST, message, None))));
    match headers.get(SESSION_ID) {
        None => refuse(StatusCode::BAD_REQUEST, "Mcp-Session-Id is missing: initialize first"),
        Some(session) => match session.to_str().ok().and_then(|session| gateway.sessions.find(session)) {
            Some(session) => Ok(session),
            None => refuse(StatusCode::NOT_FOUND, "Session not found: initialize again"),
        },
    }
}
