//! The life of an established generation: how long it is proved, and when to ask for a sign of it.

use std::time::{Duration, Instant};

/// Signs of life of one established generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Life {
    established_at: Instant,
    last_sign: Instant,
    probe: Probe,
    failures: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Probe {
    /// The last sign of life is younger than any probe.
    None,
    /// Sent, unanswered.
    Pending { sent: Instant },
    /// Failed; no sign of life since.
    Failed { sent: Instant },
}

impl Life {
    /// A life that begins now.
    pub(super) const fn begin(now: Instant) -> Self {
        Self { established_at: now, last_sign: now, probe: Probe::None, failures: 0 }
    }

    pub(super) const fn established_at(&self) -> Instant {
        self.established_at
    }

    /// From establishment to the last sign of life: what happened after it proves nothing.
    pub(super) fn proved_uptime(&self) -> Duration {
        self.last_sign.saturating_duration_since(self.established_at)
    }

    /// A sign of life. It answers a pending probe, whoever asked: the server lives.
    pub(super) fn sign(&mut self, now: Instant) {
        self.last_sign = self.last_sign.max(now);
        self.probe = Probe::None;
        self.failures = 0;
    }

    /// When the next probe is due; never while one is pending.
    pub(super) fn probe_due(&self, interval: Duration) -> Option<Instant> {
        match self.probe {
            Probe::None => Some(self.last_sign + interval),
            Probe::Pending { .. } => None,
            Probe::Failed { sent } => Some(sent + interval),
        }
    }

    pub(super) fn probe_sent(&mut self, now: Instant) {
        self.probe = Probe::Pending { sent: now };
    }

    /// The pending probe failed: how many did in a row. `None` if none is pending: the server has shown life since that
    /// probe was sent.
    pub(super) fn probe_failed(&mut self) -> Option<u32> {
        match self.probe {
            Probe::Pending { sent } => {
                self.probe = Probe::Failed { sent };
                self.failures += 1;
                Some(self.failures)
            }
            Probe::None | Probe::Failed { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_secs(30);

    fn at(base: Instant, seconds: u64) -> Instant {
        base + Duration::from_secs(seconds)
    }

    #[test]
    fn a_sign_of_life_pushes_the_probe_away() {
        let base = Instant::now();
        let mut life = Life::begin(base);
        assert_eq!(life.probe_due(INTERVAL), Some(at(base, 30)));
        life.sign(at(base, 29));
        assert_eq!(life.probe_due(INTERVAL), Some(at(base, 59)));
    }

    #[test]
    fn no_second_probe_is_due_while_one_is_pending() {
        let base = Instant::now();
        let mut life = Life::begin(base);
        life.probe_sent(at(base, 30));
        assert_eq!(life.probe_due(INTERVAL), None);
    }

    #[test]
    fn after_a_failure_the_next_probe_is_an_interval_after_the_failed_one_was_sent() {
        let base = Instant::now();
        let mut life = Life::begin(base);
        life.probe_sent(at(base, 30));
        assert_eq!(life.probe_failed(), Some(1));
        assert_eq!(life.probe_due(INTERVAL), Some(at(base, 60)));
        life.probe_sent(at(base, 60));
        assert_eq!(life.probe_failed(), Some(2));
    }

    #[test]
    fn a_failure_that_life_has_overtaken_does_not_count() {
        let base = Instant::now();
        let mut life = Life::begin(base);
        life.probe_sent(at(base, 30));
        life.sign(at(base, 35));
        assert_eq!(life.probe_failed(), None);
        assert_eq!(life.probe_due(INTERVAL), Some(at(base, 65)));
    }

    #[test]
    fn uptime_counts_up_to_the_last_sign_of_life() {
        let base = Instant::now();
        let mut life = Life::begin(base);
        life.sign(at(base, 7));
        life.probe_sent(at(base, 37));
        assert_eq!(life.proved_uptime(), Duration::from_secs(7));
    }
}
