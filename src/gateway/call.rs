//! `tools/call`: exactly one answer, after all of its progress, whatever the upstream does.
//!
//! The answer is plain JSON as long as nothing has to be sent before it: no progress, and no silence of more than
//! [`COMMIT`] that something between client and gateway could take for a dead connection. Else it is an event stream.
//! A client that disconnects cancels its call in both eras. (The legacy revisions would let it come back for the answer,
//! which needs resumable streams; without them nobody could receive it any more.)

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::response::Response;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, stream};
use http::StatusCode;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::account::{Account, error_code};
use super::era::Era;
use super::http::{Accepts, json};
use super::sessions::{InFlight, Session};
use super::upstream::{Answer, Refusal, ToolCall, Upstream};
use super::{Gateway, answer, sse};
use crate::jsonrpc::object::{self, Object};
use crate::jsonrpc::{Id, code};
use crate::telemetry::Telemetry;
use crate::telemetry::note::Note;

/// How long an answer may take before an event stream is begun for it, where the client takes one.
pub const COMMIT: Duration = Duration::from_secs(5);

/// Progress that may wait for a slow client, per call; the upstream waits beyond that.
const PROGRESS_BUFFER: usize = 1024;

/// A `tools/call` request.
#[derive(Debug)]
pub struct Call {
    /// Of the request.
    pub id: Id,
    /// Of the client.
    pub era: Era,
    /// Public name of the tool.
    pub name: String,
    /// Same JSON text.
    pub arguments: Option<Box<RawValue>>,
    /// What the server gets.
    pub meta: Map<String, Value>,
    /// The client's progress token as JSON text, if it wants progress.
    pub token: Option<String>,
    /// What the client takes.
    pub accepts: Accepts,
    /// Of a legacy client.
    pub session: Option<Arc<Session>>,
}

/// Carries out `call` and answers it.
pub async fn serve<U: Upstream>(gateway: &Gateway<U>, call: Call) -> Response {
    let (id, accepts) = (call.id.clone(), call.accepts);
    let Some(slot) = Slot::take(&gateway.calls, gateway.limits.calls) else {
        let message = format!("More than {} calls are in flight", gateway.limits.calls);
        return json(StatusCode::OK, answer::error(Some(&id), code::INTERNAL_ERROR, &message, None));
    };
    let mut running = Running::start(gateway, call, slot);
    let first = if accepts.stream {
        timeout(COMMIT, running.next()).await.ok()
    } else {
        Some(Step::Done(running.answer().await))
    };
    match first {
        Some(Step::Done(Some((status, text)))) => json(status, text),
        // Cancelled: no answer is expected, but HTTP needs one.
        Some(Step::Done(None)) if accepts.stream => sse::response(stream::empty()),
        Some(Step::Done(None)) => {
            json(StatusCode::OK, answer::error(Some(&id), code::INVALID_REQUEST, "The request was cancelled", None))
        }
        Some(Step::Progress(event)) => running.into_response(Some(event)),
        None => running.into_response(None),
    }
}

enum Step {
    /// An event to pass on.
    Progress(Bytes),
    /// The response, and its status where it is not yet decided; `None` if the client cancelled.
    Done(Option<(StatusCode, String)>),
}

enum Outcome {
    Answered(Answer),
    Panicked,
    Cancelled,
    Stopping,
}

/// A call in flight. Dropping it drops the upstream's future, which cancels there.
struct Running {
    id: Id,
    era: Era,
    token: Option<String>,
    future: BoxFuture<'static, Result<Answer, Box<dyn Any + Send>>>,
    progress: Option<mpsc::Receiver<Box<RawValue>>>,
    answered: Option<Answer>,
    cancel: CancellationToken,
    stop: CancellationToken,
    telemetry: Telemetry,
    account: Account,
    _slot: Slot,
    _in_flight: Option<InFlight>,
}

impl Running {
    fn start<U: Upstream>(gateway: &Gateway<U>, call: Call, slot: Slot) -> Self {
        let cancel = CancellationToken::new();
        let in_flight = call.session.as_ref().map(|session| session.enter(call.id.clone(), cancel.clone()));
        let (sender, progress) = if call.token.is_some() && call.accepts.stream {
            let (sender, receiver) = mpsc::channel(PROGRESS_BUFFER);
            (Some(sender), Some(receiver))
        } else {
            (None, None)
        };
        let account = Account::open(&gateway.telemetry, &gateway.catalogue.borrow(), call.name.clone());
        let upstream = Arc::clone(&gateway.upstream);
        let request = ToolCall {
            name: call.name,
            arguments: call.arguments,
            meta: call.meta,
            progress: sender,
            cancel: cancel.clone(),
        };
        let future = AssertUnwindSafe(async move { upstream.call(request).await }).catch_unwind().boxed();
        Self {
            id: call.id,
            era: call.era,
            token: call.token,
            future,
            progress,
            answered: None,
            cancel,
            stop: gateway.stop.hard.clone(),
            telemetry: gateway.telemetry.clone(),
            account,
            _slot: slot,
            _in_flight: in_flight,
        }
    }

