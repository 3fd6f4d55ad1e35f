//! Where a machine is, and what only matters there.

use std::time::{Duration, Instant};

use super::super::cause::Cause;
use super::super::status::StateName;
use super::life::Life;

/// The state with its data. The name alone is [`StateName`].
#[derive(Clone, Debug, PartialEq)]
pub(super) enum State {
    Idle,
    Starting(Connecting),
    Established(Life),
    Closing(Closing),
    Waiting(Pause),
    Attempting(Connecting),
    Exhausted,
    Stuck(Barrier),
    Disabled,
    AuthRequired(Pause),
    Stopping(Barrier),
    Stopped {
        /// Set while a generation's end is not proved.
        unproved: Option<Barrier>,
    },
}

impl State {
    pub(super) const fn name(&self) -> StateName {
        match self {
            Self::Idle => StateName::Idle,
            Self::Starting(_) => StateName::Starting,
            Self::Established(_) => StateName::Established,
            Self::Closing(_) => StateName::Closing,
            Self::Waiting(_) => StateName::Waiting,
            Self::Attempting(_) => StateName::Attempting,
            Self::Exhausted => StateName::Exhausted,
            Self::Stuck(_) => StateName::Stuck,
            Self::Disabled => StateName::Disabled,
            Self::AuthRequired(_) => StateName::AuthRequired,
            Self::Stopping(_) => StateName::Stopping,
            Self::Stopped { .. } => StateName::Stopped,
        }
    }
}

/// A generation on its way up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Connecting {
    pub(super) since: Instant,
    /// `None`: it is no attempt and spent nothing.
    pub(super) attempt: Option<u32>,
}

/// A generation on its way down, and what comes after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Closing {
    pub(super) barrier: Barrier,
    pub(super) cause: Cause,
    pub(super) next: Next,
}

/// The close barrier of one generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Barrier {
    /// When the close was ordered.
    pub(super) since: Instant,
    /// When it is overdue.
    pub(super) deadline: Instant,
    /// Whether the end was proved after the deadline had passed.
    pub(super) passed: bool,
}

/// What follows once the barrier has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The next attempt after its delay, if one is left.
    Attempt,
    /// The session was lost: the next attempt without a delay, if one is left.
    AttemptAtOnce,
    /// Somebody ordered a fresh generation meanwhile: the next attempt without a delay, from a full budget if none is
    /// left.
    OrderedAttempt,
    /// The next try in `max_delay`, for free.
    AuthRetry,
    /// Nothing: recovery is switched off.
    Disabled,
    /// A fresh generation that stands for the closed one: it spends nothing and keeps the attempt's number.
    Again {
        /// The number.
        attempt: Option<u32>,
    },
}

/// A pause before the next try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pause {
    pub(super) due: Instant,
    pub(super) delay: Duration,
}
