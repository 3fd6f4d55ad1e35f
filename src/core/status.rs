//! What can be seen of a target from outside.

use std::time::{Duration, Instant};

use super::cause::Cause;
use super::generation::Generation;

/// The state's name, as logs, metrics and `/status` show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StateName {
    /// Nothing was asked for yet.
    Idle,
    /// A first connect or a planned replacement is under way.
    Starting,
    /// Connected and synced.
    Established,
    /// A generation ended; its end is not proved yet.
    Closing,
    /// Backoff before the next attempt.
    Waiting,
    /// An attempt is under way.
    Attempting,
    /// No attempt is left.
    Exhausted,
    /// The close barrier did not pass: reconnection stopped, fail closed.
    Stuck,
    /// Lost, and recovery is switched off.
    Disabled,
    /// Credentials are missing or refused.
    AuthRequired,
    /// Being stopped.
    Stopping,
    /// Stopped for good.
    Stopped,
}

impl StateName {
    /// All of them, in the order of the state table.
    pub const ALL: [Self; 12] = [
        Self::Idle,
        Self::Starting,
        Self::Established,
        Self::Closing,
        Self::Waiting,
        Self::Attempting,
        Self::Exhausted,
        Self::Stuck,
        Self::Disabled,
        Self::AuthRequired,
        Self::Stopping,
        Self::Stopped,
    ];

    /// The value of the metric label `state`.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Starting => "starting",
            Self::Established => "established",
            Self::Closing => "closing",
            Self::Waiting => "waiting",
            Self::Attempting => "attempting",
            Self::Exhausted => "exhausted",
            Self::Stuck => "stuck",
            Self::Disabled => "disabled",
            Self::AuthRequired => "auth_required",
            Self::Stopping => "stopping",
            Self::Stopped => "stopped",
        }
    }
}

/// A snapshot of one machine. What clients' calls, `/status` and the readiness policy look at.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// Where the machine is.
    pub state: StateName,
    /// The current generation.
    pub generation: Generation,
    /// Attempts spent of the budget.
    pub attempts: u32,
    /// The budget.
    pub max_attempts: u32,
    /// Since when the running outage lasts. Stays set in `exhausted`, `stuck` and `disabled`, which last until revival.
    pub outage_since: Option<Instant>,
    /// When the next attempt is due, in `waiting` and `auth_required`; "now" while one is under way is `None`.
    pub next_attempt: Option<Instant>,
    /// The delay that leads to `next_attempt`.
    pub delay: Option<Duration>,
    /// When the current generation was established.
    pub established_at: Option<Instant>,
    /// The last failure or ending.
    pub last_cause: Option<Cause>,
    /// Whether any generation was ever established.
    pub ever_established: bool,
    /// Whether the first connect finished, well or badly.
    pub first_connect_finished: bool,
    /// Whether exhaustion of this target ends the process.
    pub required: bool,
}
