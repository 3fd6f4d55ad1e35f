//! The server's own stream of the legacy era: a GET that lasts. That it ends is no outage.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, Method};
use tokio::time::Instant;

use super::connection::Connection;
use super::endpoint::NoResponse;
use super::events::Events;
use super::headers::LAST_EVENT_ID;
use super::post::{EVENTS, media_type};
use super::verdict::{Asker, Verdict, judge};
use crate::driver::wire::pace::{LONGEST_PAUSE, Pace};
use crate::jsonrpc;

/// Listens as long as the connection lasts, or until the server turns out not to offer a stream.
pub async fn listen(connection: Arc<Connection>) {
    let mut listener = Listener { connection, last_event: None, wanted_pause: None, opened: false };
    let mut pace = Pace::default();
    loop {
        let begin = Instant::now();
        if listener.open().await == Offer::None {
            return;
        }
        let wanted = listener.wanted_pause.unwrap_or_default();
        tokio::time::sleep(pace.pause_after(begin.elapsed()).max(wanted)).await;
    }
}

struct Listener {
    connection: Arc<Connection>,
    last_event: Option<HeaderValue>,
    /// What the server asked for by `retry`. It may make us slower, not faster.
    wanted_pause: Option<Duration>,
    /// Whether the stream was ever open.
    opened: bool,
}

/// Whether there is something to listen to.
#[derive(PartialEq, Eq)]
enum Offer {
    /// There was, and may be again.
    Stream,
    /// There is not.
    None,
}

impl Listener {
    /// Opens the stream and reads it to its end.
    async fn open(&mut self) -> Offer {
        let credentials = self.connection.credentials();
        let mut headers = credentials.headers(EVENTS);
        if let Some(id) = &self.last_event {
            headers.insert(LAST_EVENT_ID, id.clone());
        }
        let response = match self.connection.endpoint.send(Method::GET, &headers, Vec::new()).await {
            Ok(response) => response,
            Err(NoResponse::NotConnected(cause)) => {
                self.connection.end(cause);
                return Offer::None;
            }
            // A POST will find out whether that means anything.
            Err(NoResponse::Lost(_)) => return Offer::Stream,
            Err(NoResponse::Misdirected(_)) => return Offer::None,
        };
        if !response.status().is_success() {
            return self.understand(&response, credentials.session.is_some());
        }
        if media_type(response.headers()) != Some(EVENTS) {
            return Offer::None;
        }
        let again = std::mem::replace(&mut self.opened, true);
        self.connection.listening(again);
        self.read(response).await;
        Offer::Stream
    }

    /// A server need not offer a stream; 405 says so. One that did, and denies the session now, has lost it.
    fn understand(&self, response: &reqwest::Response, in_session: bool) -> Offer {
        if response.status().is_server_error() && self.opened {
            return Offer::Stream;
        }
        if self.opened {
            let asker = Asker { id: None, in_session };
            if let Verdict::SessionLost(cause) = judge(response.status(), response.headers(), b"", asker) {
                self.connection.end_without_session(cause);
            }
        }
        Offer::None
    }

    async fn read(&mut self, response: reqwest::Response) {
        let mut events = Events::of(response);
        while let Ok(event) = events.next().await {
            if let Some(retry) = event.retry {
                self.wanted_pause = Some(Duration::from_millis(retry).min(LONGEST_PAUSE));
            }
            if let Some(id) = event.id {
                self.last_event = HeaderValue::try_from(id).ok().filter(|id| !id.is_empty());
            }
            let Some(data) = event.data.filter(|data| !data.is_empty()) else { continue };
            match jsonrpc::decode(data.as_bytes()) {
                Some(message) => {
                    self.connection.deliver(message, None);
                }
                None => self.connection.junk(),
            }
        }
    }
}
