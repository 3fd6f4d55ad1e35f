//! What histories have seen, so that a test can tell that they saw something.

use std::ops::AddAssign;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub generations: u64,
    pub attempts: u64,
    pub recovered: u64,
    pub exhausted: u64,
    pub restored: u64,
    pub lost_sessions: u64,
    pub credentials: u64,
    pub disabled: u64,
    pub stuck: u64,
    pub revived: u64,
    pub probes: u64,
    pub failed_probes: u64,
    pub ignored: u64,
    pub escalated: u64,
    pub incomplete_stops: u64,
}

impl Tally {
    /// The smallest of all counts.
    pub fn rarest(&self) -> u64 {
        self.counts().into_iter().min().unwrap_or(0)
    }

    fn counts(&self) -> [u64; 15] {
        [
            self.generations,
            self.attempts,
            self.recovered,
            self.exhausted,
            self.restored,
            self.lost_sessions,
            self.credentials,
            self.disabled,
            self.stuck,
            self.revived,
            self.probes,
            self.failed_probes,
            self.ignored,
            self.escalated,
            self.incomplete_stops,
        ]
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.generations += other.generations;
        self.attempts += other.attempts;
        self.recovered += other.recovered;
        self.exhausted += other.exhausted;
        self.restored += other.restored;
        self.lost_sessions += other.lost_sessions;
        self.credentials += other.credentials;
        self.disabled += other.disabled;
        self.stuck += other.stuck;
        self.revived += other.revived;
        self.probes += other.probes;
        self.failed_probes += other.failed_probes;
        self.ignored += other.ignored;
        self.escalated += other.escalated;
        self.incomplete_stops += other.incomplete_stops;
    }
}
