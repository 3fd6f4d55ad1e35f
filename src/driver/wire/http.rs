//! Streamable HTTP: each frame is a POST, whose response is JSON or a stream of events; in the legacy era the server may
//! have a stream of its own besides.
//!
//! What is retried in here is only the server's own stream, bounded in pace. Everything else is told to the supervisor,
//! who owns the only budget.

mod client;
pub(super) mod connection;
pub(super) mod endpoint;
pub(super) mod events;
pub(super) mod headers;
pub(super) mod post;
mod stream;
pub(super) mod verdict;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::Method;

use super::{Inbound, Inlet, Kind, Outgoing, Wire};
use crate::config::settings::HttpSettings;
use crate::core::cause::Cause;
use crate::jsonrpc::Id;
use crate::telemetry::Telemetry;
pub use client::HttpClient;
use connection::Connection;
use endpoint::Endpoint;

/// Opens a wire over Streamable HTTP. Nothing is sent yet.
pub fn open(server: &str, settings: &HttpSettings, client: &HttpClient, telemetry: Telemetry) -> Wire {
    Wire(Kind::Http(Opened { server: server.to_owned(), endpoint: Endpoint::new(settings, client), telemetry }))
}

/// An endpoint that nobody listens to yet.
pub struct Opened {
    server: String,
    endpoint: Result<Endpoint, Cause>,
    telemetry: Telemetry,
}

impl Opened {
    pub(super) fn start(self, inlet: Arc<dyn Inlet>) -> Arc<Outlet> {
        let connection = match self.endpoint {
            Ok(endpoint) => Some(Arc::new(Connection::new(self.server, endpoint, inlet, self.telemetry))),
            Err(cause) => {
                inlet.accept(Inbound::Closed(cause));
                None
            }
        };
        Arc::new(Outlet { connection })
    }
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("http::Opened")
    }
}

/// Sends frames as POST requests.
pub struct Outlet {
    /// `None` where the settings can't be used.
    connection: Option<Arc<Connection>>,
}

impl Outlet {
    /// Requests are answered over the inlet; for all else this waits until the server has taken it in.
    pub(super) async fn send(&self, outgoing: Outgoing) -> Result<(), Cause> {
        let Some(connection) = self.connection.as_ref() else { return Err(closed()) };
        if connection.is_over() {
            return Err(closed());
        }
        if let Some(id) = outgoing.id.clone() {
            connection.spawn_request(id, post::request(Arc::clone(connection), outgoing));
            return Ok(());
        }
        let initialized = outgoing.method.as_deref() == Some("notifications/initialized");
        post::unanswered(Arc::clone(connection), outgoing).await;
        if initialized {
            connection.spawn(stream::listen(Arc::clone(connection)));
        }
        Ok(())
    }

    /// Ends the POST of a request. In the modern era that is the cancellation.
    pub(super) fn forget(&self, id: &Id) -> bool {
        self.connection.as_ref().is_some_and(|connection| {
            connection.abort_request(id);
            !connection.is_modern()
        })
    }

    pub(super) fn agreed(&self, version: &str) {
        if let Some(connection) = &self.connection {
            connection.agreed(version);
        }
    }

    /// Ends all requests, and the session if there is one.
    pub(super) async fn close(&self) {
        if let Some(connection) = &self.connection {
            connection.stop();
            say_goodbye(connection).await;
        }
    }

    /// Ends all requests at once; the session is ended in the background.
    pub(super) fn abandon(&self) {
        let Some(connection) = self.connection.clone() else { return };
        connection.stop();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let _ = tokio::time::timeout(Duration::from_secs(1), say_goodbye(&connection)).await;
            });
        }
    }
}

impl fmt::Debug for Outlet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("http::Outlet")
    }
}

/// Ends the session at the server, once.
async fn say_goodbye(connection: &Connection) {
    let credentials = connection.credentials();
    if credentials.session.is_some() && connection.take_session() {
        let headers = credentials.headers("*/*");
        // Best effort: a server that can't end sessions answers 405, and one that is gone has none.
        let _ = connection.endpoint.send(Method::DELETE, &headers, Vec::new()).await;
    }
}

fn closed() -> Cause {
    Cause::new(crate::core::cause::CauseKind::TransportClosed, "the connection is closed")
}
