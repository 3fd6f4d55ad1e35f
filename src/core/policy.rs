//! What the configuration decides about one target, as values.

use std::time::Duration;

/// The rules by which one machine supervises. Resolved and judged by `config::resolve` before it gets here.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// `reconnect.enabled`: without it a lost target is `disabled` until an operator restarts it.
    pub reconnect: bool,
    /// Delay before attempt 1.
    pub initial_delay: Duration,
    /// Cap of the delay, and the stability window: a generation proved alive longer than this restores the budget.
    pub max_delay: Duration,
    /// The budget.
    pub max_attempts: u32,
    /// Whether delays are jittered by at most ±10 %.
    pub jitter: bool,
    /// The close barrier's bound: without proof of the end by then the target is `stuck`.
    pub close_timeout: Duration,
    /// Pause between the last sign of life and the next probe.
    pub liveness_interval: Duration,
    /// Unanswered probes in a row that end a generation.
    pub liveness_failures: u32,
    /// Whether exhaustion of this target ends the process.
    pub required: bool,
    /// `fail_on_startup_error`: a failed first connect of a required target ends the process.
    pub strict_startup: bool,
}
