//! What the driver has to do.

use super::cause::Cause;
use super::fact::Fact;
use super::generation::Generation;

/// One order to the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Open this generation: spawn or connect, handshake, full sync. Answered by exactly one `Established` or
    /// `ConnectFailed` unless a `Close` of the generation overtakes it.
    Establish {
        /// Which.
        generation: Generation,
        /// `None` for a first connect or a planned replacement, else the number of the attempt.
        attempt: Option<u32>,
    },
    /// Make this generation's catalogue and session the ones that clients see.
    Publish {
        /// Whose.
        generation: Generation,
    },
    /// Ask for a sign of life. Answered by exactly one `ProofOfLife` or `ProbeFailed`, or by the generation's end.
    Probe {
        /// Whom.
        generation: Generation,
    },
    /// Cancel whatever runs in this generation and prove its end. Answered by exactly one `Closed`, however late.
    Close {
        /// Which.
        generation: Generation,
    },
    /// Take the target's tools out of the catalogue.
    Withdraw,
    /// Tell the process that this target forces its end.
    Escalate(Escalation),
}

/// Why one target forces the process to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Escalation {
    /// A required target's budget is exhausted, or the target is stuck: exit code 1.
    Exhausted {
        /// The last failure.
        cause: Cause,
    },
    /// Strict start-up: a required target's first connect failed: exit code 69.
    StartupFailed {
        /// The failure.
        cause: Cause,
    },
}

/// What one step put out, in order. Facts and actions of one step belong together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outbox {
    /// To be carried out, in order.
    pub actions: Vec<Action>,
    /// To be recorded, in order.
    pub facts: Vec<Fact>,
}
