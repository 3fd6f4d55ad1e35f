//! One raw request and its answer, with deadline, progress and cancellation.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::news::News;
use super::router::{Outcome, Router, Update};
use super::text::{self, Request};
use super::{CallError, Era};
use crate::driver::wire::{Outgoing, Outlet, RequestFailure};
use crate::jsonrpc::{Id, Reply};

/// The two directions of one session.
#[derive(Debug)]
pub struct Link {
    /// To the server.
    pub outlet: Outlet,
    /// From the server.
    pub router: Arc<Router>,
    /// To the driver.
    pub news: Arc<News>,
}

/// How long to wait.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// For the answer, from the request or the last progress on.
    pub step: Duration,
    /// For the answer, whatever the progress.
    pub max: Duration,
}

impl Patience {
    /// This long, whatever the progress.
    pub const fn fixed(limit: Duration) -> Self {
        Self { step: limit, max: limit }
    }
}

/// Who else takes part in a request.
#[derive(Default)]
pub struct Bystanders<'a> {
    /// Gets the progress.
    pub progress: Option<mpsc::Sender<Box<RawValue>>>,
    /// Ends the waiting.
    pub cancel: Option<&'a CancellationToken>,
}

impl Link {
    /// Sends a request and waits for what comes of it.
    ///
    /// # Errors
    /// There is no reply of the server. Except where the generation ended, the server was told that we wait no longer.
    pub async fn exchange(
        self: &Arc<Self>,
        era: Era,
        request: Request<'_>,
        patience: Patience,
        bystanders: Bystanders<'_>,
    ) -> Result<Reply, CallError> {
        let (id, updates) = self.router.expect().map_err(CallError::NotExecuted)?;
        let farewell = Farewell { link: Arc::clone(self), id, owed: true, told: request.cancellable };
        let outgoing = request.outgoing(id, era);
        let waiting = Waiting::new(farewell, updates, patience, bystanders);
        waiting.run(outgoing).await
    }
}

struct Waiting<'a> {
    updates: mpsc::Receiver<Update>,
    patience: Patience,
    latest: Instant,
    timer: Pin<Box<Sleep>>,
    bystanders: Bystanders<'a>,
    farewell: Farewell,
}

impl<'a> Waiting<'a> {
    fn new(
        farewell: Farewell,
        updates: mpsc::Receiver<Update>,
        patience: Patience,
        bystanders: Bystanders<'a>,
    ) -> Self {
        let begin = Instant::now();
        let timer = Box::pin(sleep_until(begin + patience.step.min(patience.max)));
        Self { updates, patience, latest: begin + patience.max, timer, bystanders, farewell }
    }

    async fn run(mut self, outgoing: Outgoing) -> Result<Reply, CallError> {
        let link = Arc::clone(&self.farewell.link);
        let sending = link.outlet.send(outgoing);
        tokio::pin!(sending);
        tokio::select! {
            biased;
            sent = &mut sending => if let Err(cause) = sent {
                // Nothing reaches this server any more, even if it goes on talking.
                self.farewell.owed = false;
                link.router.end(cause.clone());
                return Err(CallError::NotExecuted(cause));
            },
            Some(Update::Last(outcome)) = self.updates.recv() => return self.conclude_unsent(outcome),
            () = cancelled(self.bystanders.cancel) => return Err(CallError::Cancelled),
            () = &mut self.timer => return Err(CallError::Timeout(self.patience.step)),
        }
        loop {
            tokio::select! {
                biased;
                update = self.updates.recv() => match update {
                    Some(Update::Progress(params)) => self.take_progress(params).await?,
                    Some(Update::Last(outcome)) => return self.conclude(outcome),
                    // The router drops a sender only after its last update.
                    None => return Err(CallError::OutcomeUnknown(link.router.ended().await)),
                },
                () = cancelled(self.bystanders.cancel) => return Err(CallError::Cancelled),
                () = &mut self.timer => return Err(CallError::Timeout(self.patience.step)),
            }
        }
    }

    async fn take_progress(&mut self, params: Box<RawValue>) -> Result<(), CallError> {
        self.farewell.link.news.alive();
        self.timer.as_mut().reset((Instant::now() + self.patience.step).min(self.latest));
        let Some(progress) = &self.bystanders.progress else { return Ok(()) };
        tokio::select! {
            biased;
            // A reader that is gone ends nothing: the call goes on.
            _ = progress.send(params) => Ok(()),
            () = cancelled(self.bystanders.cancel) => Err(CallError::Cancelled),
            () = &mut self.timer => Err(CallError::Timeout(self.patience.step)),
        }
    }

    fn conclude(mut self, outcome: Outcome) -> Result<Reply, CallError> {
        self.farewell.owed = false;
        match outcome {
            Outcome::Answered(reply) => {
                self.farewell.link.news.alive();
                Ok(reply)
            }
            Outcome::Failed(RequestFailure::NotExecuted(cause)) => Err(CallError::NotExecuted(cause)),
            Outcome::Failed(RequestFailure::Failed(cause)) => Err(CallError::Failed(cause)),
            Outcome::Ended(cause) => Err(CallError::OutcomeUnknown(cause)),
        }
    }

    /// As `conclude`, for a frame that was not written as a whole.
    fn conclude_unsent(self, outcome: Outcome) -> Result<Reply, CallError> {
        self.conclude(outcome).map_err(|error| match error {
            CallError::OutcomeUnknown(cause) => CallError::NotExecuted(cause),
            other => other,
        })
    }
}

/// Forgets a request that nobody waits for any more, and tells the server so, unless the answer came.
struct Farewell {
    link: Arc<Link>,
    id: i64,
    owed: bool,
    /// Whether the server hears of it.
    told: bool,
}

impl Drop for Farewell {
    fn drop(&mut self) {
        if !self.owed {
            return;
        }
        self.link.router.forget(self.id);
        let tell = self.link.outlet.forget(&Id::Number(self.id));
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if tell && self.told && self.link.router.cause_of_end().is_none() {
            let (link, id) = (Arc::clone(&self.link), self.id);
            runtime.spawn(async move {
                // The end of the session is told elsewhere.
                let _ = link.outlet.send(text::cancellation(id)).await;
            });
        }
    }
}

async fn cancelled(token: Option<&CancellationToken>) {
    match token {
        Some(token) => token.cancelled().await,
        None => std::future::pending().await,
    }
}
