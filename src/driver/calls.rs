//! A client's call through outages: held while a generation is on its way, sent, replayed at most once, answered once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::value::RawValue;
use tokio::sync::watch;

use super::flight::FlightLog;
use super::live::Live;
use super::refusal;
use super::session::CallError;
use crate::catalogue::snapshot::{Snapshot, Tool};
use crate::config::settings::Replay;
use crate::core::admission::{Admission, RefuseReason, admit};
use crate::core::generation::Generation;
use crate::core::poison::CallKey;
use crate::core::status::Status;
use crate::gateway::upstream::{Answer, ToolCall};
use crate::jsonrpc::Reply;

/// The calls of one target.
#[derive(Debug)]
pub struct Calls {
    /// Its name.
    pub server: Arc<str>,
    /// How long a call waits for a generation.
    pub hold: Duration,
    /// What is sent a second time.
    pub replay: Replay,
    /// Its status.
    pub status: watch::Receiver<Arc<Status>>,
    /// Its established generation.
    pub live: watch::Receiver<Option<Arc<Live>>>,
    /// The catalogue, in which a held call's tool is looked up again.
    pub catalogue: watch::Receiver<Arc<Snapshot>>,
    /// Which calls are in flight.
    pub flights: Arc<FlightLog>,
    /// How many calls are held.
    pub held: AtomicUsize,
}

impl Calls {
    /// Carries one call out. Exactly one answer.
    pub async fn call(&self, mut tool: Arc<Tool>, call: &ToolCall) -> Answer {
        let key = CallKey::new(&*tool.upstream_name, call.arguments.as_deref().map(RawValue::get));
        let mut waiting_since = Instant::now();
        let mut replayed = false;
        let mut past = Generation::NONE;
        loop {
            let live = tokio::select! {
                biased;
                () = call.cancel.cancelled() => return refusal::cancelled(&self.server),
                live = self.next_live(past, waiting_since) => match live {
                    Ok(live) => live,
                    Err(reason) => return refusal::down(&self.server, reason, &self.status.borrow()),
                },
            };
            match self.look_up_again(&tool, &call.name) {
                Some(found) => tool = found,
                None => return Answer::UnknownTool,
            }
            if self.flights.is_poison(&key) {
                return refusal::poison(&self.server, &tool.public_name);
            }
            match self.send(&live, &tool, call, &key).await {
                Ok(answer) => return answer,
                Err(CallError::NotExecuted(_)) => {}
                Err(CallError::OutcomeUnknown(cause)) => {
                    if replayed || !self.may_replay(&tool) {
                        return refusal::outcome_unknown(&self.server, &tool.public_name, &cause);
                    }
                    replayed = true;
                    waiting_since = Instant::now();
                }
                Err(CallError::Failed(cause)) => return refusal::failed(&self.server, &tool.public_name, &cause),
                Err(CallError::Timeout(after)) => return refusal::timeout(&self.server, &tool.public_name, after),
                Err(CallError::Cancelled) => return refusal::cancelled(&self.server),
            }
            past = live.generation;
        }
    }

    async fn send(&self, live: &Live, tool: &Tool, call: &ToolCall, key: &CallKey) -> Result<Answer, CallError> {
        let mut flight = Flight::depart(&self.flights, live.generation, key);
        let ToolCall { arguments, meta, progress, cancel, .. } = call;
        let reply = live.session.call(&tool.upstream_name, arguments.as_deref(), meta, progress.clone(), cancel).await;
        match &reply {
            Ok(_) => {
                live.pulse.beat(Instant::now());
                flight.land(true);
            }
            // The ending took it: it stays in the log until the ending is judged.
            Err(CallError::OutcomeUnknown(_)) => flight.lost(),
            Err(CallError::NotExecuted(_) | CallError::Failed(_) | CallError::Timeout(_) | CallError::Cancelled) => {
                flight.land(false)
            }
        }
        reply.map(|reply| match reply {
            Reply::Result(result) => Answer::Result(result),
            Reply::Error(error) => Answer::Error(error),
        })
    }

    /// Waits for an established generation later than `past`, as long as the policy says.
    async fn next_live(&self, past: Generation, since: Instant) -> Result<Arc<Live>, RefuseReason> {
        let mut live = self.live.clone();
        if let Some(live) = later_than(past, &live.borrow_and_update()) {
            return Ok(live);
        }
        let held = Held::enter(&self.held);
        let mut status = self.status.clone();
        loop {
            let admission = admit(Instant::now(), since, self.hold, held.others, &status.borrow_and_update());
            // `Send` without a live generation: the status was published an instant before the session was.
            let until = match admission {
                Admission::Refuse(reason) => return Err(reason),
                Admission::Hold { until } => until,
                Admission::Send => since + self.hold.max(Duration::from_millis(100)),
            };
            tokio::select! {
                changed = live.changed() => {
                    if changed.is_err() {
                        return Err(RefuseReason::Stopping);
                    }
                    if let Some(live) = later_than(past, &live.borrow_and_update()) {
                        return Ok(live);
                    }
                }
                changed = status.changed() => {
                    if changed.is_err() {
                        return Err(RefuseReason::Stopping);
                    }
                }
                () = tokio::time::sleep_until(until.into()) => return Err(RefuseReason::Down),
            }
        }
    }

    /// The catalogue may have changed while the call was held.
    fn look_up_again(&self, tool: &Tool, public_name: &str) -> Option<Arc<Tool>> {
        self.catalogue.borrow().find(public_name).filter(|found| found.server == tool.server).cloned()
    }

    fn may_replay(&self, tool: &Tool) -> bool {
        match self.replay {
            Replay::Never => false,
            Replay::ReadOnly => tool.read_only,
            Replay::Idempotent => tool.read_only || tool.idempotent,
        }
    }
}

fn later_than(past: Generation, live: &Option<Arc<Live>>) -> Option<Arc<Live>> {
    live.as_ref().filter(|live| live.generation > past).cloned()
}

/// One more held call, until dropped.
struct Held<'a> {
    counter: &'a AtomicUsize,
    /// How many were held before this one.
    others: usize,
}

impl<'a> Held<'a> {
    fn enter(counter: &'a AtomicUsize) -> Self {
        Self { counter, others: counter.fetch_add(1, Ordering::Relaxed) }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.counter.fetch_sub(1, Ordering::Relaxed);
    }
}

/// One call in flight. Dropped without a word (the client went away), it has landed unanswered.
struct Flight<'a> {
    log: &'a FlightLog,
    generation: Generation,
    key: &'a CallKey,
    over: bool,
}

impl<'a> Flight<'a> {
    fn depart(log: &'a FlightLog, generation: Generation, key: &'a CallKey) -> Self {
        log.departed(generation, key);
        Self { log, generation, key, over: false }
    }

    fn land(&mut self, answered: bool) {
        self.over = true;
        self.log.landed(self.generation, self.key, answered);
    }

    fn lost(&mut self) {
        self.over = true;
    }
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        if !self.over {
            self.land(false);
        }
    }
}
