//! HTTP+SSE as of 2024-11-05: one stream brings everything, and names where to post.

use std::fmt;
use std::sync::Arc;

use http::Method;

use super::http::HttpClient;
use super::http::connection::Connection;
use super::http::endpoint::{Endpoint, NoResponse};
use super::http::events::{Events, NoEvent};
use super::http::headers::Credentials;
use super::http::post::{self, EVENTS, media_type};
use super::http::verdict::{Asker, Verdict, judge};
use super::{Inlet, Kind, Outgoing, Wire};
use crate::config::settings::HttpSettings;
use crate::core::cause::{Cause, CauseKind};
use crate::jsonrpc::{self, Id};
use crate::telemetry::Telemetry;

/// Opens the stream and waits for the endpoint that it names. Not bounded in time: the caller's deadline of the whole
/// start is.
///
/// # Errors
/// Nobody is there, or it is no such server, or the endpoint is of another origin.
pub async fn open(
    server: &str,
    settings: &HttpSettings,
    client: &HttpClient,
    telemetry: Telemetry,
) -> Result<Wire, Cause> {
    let place = Endpoint::new(settings, client)?;
    let mut events = open_stream(&place).await?;
    let endpoint = loop {
        let event = events.next().await.map_err(|end| ended(end, "before it named an endpoint"))?;
        if event.event.as_deref() == Some("endpoint") {
            break place.sibling(event.data.unwrap_or_default().trim())?;
        }
    };
    Ok(Wire(Kind::Sse(Opened { server: server.to_owned(), endpoint, events, telemetry })))
}

async fn open_stream(place: &Endpoint) -> Result<Events, Cause> {
    let headers = Credentials::default().headers(EVENTS);
    let response = match place.send(Method::GET, &headers, Vec::new()).await {
        Ok(response) => response,
        Err(NoResponse::NotConnected(cause) | NoResponse::Lost(cause) | NoResponse::Misdirected(cause)) => {
            return Err(cause);
        }
    };
    let status = response.status();
    if !status.is_success() {
        return Err(match judge(status, response.headers(), b"", Asker { id: None, in_session: false }) {
            Verdict::SessionLost(cause)
            | Verdict::AuthRequired(cause)
            | Verdict::ServerError(cause)
            | Verdict::Refused(cause) => cause,
            Verdict::Answer(_) => Cause::new(CauseKind::HandshakeFailed, format!("HTTP {}", status.as_u16())),
        });
    }
    if media_type(response.headers()) != Some(EVENTS) {
        return Err(Cause::new(CauseKind::HandshakeFailed, "what the server offers at this URL is no event stream"));
    }
    Ok(Events::of(response))
}

fn ended(end: NoEvent, when: &str) -> Cause {
    match end {
        NoEvent::End => Cause::new(CauseKind::TransportClosed, format!("the event stream ended {when}")),
        NoEvent::Broken(cause) | NoEvent::Unreadable(cause) => cause,
    }
}

/// An open stream that nobody listens to yet.
pub struct Opened {
    server: String,
    endpoint: Endpoint,
    events: Events,
    telemetry: Telemetry,
}

impl Opened {
    pub(super) fn start(self, inlet: Arc<dyn Inlet>) -> Arc<Outlet> {
        let Self { server, endpoint, mut events, telemetry } = self;
        let connection = Arc::new(Connection::to_session(server, endpoint, inlet, telemetry));
        connection.spawn({
            let connection = Arc::clone(&connection);
            async move {
                let cause = read(&mut events, &connection).await;
                connection.end(cause);
            }
        });
        Arc::new(Outlet { connection })
    }
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sse::Opened")
    }
}

async fn read(events: &mut Events, connection: &Connection) -> Cause {
    loop {
        let event = match events.next().await {
            Ok(event) => event,
            Err(end) => return ended(end, "although the session was not closed"),
        };
        let Some(data) = event.data.filter(|data| !data.is_empty()) else { continue };
        match jsonrpc::decode(data.as_bytes()) {
            Some(message) => {
                connection.deliver(message, None);
            }
            None => connection.junk(),
        }
    }
}

/// Sends frames as POST requests, whose answers come on the stream.
pub struct Outlet {
    connection: Arc<Connection>,
}

impl Outlet {
    pub(super) async fn send(&self, outgoing: Outgoing) -> Result<(), Cause> {
        if self.connection.is_over() {
            return Err(Cause::new(CauseKind::TransportClosed, "the connection is closed"));
        }
        match outgoing.id.clone() {
            Some(id) => self.connection.spawn_request(id, post::unanswered(Arc::clone(&self.connection), outgoing)),
            None => post::unanswered(Arc::clone(&self.connection), outgoing).await,
        }
        Ok(())
    }

    /// Ends the POST of a request, if it still runs. The server has to be told in any case.
    pub(super) fn forget(&self, id: &Id) -> bool {
        self.connection.abort_request(id);
        true
    }

    /// Ends the stream and all requests; nothing else ends a session of this kind.
    pub(super) fn abandon(&self) {
        self.connection.stop();
    }
}

impl fmt::Debug for Outlet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sse::Outlet")
    }
}
