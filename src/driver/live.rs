//! What the rest of the program can use of one established generation.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::child::Child;
use super::session::Session;
use crate::core::generation::Generation;

/// One generation's session, from its handshake to its end.
#[derive(Debug)]
pub struct Live {
    /// Which generation.
    pub generation: Generation,
    /// The server.
    pub server: Arc<str>,
    /// From its start to the end of its first sync.
    pub opened_in: Duration,
    /// Its session.
    pub session: Session,
    /// Its process, if it has one.
    pub child: Option<Child>,
    /// When it last showed a sign of life.
    pub pulse: Pulse,
}

/// The last proof of life, written by every answered call and therefore one atomic store, read by the target's loop
/// before each step of the machine.
#[derive(Debug)]
pub struct Pulse {
    origin: Instant,
    /// Nanoseconds after `origin`; 0 = never.
    last: AtomicU64,
}

impl Pulse {
    /// A pulse that has not beaten yet.
    #[must_use]
    pub fn new(origin: Instant) -> Self {
        Self { origin, last: AtomicU64::new(0) }
    }

    /// Marks a proof of life at `now`.
    pub fn beat(&self, now: Instant) {
        let nanos = u64::try_from(now.saturating_duration_since(self.origin).as_nanos()).unwrap_or(u64::MAX);
        self.last.fetch_max(nanos.max(1), Ordering::Relaxed);
    }

    /// The last proof of life, if it is later than `after`.
    #[must_use]
    pub fn since(&self, after: Option<Instant>) -> Option<Instant> {
        let nanos = self.last.load(Ordering::Relaxed);
        let at = (nanos > 0).then(|| self.origin + Duration::from_nanos(nanos))?;
        after.is_none_or(|after| at > after).then_some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pulse_tells_each_proof_of_life_once() {
        let origin = Instant::now();
        let pulse = Pulse::new(origin);
        assert_eq!(pulse.since(None), None);
        let first = origin + Duration::from_millis(5);
        pulse.beat(first);
        pulse.beat(origin + Duration::from_millis(3));
        assert_eq!(pulse.since(None), Some(first));
        assert_eq!(pulse.since(Some(first)), None);
    }
}
