//! One frame, one POST.

use std::sync::Arc;
use std::time::Duration;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, Method};

use super::connection::Connection;
use super::endpoint::{NoResponse, told};
use super::events::{Events, NoEvent};
use super::verdict::{Asker, Verdict, judge};
use crate::core::cause::{Cause, CauseKind};
use crate::driver::wire::{MESSAGE_LIMIT, Outgoing, RequestFailure};
use crate::jsonrpc::{self, Id};

/// The media type of a stream of events.
pub const EVENTS: &str = "text/event-stream";
/// As much of a body without success is looked at.
const PREFIX: usize = 64 * 1024;
/// And as long is it waited for.
const PREFIX_WAIT: Duration = Duration::from_secs(5);
/// How long a response that says no more than "taken" is waited for.
const UNANSWERED_WAIT: Duration = Duration::from_secs(10);
/// How long a stream that has nothing to say any more is read on, so that its connection can be used again.
const DRAIN_WAIT: Duration = Duration::from_secs(1);

/// Posts a request and hands in what comes back.
pub async fn request(connection: Arc<Connection>, outgoing: Outgoing) {
    let Some(id) = outgoing.id.clone() else { return };
    // Its stream lasts, like the server's own one of the legacy era: that it breaks is no outage.
    let lasts = outgoing.method.as_deref() == Some("subscriptions/listen");
    take(&connection, outgoing, &id, lasts).await;
    connection.request_is_over(&id);
}

/// Posts a frame that is not answered in its own response: a notification, an answer of ours, anything in HTTP+SSE. The
/// server says no more than whether it took it, and if it takes its time it has taken it nevertheless.
pub async fn unanswered(connection: Arc<Connection>, outgoing: Outgoing) {
    let id = outgoing.id.clone();
    let posting = async {
        let Some(response) = post(&connection, outgoing, id.as_ref()).await else { return };
        if media_type(response.headers()) != Some(EVENTS) {
            // Read, so that the connection can be used again.
            let _ = prefix(response).await;
        }
    };
    let _ = tokio::time::timeout(UNANSWERED_WAIT, posting).await;
    if let Some(id) = &id {
        connection.request_is_over(id);
    }
}

async fn take(connection: &Connection, outgoing: Outgoing, id: &Id, lasts: bool) {
    let Some(response) = post(connection, outgoing, Some(id)).await else { return };
    let is = |kind: &str| media_type(response.headers()).is_some_and(|found| found.eq_ignore_ascii_case(kind));
    if is("application/json") {
        take_json(connection, response, id).await;
    } else if is(EVENTS) {
        take_events(connection, response, id, lasts).await;
    } else {
        let status = response.status().as_u16();
        let kind = media_type(response.headers()).unwrap_or("no content");
        fail(connection, id, format!("HTTP {status} with {kind} is no answer to a request"));
    }
}

/// Posts a frame; the response, if it is one with success. All else is dealt with.
async fn post(connection: &Connection, outgoing: Outgoing, id: Option<&Id>) -> Option<reqwest::Response> {
    let credentials = connection.credentials();
    let headers = credentials.headers_of(&outgoing);
    let greets = outgoing.method.as_deref() == Some("initialize");
    let response = match connection.endpoint.send(Method::POST, &headers, outgoing.text).await {
        Ok(response) => response,
        Err(NoResponse::NotConnected(cause)) => {
            connection.fail(id, RequestFailure::NotExecuted(cause.clone()));
            connection.end(cause);
            return None;
        }
        Err(NoResponse::Lost(cause)) => {
            connection.end(cause);
            return None;
        }
        Err(NoResponse::Misdirected(cause)) => {
            connection.fail(id, RequestFailure::Failed(cause));
            return None;
        }
    };
    if response.status().is_success() {
        connection.forgive();
        if greets {
            connection.learn_session(&response);
        }
        return Some(response);
    }
    let (status, headers) = (response.status(), response.headers().clone());
    let body = prefix(response).await;
    match judge(status, &headers, &body, Asker { id, in_session: connection.is_in_session() }) {
        Verdict::Answer(frame) => {
            connection.forgive();
            connection.deliver(jsonrpc::Message::One(frame), id);
        }
        Verdict::SessionLost(cause) => {
            connection.fail(id, RequestFailure::NotExecuted(cause.clone()));
            connection.end_without_session(cause);
        }
        Verdict::AuthRequired(cause) => {
            connection.fail(id, RequestFailure::NotExecuted(cause.clone()));
            connection.end(cause);
        }
        Verdict::ServerError(cause) => connection.strike(id, cause),
        Verdict::Refused(cause) => connection.fail(id, RequestFailure::Failed(cause)),
    }
    None
}

async fn take_json(connection: &Connection, mut response: reqwest::Response, id: &Id) {
    let mut body = Vec::with_capacity(response.content_length().map_or(0, |length| length.min(PREFIX as u64) as usize));
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if body.len() + chunk.len() > MESSAGE_LIMIT => {
                return fail(connection, id, format!("the answer is longer than {MESSAGE_LIMIT} bytes"));
            }
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Ok(None) => break,
            Err(error) => return lose(connection, &error),
        }
    }
    let answered = jsonrpc::decode(&body).is_some_and(|message| connection.deliver(message, Some(id)));
    if !answered {
        fail(connection, id, "the response is not the answer to the request".to_owned());
    }
}

async fn take_events(connection: &Connection, response: reqwest::Response, id: &Id, lasts: bool) {
    let mut events = Events::of(response);
    loop {
        match events.next().await {
            Ok(event) => {
                let Some(data) = event.data.filter(|data| !data.is_empty()) else { continue };
                match jsonrpc::decode(data.as_bytes()) {
                    Some(message) => {
                        if connection.deliver(message, Some(id)) {
                            break;
                        }
                    }
                    None => connection.junk(),
                }
            }
            // No loop of resumptions: the request is lost, the supervisor's client decides what becomes of it.
            Err(NoEvent::End) => return fail(connection, id, "the stream ended before the answer came".to_owned()),
            Err(NoEvent::Unreadable(cause)) => return connection.fail(Some(id), RequestFailure::Failed(cause)),
            Err(NoEvent::Broken(cause)) if lasts => return connection.fail(Some(id), RequestFailure::Failed(cause)),
            Err(NoEvent::Broken(cause)) => return connection.end(cause),
        }
    }
    connection.request_is_over(id);
    let _ = tokio::time::timeout(DRAIN_WAIT, async { while events.next().await.is_ok() {} }).await;
}

fn fail(connection: &Connection, id: &Id, detail: String) {
    let cause = Cause::new(CauseKind::ProtocolViolation, format!("{detail}, outcome unknown"));
    connection.fail(Some(id), RequestFailure::Failed(cause));
}

fn lose(connection: &Connection, error: &reqwest::Error) {
    let detail = format!("the connection broke in the middle of an answer: {}", told(error));
    connection.end(Cause::new(CauseKind::TransportClosed, detail));
}

/// The beginning of a body, as far as it comes in time.
async fn prefix(mut response: reqwest::Response) -> Vec<u8> {
    let mut body = Vec::new();
    let _ = tokio::time::timeout(PREFIX_WAIT, async {
        while let Ok(Some(chunk)) = response.chunk().await {
            body.extend_from_slice(&chunk);
            if body.len() >= PREFIX {
                break;
            }
        }
    })
    .await;
    body
}

/// The media type without its parameters.
pub fn media_type(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    value.split(';').next().map(str::trim)
}