    /// The next thing to send. Can be dropped and called again.
    async fn next(&mut self) -> Step {
        let outcome = match self.answered.take() {
            Some(answer) => Outcome::Answered(answer),
            None => tokio::select! {
                biased;
                () = self.cancel.cancelled() => Outcome::Cancelled,
                () = self.stop.cancelled() => Outcome::Stopping,
                Some(progress) = receive(self.progress.as_mut()) => return Step::Progress(self.event(&progress)),
                answer = &mut self.future => answer.map_or_else(|panic| self.panicked(&*panic), Outcome::Answered),
            },
        };
        // What was reported before the answer is passed on before it.
        if let (Outcome::Answered(_), Some(progress)) = (&outcome, self.progress.as_mut())
            && let Ok(progress) = progress.try_recv()
        {
            let event = self.event(&progress);
            if let Outcome::Answered(answer) = outcome {
                self.answered = Some(answer);
            }
            return Step::Progress(event);
        }
        Step::Done(self.conclude(outcome))
    }

    /// The response, without what comes before it.
    async fn answer(&mut self) -> Option<(StatusCode, String)> {
        loop {
            match self.next().await {
                Step::Progress(_) => {}
                Step::Done(answer) => return answer,
            }
        }
    }

    fn into_response(self, first: Option<Bytes>) -> Response {
        sse::response(stream::unfold((Some(self), first), async |(running, first)| {
            let mut running = running?;
            if let Some(first) = first {
                return Some((first, (Some(running), None)));
            }
            match timeout(sse::KEEP_ALIVE, running.next()).await {
                Ok(Step::Progress(event)) => Some((event, (Some(running), None))),
                Ok(Step::Done(answer)) => answer.map(|(_, answer)| (sse::event(&answer), (None, None))),
                Err(_) => Some((sse::COMMENT, (Some(running), None))),
            }
        }))
    }

    fn conclude(&mut self, outcome: Outcome) -> Option<(StatusCode, String)> {
        let (id, era) = (&self.id, self.era);
        let text = match outcome {
            Outcome::Cancelled => {
                self.account.close(Some("cancelled".to_owned()));
                return None;
            }
            Outcome::Panicked => {
                self.account.close(Some(code::INTERNAL_ERROR.to_string()));
                answer::error(Some(id), code::INTERNAL_ERROR, "The gateway failed; the outcome is unknown", None)
            }
            Outcome::Stopping => {
                let refusal = stopping(self.account.server());
                self.account.close(Some(refusal.reason.to_owned()));
                answer::refusal(id, &refusal, era)
            }
            Outcome::Answered(answer) => {
                self.account.close_with(&answer);
                match answer {
                    Answer::Result(raw) => answer::tool_result(id, &raw, era),
                    Answer::Error(raw) => {
                        let text = answer::raw_error(Some(id), raw.get());
                        let lacks = era == Era::Modern && error_code(&raw) == code::MISSING_CLIENT_CAPABILITY;
                        return Some((if lacks { StatusCode::BAD_REQUEST } else { StatusCode::OK }, text));
                    }
                    Answer::UnknownTool => {
                        let message = format!("Unknown tool: {}", self.account.requested());
                        answer::error(Some(id), code::INVALID_PARAMS, &message, None)
                    }
                    Answer::Refused(refusal) => answer::refusal(id, &refusal, era),
                }
            }
        };
        Some((StatusCode::OK, text))
    }

    fn panicked(&self, panic: &(dyn Any + Send)) -> Outcome {
        let message = panic.downcast_ref::<&str>().map(ToString::to_string);
        let message = message.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        self.telemetry.note(&Note::TaskPanicked { task: "call", message });
        Outcome::Panicked
    }

    /// A progress notification, with the client's token in the place of ours.
    fn event(&self, params: &RawValue) -> Bytes {
        let token = self.token.as_deref().unwrap_or("null");
        let params = Object::parse(params.get()).unwrap_or_default();
        let others = params.iter().filter(|(key, _)| *key != "progressToken").map(|(key, value)| (key, value.get()));
        let params = object::render(std::iter::once(("progressToken", token)).chain(others));
        sse::event(&format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{params}}}"#))
    }
}

async fn receive(progress: Option<&mut mpsc::Receiver<Box<RawValue>>>) -> Option<Box<RawValue>> {
    match progress {
        Some(progress) => progress.recv().await,
        None => None,
    }
}

fn stopping(server: &str) -> Refusal {
    Refusal {
        server: server.to_owned(),
        reason: "stopping",
        message: "mcp-sidecar is stopping; the outcome of this call is unknown".to_owned(),
        down_since: None,
        attempts: None,
        next_attempt_ms: None,
    }
}

/// One of the calls that may be in flight at a time.
struct Slot(Arc<AtomicUsize>);

impl Slot {
    fn take(taken: &Arc<AtomicUsize>, limit: usize) -> Option<Self> {
        let before = taken.fetch_add(1, Ordering::Relaxed);
        let slot = Self(Arc::clone(taken));
        (before < limit).then_some(slot)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
