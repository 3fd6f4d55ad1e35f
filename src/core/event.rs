//! What can happen to a target, as the driver saw it.

use super::cause::Cause;
use super::generation::Generation;

/// One input of [`super::machine::Machine::step`].
///
/// Events that speak of a generation carry it; one that speaks of an older generation than the current changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Begin: the first connect.
    Start,
    /// Handshake and a full catalogue sync succeeded: recovery is proved.
    Established {
        /// Whose.
        generation: Generation,
    },
    /// The first connect or an attempt failed.
    ConnectFailed {
        /// Whose.
        generation: Generation,
        /// Why.
        cause: Cause,
    },
    /// An established generation ended. Several signals of one ending are one ending.
    Ended {
        /// Whose.
        generation: Generation,
        /// Why.
        cause: Cause,
    },
    /// An answered probe, an answered call or a call's progress.
    ProofOfLife {
        /// Whose.
        generation: Generation,
    },
    /// A liveness probe went unanswered past its own deadline.
    ProbeFailed {
        /// Whose.
        generation: Generation,
        /// Why.
        cause: Cause,
    },
    /// The close barrier passed: the generation's end is proved. May come after the barrier's bound.
    Closed {
        /// Whose.
        generation: Generation,
    },
    /// `next_deadline()` has come.
    DeadlineReached,
    /// Replace the generation on purpose (endpoint moved, settings changed): spends nothing.
    Replace {
        /// Why.
        cause: Cause,
    },
    /// An operator wants a fresh generation at once; revives exhausted, disabled and (barrier passed) stuck targets.
    Restart,
    /// Reload or SIGHUP: revives exhausted, disabled and (barrier passed) stuck targets, leaves all others alone.
    Revive,
    /// Stop for good. Nothing that starts afterwards is accepted.
    Stop,
}

impl Event {
    /// The event's kind, as an error names it and the state table heads its columns with it.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Start => "Start",
            Self::Established { .. } => "Established",
            Self::ConnectFailed { .. } => "ConnectFailed",
            Self::Ended { .. } => "Ended",
            Self::ProofOfLife { .. } => "ProofOfLife",
            Self::ProbeFailed { .. } => "ProbeFailed",
            Self::Closed { .. } => "Closed",
            Self::DeadlineReached => "DeadlineReached",
            Self::Replace { .. } => "Replace",
            Self::Restart => "Restart",
            Self::Revive => "Revive",
            Self::Stop => "Stop",
        }
    }

    /// The generation the event speaks of, if it speaks of one.
    #[must_use]
    pub const fn generation(&self) -> Option<Generation> {
        match self {
            Self::Established { generation }
            | Self::ConnectFailed { generation, .. }
            | Self::Ended { generation, .. }
            | Self::ProofOfLife { generation }
            | Self::ProbeFailed { generation, .. }
            | Self::Closed { generation } => Some(*generation),
            Self::Start | Self::DeadlineReached | Self::Replace { .. } | Self::Restart | Self::Revive | Self::Stop => {
                None
            }
        }
    }
}
