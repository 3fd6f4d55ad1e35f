//! Series that exist before anything happened: a counter that appears only with its first event hides that event from
//! `rate()`.

use super::catalog::Metric;
use super::series::Series;
use crate::core::cause::CauseKind;
use crate::core::fact::{IgnoredReason, OutageOutcome};
use crate::core::status::StateName;

/// The value of `gen_ai_tool_name` for all tools beyond the cap.
pub const OTHER_TOOL: &str = "_other";
/// The method of every call that is measured so far.
pub const TOOLS_CALL: &str = "tools/call";
/// The last exit's reason where none is known.
pub const NO_LAST_EXIT: &str = "none";

/// Makes the series exist that belong to no server.
pub fn process(series: &Series) {
    for metric in Metric::ALL {
        match metric {
            Metric::BuildInfo => series.set(metric, &[env!("CARGO_PKG_VERSION")], 1.0),
            Metric::ProcessStartTime => series.set(metric, &[], super::unix_seconds()),
            Metric::TaskPanics => series.touch(metric, &[]),
            // Set by `Telemetry::last_exit`, for which "none" has to be known first.
            Metric::LastExitInfo
            // Of servers.
            | Metric::ConnectAttempts
            | Metric::OutageDuration
            | Metric::OutageStart
            | Metric::BudgetExhausted
            | Metric::BudgetRemaining
            | Metric::BudgetMax
            | Metric::ServerState
            | Metric::ServerUp
            | Metric::ServerGeneration
            | Metric::Tools
            | Metric::ClientOperationDuration
            | Metric::SignalsIgnored
            | Metric::StreamReopens
            | Metric::ChildStderrLines
            | Metric::JunkMessages => {}
        }
    }
}

/// Makes the series of one server exist.
pub fn server(series: &Series, name: &str, max_attempts: u32) {
    for metric in Metric::ALL {
        match metric {
            Metric::BuildInfo | Metric::ProcessStartTime | Metric::LastExitInfo | Metric::TaskPanics => {}
            Metric::ConnectAttempts => {
                series.touch(metric, &[name, "success", ""]);
                for kind in CauseKind::ALL {
                    series.touch(metric, &[name, "failure", kind.label()]);
                }
            }
            Metric::OutageDuration => {
                for outcome in OutageOutcome::ALL {
                    series.touch(metric, &[name, outcome.label()]);
                }
            }
            Metric::BudgetRemaining | Metric::BudgetMax => series.set(metric, &[name], f64::from(max_attempts)),
            Metric::ServerState => {
                for state in StateName::ALL {
                    series.set(metric, &[name, state.label()], if state == StateName::Idle { 1.0 } else { 0.0 });
                }
            }
            Metric::ClientOperationDuration => series.touch(metric, &[name, TOOLS_CALL, OTHER_TOOL, ""]),
            Metric::SignalsIgnored => {
                for reason in IgnoredReason::ALL {
                    series.touch(metric, &[name, reason.label()]);
                }
            }
            Metric::OutageStart
            | Metric::BudgetExhausted
            | Metric::ServerUp
            | Metric::ServerGeneration
            | Metric::Tools
            | Metric::StreamReopens
            | Metric::ChildStderrLines
            | Metric::JunkMessages => series.touch(metric, &[name]),
        }
    }
}
