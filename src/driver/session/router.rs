//! Sorts what comes in: answers and progress of our raw requests to their waiters, what is rmcp's to rmcp.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, watch};

use super::news::News;
use crate::core::cause::{Cause, CauseKind};
use crate::driver::wire::{Inbound, Inlet, RequestFailure};
use crate::jsonrpc::{Frame, Id, Reply, code};

/// Ids of our raw requests start here; rmcp counts its own from 0 in the same id space.
pub const FIRST_ID: i64 = 1_000_000_000;
/// Progress that waits for a slow reader; what comes on top is dropped, the newest progress says it all.
const PROGRESS_BACKLOG: usize = 64;
/// Frames that wait for rmcp.
const PROTOCOL_BACKLOG: usize = 1024;

const TOOLS_CHANGED: &str = "notifications/tools/list_changed";

/// What comes of a request, in order.
#[derive(Debug)]
pub enum Update {
    /// `params` of a `notifications/progress`.
    Progress(Box<RawValue>),
    /// Nothing comes after it.
    Last(Outcome),
}

/// How a request ended.
#[derive(Debug)]
pub enum Outcome {
    /// With an answer of the server.
    Answered(Reply),
    /// Without one, for reasons of its own.
    Failed(RequestFailure),
    /// With the generation.
    Ended(Cause),
}

/// Sorts what comes in.
#[derive(Debug)]
pub struct Router {
    state: Mutex<State>,
    ended: watch::Sender<Option<Cause>>,
    next_id: AtomicI64,
    /// A `list_changed` waits for rmcp already: more of them would say the same.
    change_queued: AtomicBool,
    news: Arc<News>,
}

#[derive(Debug, Default)]
struct State {
    waiting: HashMap<i64, mpsc::Sender<Update>>,
    protocol: Option<mpsc::Sender<Frame>>,
    /// Why rmcp's last request failed, in our words; rmcp is told no more than a sentence.
    protocol_failure: Option<RequestFailure>,
    ended: Option<Cause>,
}

