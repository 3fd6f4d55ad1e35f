//! The running outage, or the last one of a target that is down for good.

use std::time::Instant;

/// One outage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outage {
    pub(super) since: Instant,
    /// Attempts spent within it.
    pub(super) attempts: u32,
    /// `false` once its end was told: the target is exhausted, stuck or disabled, and down until it is revived.
    pub(super) running: bool,
}

impl Outage {
    pub(super) const fn begin(since: Instant) -> Self {
        Self { since, attempts: 0, running: true }
    }
}
