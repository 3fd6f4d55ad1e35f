//! What the requests of one generation share: credentials, running tasks, and how it ends.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::HeaderValue;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use super::endpoint::Endpoint;
use super::headers::{Credentials, SESSION_ID};
use super::verdict::is_same;
use crate::core::cause::{Cause, CauseKind};
use crate::driver::wire::{Inbound, Inlet, RequestFailure};
use crate::jsonrpc::{Id, Message};
use crate::telemetry::Telemetry;
use crate::telemetry::note::Note;

/// Responses with 5xx in a row, without success in between, that end the generation.
const STRIKES: u32 = 3;

/// One generation's connection to a server.
pub struct Connection {
    /// Where it is.
    pub endpoint: Endpoint,
    server: String,
    telemetry: Telemetry,
    inlet: Arc<dyn Inlet>,
    credentials: Mutex<Credentials>,
    requests: Mutex<HashMap<Id, AbortHandle>>,
    /// Whether the endpoint is a session by itself.
    is_session: bool,
    over: AtomicBool,
    modern: AtomicBool,
    strikes: AtomicU32,
    stop: CancellationToken,
}

impl Connection {
    /// A connection that was not used yet.
    pub fn new(server: String, endpoint: Endpoint, inlet: Arc<dyn Inlet>, telemetry: Telemetry) -> Self {
        Self {
            endpoint,
            server,
            telemetry,
            inlet,
            credentials: Mutex::default(),
            requests: Mutex::default(),
            is_session: false,
            over: AtomicBool::new(false),
            modern: AtomicBool::new(false),
            strikes: AtomicU32::new(0),
            stop: CancellationToken::new(),
        }
    }

    /// The same for an endpoint that is a session by itself.
    pub fn to_session(server: String, endpoint: Endpoint, inlet: Arc<dyn Inlet>, telemetry: Telemetry) -> Self {
        Self { is_session: true, ..Self::new(server, endpoint, inlet, telemetry) }
    }

    /// What each request repeats.
    pub fn credentials(&self) -> Credentials {
        lock(&self.credentials).clone()
    }

    /// Takes the session that a response gives us, if it does and we have none.
    pub fn learn_session(&self, response: &reqwest::Response) {
        if let Some(session) = response.headers().get(SESSION_ID) {
            lock(&self.credentials).session.get_or_insert_with(|| session.clone());
        }
    }

    /// The handshake agreed on this revision.
    pub fn agreed(&self, version: &str) {
        self.modern.store(version >= "2026-07-28", Ordering::Relaxed);
        lock(&self.credentials).version = HeaderValue::from_str(version).ok();
    }

    /// Whether it is the modern era's.
    pub fn is_modern(&self) -> bool {
        self.modern.load(Ordering::Relaxed)
    }

    /// Whether the server should know us. In HTTP+SSE the URL that it gave us is the session.
    pub fn is_in_session(&self) -> bool {
        self.is_session || lock(&self.credentials).session.is_some()
    }

    /// Whether there still was a session to take.
    pub fn take_session(&self) -> bool {
        lock(&self.credentials).session.take().is_some()
    }

    /// Runs a task until the connection is over.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        let stop = self.stop.clone();
        tokio::spawn(async move {
            tokio::select! {
                biased;
                () = stop.cancelled() => {}
                () = task => {}
            }
        })
        .abort_handle()
    }

    /// As `spawn`; the task can be aborted by the request's id until it reports that the request is over.
    pub fn spawn_request(&self, id: Id, task: impl Future<Output = ()> + Send + 'static) {
        // Under the lock, so that a task that is over at once is not entered after it left.
        let mut requests = lock(&self.requests);
        let running = self.spawn(task);
        requests.insert(id, running);
    }

    /// The request needs no aborting any more.
    pub fn request_is_over(&self, id: &Id) {
        lock(&self.requests).remove(id);
    }

    /// Ends a request's task.
    pub fn abort_request(&self, id: &Id) {
        let running = lock(&self.requests).remove(id);
        if let Some(running) = running {
            running.abort();
        }
    }

    /// Hands in what a message holds. Whether the answer to `awaited` is in it.
    pub fn deliver(&self, message: Message, awaited: Option<&Id>) -> bool {
        let frames = match message {
            Message::One(frame) => vec![frame],
            Message::Batch(frames) => frames,
        };
        let mut answered = false;
        for frame in frames {
            let answers = frame.method.is_none()
                && frame.id.as_ref().zip(awaited).is_some_and(|(received, sent)| is_same(received, sent));
            answered |= answers;
            self.inlet.accept(Inbound::Frame(frame));
        }
        answered
    }

    /// A request failed, for itself or as not executed before the end.
    pub fn fail(&self, id: Option<&Id>, failure: RequestFailure) {
        if let Some(id) = id {
            self.inlet.accept(Inbound::RequestFailed { id: id.clone(), failure });
        }
    }

    /// A request failed with 5xx.
    pub fn strike(&self, id: Option<&Id>, cause: Cause) {
        self.fail(id, RequestFailure::Failed(cause.clone()));
        if self.strikes.fetch_add(1, Ordering::Relaxed) + 1 >= STRIKES {
            let detail = format!("{} in {STRIKES} requests in a row", cause.detail);
            self.end(Cause::new(CauseKind::ServerError, detail));
        }
    }

    /// A request met with success.
    pub fn forgive(&self) {
        self.strikes.store(0, Ordering::Relaxed);
    }

    /// The generation is over.
    pub fn end(&self, cause: Cause) {
        if !self.over.swap(true, Ordering::AcqRel) {
            self.inlet.accept(Inbound::Closed(cause));
            self.stop.cancel();
        }
    }

    /// As `end`, because the server does not know our session: there is none to say goodbye to.
    pub fn end_without_session(&self, cause: Cause) {
        self.take_session();
        self.end(cause);
    }

    /// As `end`, by our own wish.
    pub fn stop(&self) {
        self.over.store(true, Ordering::Release);
        self.stop.cancel();
    }

    /// Whether it is over.
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// The server's own stream is open.
    pub fn listening(&self, again: bool) {
        if again {
            self.telemetry.note(&Note::StreamReopened { server: self.server.clone() });
        }
        self.inlet.accept(Inbound::Listening);
    }

    /// Something came that is no message.
    pub fn junk(&self) {
        self.telemetry.note(&Note::JunkReceived { server: self.server.clone(), preview: None });
    }
}

/// A panic elsewhere leaves nothing half-done in here: each change is one statement.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
