//! What happened, in the past tense. The only input of telemetry.

use std::time::Duration;

use super::cause::Cause;
use super::generation::Generation;
use super::status::StateName;

/// One thing that happened to a target.
#[derive(Clone, Debug, PartialEq)]
pub enum Fact {
    /// The state changed.
    StateChanged {
        /// Before.
        from: StateName,
        /// After.
        to: StateName,
    },
    /// A generation began: the first connect, an attempt, or a planned replacement.
    GenerationStarted {
        /// Which.
        generation: Generation,
        /// `None` if it is no attempt.
        attempt: Option<u32>,
    },
    /// Handshake and full sync succeeded.
    GenerationEstablished {
        /// Which.
        generation: Generation,
        /// `None` if it was no attempt.
        attempt: Option<u32>,
        /// From the start of the generation.
        took: Duration,
    },
    /// The first connect or an attempt failed ("connection failed").
    ConnectFailed {
        /// Which.
        generation: Generation,
        /// `None` if it was no attempt.
        attempt: Option<u32>,
        /// Why.
        cause: Cause,
        /// From the start of the generation.
        took: Duration,
    },
    /// An established generation ended ("connection lost").
    GenerationEnded {
        /// Which.
        generation: Generation,
        /// Why.
        cause: Cause,
        /// From establishment to its last proof of life.
        proved_uptime: Duration,
        /// Whether the ending was planned (replacement, restart, stop).
        planned: bool,
    },
    /// The close barrier passed.
    GenerationClosed {
        /// Which.
        generation: Generation,
        /// How long the barrier took.
        took: Duration,
    },
    /// The close barrier did not pass in time. The target is stuck.
    CloseOverdue {
        /// Which.
        generation: Generation,
        /// How long it has been waited for.
        waited: Duration,
    },
    /// An outage began.
    OutageBegan {
        /// Why.
        cause: Cause,
    },
    /// An outage is over.
    OutageEnded {
        /// How.
        outcome: OutageOutcome,
        /// From its begin.
        duration: Duration,
        /// Attempts spent within it.
        attempts: u32,
    },
    /// The next attempt is scheduled.
    BackoffScheduled {
        /// Its number.
        attempt: u32,
        /// The budget.
        max_attempts: u32,
        /// From now.
        delay: Duration,
        /// What made it necessary.
        cause: Cause,
    },
    /// Credentials are missing or refused; the next try is scheduled and spends nothing.
    AuthRequired {
        /// From now.
        retry_in: Duration,
        /// What the server said.
        cause: Cause,
    },
    /// A generation was proved alive beyond the stability window: the whole budget is back.
    BudgetRestored {
        /// Attempts that had been spent.
        spent: u32,
    },
    /// No attempt is left. The target is down.
    BudgetExhausted {
        /// Attempts spent.
        attempts: u32,
        /// The last failure.
        cause: Cause,
        /// Whether this ends the process.
        required: bool,
    },
    /// `reconnect.enabled = false`: the target stays down until an operator restarts it.
    RecoveryDisabled {
        /// What ended it.
        cause: Cause,
    },
    /// A probe went unanswered.
    ProbeFailed {
        /// Whose.
        generation: Generation,
        /// In a row, including this one.
        failures: u32,
        /// How many end the generation.
        allowed: u32,
        /// Why.
        cause: Cause,
    },
    /// An operator, a reload or SIGHUP gave an exhausted, disabled or stuck target a fresh budget.
    Revived,
    /// A signal was ignored.
    SignalIgnored {
        /// What it spoke of.
        generation: Generation,
        /// Why.
        reason: IgnoredReason,
    },
    /// The target is stopped and its end is proved.
    Stopped,
    /// The target is stopped and the end of this generation is not proved.
    StopIncomplete {
        /// Which.
        generation: Generation,
    },
}

/// How an outage ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OutageOutcome {
    /// A generation was established.
    Recovered,
    /// The budget ran out, or the target got stuck or was disabled.
    Exhausted,
    /// The target was stopped.
    Aborted,
}

impl OutageOutcome {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Recovered, Self::Exhausted, Self::Aborted];

    /// The value of the metric label `outcome`.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Recovered => "recovered",
            Self::Exhausted => "exhausted",
            Self::Aborted => "aborted",
        }
    }
}

/// Why a signal changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IgnoredReason {
    /// It belongs to an older generation.
    Stale,
    /// The generation's ending is already being handled: several signals make one ending.
    AlreadyEnding,
    /// The target is stopping or stopped.
    Fenced,
}

impl IgnoredReason {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Stale, Self::AlreadyEnding, Self::Fenced];

    /// The value of the metric label `reason`.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Stale => "stale",
            Self::AlreadyEnding => "already_ending",
            Self::Fenced => "fenced",
        }
    }
}