impl Router {
    /// A router that nobody waits on.
    pub fn new(news: Arc<News>) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::default(),
            ended: watch::Sender::new(None),
            next_id: AtomicI64::new(FIRST_ID),
            change_queued: AtomicBool::new(false),
            news,
        })
    }

    /// A fresh id and what will come of its request.
    ///
    /// # Errors
    /// The generation has ended.
    pub fn expect(&self) -> Result<(i64, mpsc::Receiver<Update>), Cause> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        // One place more than progress may take: the last update always finds room.
        let (sender, updates) = mpsc::channel(PROGRESS_BACKLOG + 1);
        let mut state = self.lock();
        if let Some(cause) = &state.ended {
            return Err(cause.clone());
        }
        state.waiting.insert(id, sender);
        Ok((id, updates))
    }

    /// Nobody waits for this request's answer any more.
    pub fn forget(&self, id: i64) {
        self.lock().waiting.remove(&id);
    }

    /// Makes the receiver the one that gets what is rmcp's.
    pub fn attach_protocol(&self) -> mpsc::Receiver<Frame> {
        let (sender, frames) = mpsc::channel(PROTOCOL_BACKLOG);
        let mut state = self.lock();
        state.protocol_failure = None;
        state.protocol = state.ended.is_none().then_some(sender);
        self.change_queued.store(false, Ordering::Relaxed);
        frames
    }

    /// rmcp took a frame out of its queue.
    pub fn protocol_took(&self, frame: &Frame) {
        if frame.method.as_deref() == Some(TOOLS_CHANGED) {
            self.change_queued.store(false, Ordering::Release);
        }
    }

    /// Why rmcp's last request failed, if it did.
    pub fn protocol_failure(&self) -> Option<RequestFailure> {
        self.lock().protocol_failure.clone()
    }

    /// Ends the generation: everybody who waits is told at once. The first cause counts.
    pub fn end(&self, cause: Cause) {
        let waiting = {
            let mut state = self.lock();
            if state.ended.is_some() {
                return;
            }
            state.ended = Some(cause.clone());
            state.protocol = None;
            std::mem::take(&mut state.waiting)
        };
        for sender in waiting.into_values() {
            // Full is impossible (see `expect`), closed means nobody wants to know.
            let _ = sender.try_send(Update::Last(Outcome::Ended(cause.clone())));
        }
        self.ended.send_replace(Some(cause));
    }

    /// Waits until the generation has ended.
    pub async fn ended(&self) -> Cause {
        let mut ended = self.ended.subscribe();
        match ended.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(cause)) => cause.clone(),
            // The sender is ours: it can't be gone while we are here.
            Ok(None) | Err(_) => Cause::new(CauseKind::Internal, "the session's state is gone"),
        }
    }

    /// The cause of the end, if the generation has ended.
    pub fn cause_of_end(&self) -> Option<Cause> {
        self.lock().ended.clone()
    }

    fn take_response(&self, id: &Id, frame: Frame) {
        let Some(number) = id.as_number() else { return };
        if number < FIRST_ID {
            // A number that came back as a string is that number for rmcp, too.
            self.pass_on(Frame { id: Some(Id::Number(number)), ..frame });
            return;
        }
        let waiter = self.lock().waiting.remove(&number);
        if let (Some(waiter), Some(reply)) = (waiter, frame.into_reply()) {
            let _ = waiter.try_send(Update::Last(Outcome::Answered(reply)));
        }
    }

    fn take_failure(&self, id: &Id, failure: RequestFailure) {
        let Some(number) = id.as_number() else { return };
        if number >= FIRST_ID {
            if let Some(waiter) = self.lock().waiting.remove(&number) {
                let _ = waiter.try_send(Update::Last(Outcome::Failed(failure)));
            }
            return;
        }
        let message = failure.cause().detail.clone();
        self.lock().protocol_failure = Some(failure);
        let error = serde_json::json!({"code": code::INTERNAL_ERROR, "message": message});
        let error = serde_json::value::to_raw_value(&error).ok();
        self.pass_on(Frame { id: Some(Id::Number(number)), error, ..Frame::default() });
    }

    fn take_message(&self, method: &str, frame: Frame) {
        match method {
            "notifications/progress" => self.take_progress(frame.params),
            TOOLS_CHANGED if self.change_queued.swap(true, Ordering::Acquire) => {}
            TOOLS_CHANGED => self.pass_change_on(frame),
            // The life of a subscription is rmcp's.
            "notifications/cancelled" | "notifications/subscriptions/acknowledged" => {
                self.pass_on(frame);
            }
            _ if frame.id.is_some() => {
                self.pass_on(frame);
            }
            // Nothing that this program serves depends on another notification.
            _ => {}
        }
    }

    fn take_progress(&self, params: Option<Box<RawValue>>) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Params {
            progress_token: Id,
        }
        let Some(params) = params else { return };
        let Ok(Params { progress_token }) = serde_json::from_str(params.get()) else { return };
        let Some(number) = progress_token.as_number() else { return };
        let state = self.lock();
        if let Some(waiter) = state.waiting.get(&number).filter(|waiter| waiter.capacity() > 1) {
            let _ = waiter.try_send(Update::Progress(params));
        }
    }

    fn pass_change_on(&self, frame: Frame) {
        if !self.pass_on(frame) {
            self.change_queued.store(false, Ordering::Release);
            self.news.missed_some();
        }
    }

    /// Whether rmcp gets the frame.
    fn pass_on(&self, frame: Frame) -> bool {
        let Some(protocol) = self.lock().protocol.clone() else { return false };
        let is_notification = frame.method.is_some() && frame.id.is_none();
        match protocol.try_send(frame) {
            Ok(()) => true,
            Err(mpsc::error::TrySendError::Closed(_)) => false,
            Err(mpsc::error::TrySendError::Full(_)) if is_notification => false,
            Err(mpsc::error::TrySendError::Full(_)) => {
                let detail = format!("more than {PROTOCOL_BACKLOG} requests of the server wait for their answers");
                self.end(Cause::new(CauseKind::ProtocolViolation, detail));
                false
            }
        }
    }

    /// A panic elsewhere leaves nothing half-done in here: each change is one statement.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inlet for Router {
    fn accept(&self, inbound: Inbound) {
        match inbound {
            Inbound::Frame(frame) => match (&frame.method, &frame.id) {
                (Some(method), _) => {
                    let method = method.clone();
                    self.take_message(&method, frame);
                }
                (None, Some(id)) => {
                    let id = id.clone();
                    self.take_response(&id, frame);
                }
                // An error without an id answers nobody.
                (None, None) => {}
            },
            Inbound::RequestFailed { id, failure } => self.take_failure(&id, failure),
            Inbound::Listening => self.news.listening(),
            Inbound::Closed(cause) => self.end(cause),
        }
    }
}
