//! When and why the process is to end: one value that flows to whoever has to know.
//!
//! Level-triggered throughout: whoever asks late gets the same answer.

mod signals;

use std::io;
use std::sync::Arc;

use tokio::sync::watch;

use crate::exit::ExitReason;

/// The trigger and what it triggers. Cheap to clone; all clones are the same.
#[derive(Clone, Debug)]
pub struct Shutdown {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    reason: watch::Sender<Option<ExitReason>>,
    /// SIGTERMs and SIGINTs so far.
    stops: watch::Sender<u32>,
    forced: watch::Sender<bool>,
    hups: watch::Sender<u64>,
}

impl Shutdown {
    /// One that only the program itself triggers.
    #[must_use]
    pub fn new() -> Self {
        let inner = Inner {
            reason: watch::Sender::new(None),
            stops: watch::Sender::new(0),
            forced: watch::Sender::new(false),
            hups: watch::Sender::new(0),
        };
        Self { inner: Arc::new(inner) }
    }

    /// One that SIGTERM, SIGINT and SIGHUP of this process trigger as well. To be called once, before anything else.
    ///
    /// The second SIGTERM or SIGINT forces. `last_resort` is called on the signals' own thread if the process still lives
    /// [`FORCE_GRACE`] later, whatever became of the async runtime: it ends the process.
    ///
    /// # Errors
    /// The signals can't be registered.
    ///
    /// [`FORCE_GRACE`]: signals::FORCE_GRACE
    pub fn with_signals(last_resort: impl FnOnce(ExitReason) + Send + 'static) -> io::Result<Self> {
        let shutdown = Self::new();
        signals::listen(shutdown.clone(), last_resort)?;
        Ok(shutdown)
    }

    /// Asks for a graceful stop. The first reason stays: a signal after exhaustion does not turn exit code 1 into 0.
    pub fn trigger(&self, reason: ExitReason) {
        self.inner.reason.send_if_modified(|first| {
            let is_first = first.is_none();
            if is_first {
                *first = Some(reason);
            }
            is_first
        });
    }

    /// Asks for the end at once: nothing is waited for, the guardian ends what is left.
    pub fn force(&self) {
        self.trigger(ExitReason::Signal);
        self.inner.forced.send_replace(true);
    }

    /// What was asked for first, if anything was.
    #[must_use]
    pub fn reason(&self) -> Option<ExitReason> {
        self.inner.reason.borrow().clone()
    }

    /// Waits until a stop is asked for.
    pub async fn requested(&self) -> ExitReason {
        let mut reason = self.inner.reason.subscribe();
        loop {
            if let Some(reason) = reason.borrow_and_update().clone() {
                return reason;
            }
            until_changed(&mut reason).await;
        }
    }

    /// Waits until the end at once is asked for.
    pub async fn forced(&self) {
        let mut forced = self.inner.forced.subscribe();
        while !*forced.borrow_and_update() {
            until_changed(&mut forced).await;
        }
    }

    /// Waits until SIGTERM or SIGINT came, whatever asked for the stop first. That ends the linger.
    pub async fn signalled(&self) {
        let mut stops = self.inner.stops.subscribe();
        while *stops.borrow_and_update() == 0 {
            until_changed(&mut stops).await;
        }
    }

    /// How many SIGHUPs came. Each change of the value is at least one; several in a row may show as one.
    #[must_use]
    pub fn hup(&self) -> watch::Receiver<u64> {
        self.inner.hups.subscribe()
    }

    /// SIGTERM or SIGINT came. Returns whether it forces.
    fn stop_signal(&self) -> bool {
        self.trigger(ExitReason::Signal);
        self.inner.stops.send_modify(|stops| *stops = stops.saturating_add(1));
        let forces = *self.inner.stops.borrow() >= 2;
        if forces {
            self.force();
        }
        forces
    }

    /// SIGHUP came.
    fn hup_signal(&self) {
        self.inner.hups.send_modify(|hups| *hups += 1);
    }
}

impl Default for Shutdown {
    fn default() -> Self {
        Self::new()
    }
}

/// The sender lives in the very value that waits, so its end can't be seen: an error would mean to wait for ever.
async fn until_changed<T>(receiver: &mut watch::Receiver<T>) {
    if receiver.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exhaustion;

    fn exhausted() -> ExitReason {
        ExitReason::BudgetExhausted(Exhaustion {
            server: "github".to_owned(),
            attempts: 10,
            outage_seconds: 151.5,
            last_error: String::new(),
        })
    }

    #[tokio::test]
    async fn a_signal_after_exhaustion_ends_the_linger_and_leaves_the_reason() {
        let shutdown = Shutdown::new();
        shutdown.trigger(exhausted());
        assert!(!shutdown.stop_signal(), "the first signal is not the second because something else came before it");
        shutdown.signalled().await;
        assert_eq!(shutdown.requested().await, exhausted());
    }

    #[tokio::test]
    async fn the_second_signal_forces() {
        let shutdown = Shutdown::new();
        assert!(!shutdown.stop_signal());
        assert!(shutdown.stop_signal());
        shutdown.forced().await;
        assert_eq!(shutdown.reason(), Some(ExitReason::Signal));
    }

    #[tokio::test]
    async fn who_waits_before_and_who_asks_after_get_the_same_answer() {
        let shutdown = Shutdown::new();
        let early = tokio::spawn({
            let shutdown = shutdown.clone();
            async move { shutdown.requested().await }
        });
        tokio::task::yield_now().await;
        shutdown.trigger(ExitReason::Internal("first".to_owned()));
        shutdown.trigger(ExitReason::Internal("second".to_owned()));
        assert_eq!(early.await.unwrap(), ExitReason::Internal("first".to_owned()));
        assert_eq!(shutdown.requested().await, ExitReason::Internal("first".to_owned()));
    }
}
