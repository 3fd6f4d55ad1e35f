//! Why the process ends, and what its exit code says about that.

pub mod record;

use std::fmt;

/// Stopped by SIGTERM or SIGINT, and everything is closed.
pub const CLEAN: u8 = 0;
/// A budget is exhausted: whoever started us is to take over. Nothing else exits with it.
pub const EXHAUSTED: u8 = 1;
/// The command line makes no sense.
pub const USAGE: u8 = 2;
/// The job can't be done at start: an address is in use, the state directory is locked, strict start-up failed. `EX_UNAVAILABLE`.
pub const UNAVAILABLE: u8 = 69;
/// An internal error, a panic in a supervising loop, an incomplete stop. `EX_SOFTWARE`.
pub const INTERNAL: u8 = 70;
/// The configuration is invalid. `EX_CONFIG`.
pub const CONFIG: u8 = 78;

/// Why `mcp-sidecar run` ends.
#[derive(Clone, Debug, PartialEq)]
pub enum ExitReason {
    /// SIGTERM or SIGINT.
    Signal,
    /// The budget of a required target, or of all, is exhausted; or a target is stuck, which counts alike.
    BudgetExhausted(Exhaustion),
    /// An address can't be listened on.
    AddressUnavailable(String),
    /// The state directory can't be used, most likely because another sidecar holds it.
    StateDirUnavailable(String),
    /// `fail_on_startup_error`, and the first connect of this required server failed.
    StartupFailed {
        /// The server.
        server: String,
        /// Why.
        error: String,
    },
    /// A part of ours failed in a way that only a fresh start can mend.
    Internal(String),
    /// A supervising loop panicked.
    Panic(String),
    /// Stopped, and it is not proved that everything ended.
    StopIncomplete(String),
    /// The configuration is invalid.
    Config(String),
}

/// Whose budget ran out.
#[derive(Clone, Debug, PartialEq)]
pub struct Exhaustion {
    /// The target.
    pub server: String,
    /// Attempts it spent.
    pub attempts: u32,
    /// How long it had been down, in seconds.
    pub outage_seconds: f64,
    /// The last failure, free of secrets.
    pub last_error: String,
}

impl ExitReason {
    /// The exit code.
    #[must_use]
    pub const fn code(&self) -> u8 {
        match self {
            Self::Signal => CLEAN,
            Self::BudgetExhausted(_) => EXHAUSTED,
            Self::AddressUnavailable(_) | Self::StateDirUnavailable(_) | Self::StartupFailed { .. } => UNAVAILABLE,
            Self::Internal(_) | Self::Panic(_) | Self::StopIncomplete(_) => INTERNAL,
            Self::Config(_) => CONFIG,
        }
    }

    /// The word for it in the last-exit record, the termination message and the metric `mcp_sidecar_last_exit_info`.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Signal => "signal",
            Self::BudgetExhausted(_) => "budget_exhausted",
            Self::AddressUnavailable(_) => "address_unavailable",
            Self::StateDirUnavailable(_) => "state_dir_unavailable",
            Self::StartupFailed { .. } => "startup_failed",
            Self::Internal(_) => "internal",
            Self::Panic(_) => "panic",
            Self::StopIncomplete(_) => "stop_incomplete",
            Self::Config(_) => "config",
        }
    }

    /// What remains of this reason once the stop turned out to be incomplete. Only a clean end is contradicted by it: what
    /// was wrong before is the better answer to "why".
    #[must_use]
    pub fn after_incomplete_stop(self, detail: impl Into<String>) -> Self {
        if self.code() == CLEAN { Self::StopIncomplete(detail.into()) } else { self }
    }

    /// The server that is the reason.
    #[must_use]
    pub fn server(&self) -> Option<&str> {
        match self {
            Self::BudgetExhausted(exhaustion) => Some(&exhaustion.server),
            Self::StartupFailed { server, .. } => Some(server),
            Self::Signal
            | Self::AddressUnavailable(_)
            | Self::StateDirUnavailable(_)
            | Self::Internal(_)
            | Self::Panic(_)
            | Self::StopIncomplete(_)
            | Self::Config(_) => None,
        }
    }
}

impl fmt::Display for ExitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Signal => f.write_str("stopped by a signal"),
            Self::BudgetExhausted(Exhaustion { server, attempts, last_error, .. }) => {
                write!(f, "{server} is down after {attempts} attempts: {last_error}")
            }
            Self::StartupFailed { server, error } => write!(f, "{server} failed at start: {error}"),
            Self::Panic(detail) => write!(f, "a supervising loop panicked: {detail}"),
            Self::StopIncomplete(detail) => write!(f, "the stop is incomplete: {detail}"),
            Self::AddressUnavailable(detail)
            | Self::StateDirUnavailable(detail)
            | Self::Internal(detail)
            | Self::Config(detail) => f.write_str(detail),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exhausted() -> ExitReason {
        ExitReason::BudgetExhausted(Exhaustion {
            server: "github".to_owned(),
            attempts: 10,
            outage_seconds: 151.5,
            last_error: "exit code 3".to_owned(),
        })
    }

    fn all() -> Vec<ExitReason> {
        let text = || "text".to_owned();
        vec![
            ExitReason::Signal,
            exhausted(),
            ExitReason::AddressUnavailable(text()),
            ExitReason::StateDirUnavailable(text()),
            ExitReason::StartupFailed { server: text(), error: text() },
            ExitReason::Internal(text()),
            ExitReason::Panic(text()),
            ExitReason::StopIncomplete(text()),
            ExitReason::Config(text()),
        ]
    }

    #[test]
    fn nothing_but_exhaustion_exits_1() {
        let ones: Vec<_> = all().into_iter().filter(|reason| reason.code() == 1).collect();
        assert_eq!(ones, [exhausted()]);
    }

    #[test]
    fn every_reason_has_a_word_of_its_own() {
        let words: std::collections::HashSet<_> = all().iter().map(ExitReason::word).collect();
        assert_eq!(words.len(), all().len());
    }

    #[test]
    fn an_incomplete_stop_spoils_a_clean_end_and_hides_no_other_reason() {
        assert_eq!(ExitReason::Signal.after_incomplete_stop("pid 7 lives").code(), 70);
        assert_eq!(exhausted().after_incomplete_stop("pid 7 lives"), exhausted());
    }
}
