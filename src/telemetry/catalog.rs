//! Every metric there is, in one table: name, kind, unit, help and labels.
//!
//! Names are literal: nothing is added to them when they are rendered. A new metric is one variant here, one arm in
//! [`Metric::describe`], and one in [`super::touch`], which the compiler asks for.

/// A metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Metric {
    /// Always 1; its labels tell the build.
    BuildInfo,
    /// When this process started.
    ProcessStartTime,
    /// How the run before this one ended.
    LastExitInfo,
    /// Contained panics.
    TaskPanics,
    /// Finished connects.
    ConnectAttempts,
    /// Finished outages.
    OutageDuration,
    /// The running outage.
    OutageStart,
    /// Exhaustions.
    BudgetExhausted,
    /// What is left of the budget.
    BudgetRemaining,
    /// The budget.
    BudgetMax,
    /// The state set.
    ServerState,
    /// Whether the server is established.
    ServerUp,
    /// The current generation.
    ServerGeneration,
    /// Tools that are served.
    Tools,
    /// Calls.
    ClientOperationDuration,
    /// Inert signals.
    SignalsIgnored,
    /// Event streams opened again.
    StreamReopens,
    /// Lines on stderr.
    ChildStderrLines,
    /// What is no JSON-RPC message.
    JunkMessages,
}

/// What kind of metric it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Only rises.
    Counter,
    /// Rises and falls.
    Gauge,
    /// Counts observations by these upper bounds.
    Histogram(&'static [f64]),
}

/// What a metric's value counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Things, 0 or 1, or a number.
    None,
    /// Seconds, or seconds since 1970.
    Seconds,
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Description {
    /// As scrapes show it.
    pub name: &'static str,
    /// Counter, gauge or histogram.
    pub kind: Kind,
    /// What its value counts.
    pub unit: Unit,
    /// One sentence for the operator.
    pub help: &'static str,
    /// Label names. All bounded: by the configuration, by an enum, or by a cap.
    pub labels: &'static [&'static str],
}

impl Metric {
    /// All of them, in the order of the table.
    pub const ALL: [Self; 19] = [
        Self::BuildInfo,
        Self::ProcessStartTime,
        Self::LastExitInfo,
        Self::TaskPanics,
        Self::ConnectAttempts,
        Self::OutageDuration,
        Self::OutageStart,
        Self::BudgetExhausted,
        Self::BudgetRemaining,
        Self::BudgetMax,
        Self::ServerState,
        Self::ServerUp,
        Self::ServerGeneration,
        Self::Tools,
        Self::ClientOperationDuration,
        Self::SignalsIgnored,
        Self::StreamReopens,
        Self::ChildStderrLines,
        Self::JunkMessages,
    ];

    /// The metric's row.
    #[must_use]
    pub const fn describe(self) -> Description {
        match self {
            Self::BuildInfo => {
                gauge("mcp_sidecar_build_info", Unit::None, "Always 1. The label tells the build.", &["version"])
            }
            Self::ProcessStartTime => gauge(
                "process_start_time_seconds",
                Unit::Seconds,
                "Start time of the process since the Unix epoch, in seconds.",
                &[],
            ),
            Self::LastExitInfo => gauge(
                "mcp_sidecar_last_exit_info",
                Unit::None,
                "Always 1. The labels tell how the previous run that used the state directory ended, and because of which \
                 server if one was the reason. Reason \"none\": there was no such run, or there is no state directory.",
                &["reason", "server"],
            ),
            Self::TaskPanics => {
                counter("mcp_sidecar_task_panics_total", "Panics of internal tasks that were contained.", &[])
            }
            Self::ConnectAttempts => counter(
                "mcp_sidecar_connect_attempts_total",
                "Connects that finished, first connects and planned replacements included. error_type is empty on success.",
                &["server", "result", "error_type"],
            ),
            Self::OutageDuration => histogram(
                "mcp_sidecar_outage_duration_seconds",
                OUTAGE_BUCKETS,
                "How long finished outages lasted, by how they ended.",
                &["server", "outcome"],
            ),
            Self::OutageStart => gauge(
                "mcp_sidecar_outage_start_timestamp_seconds",
                Unit::Seconds,
                "When the running outage began, in seconds since the Unix epoch. 0: there is none.",
                &["server"],
            ),
            Self::BudgetExhausted => counter(
                "mcp_sidecar_budget_exhausted_total",
                "How often the budget of attempts ran out, or a server got stuck, which counts alike.",
                &["server"],
            ),
            Self::BudgetRemaining => gauge(
                "mcp_sidecar_budget_remaining_attempts",
                Unit::None,
                "Attempts that are left before the server counts as exhausted.",
                &["server"],
            ),
            Self::BudgetMax => {
                gauge("mcp_sidecar_budget_max_attempts", Unit::None, "The whole budget of attempts.", &["server"])
            }
            Self::ServerState => gauge(
                "mcp_sidecar_server_state",
                Unit::None,
                "1 for the state that the server is in, 0 for all others.",
                &["server", "state"],
            ),
            Self::ServerUp => gauge(
                "mcp_sidecar_server_up",
                Unit::None,
                "1 while the server is connected and its tools are synced.",
                &["server"],
            ),
            Self::ServerGeneration => gauge(
                "mcp_sidecar_server_generation",
                Unit::None,
                "Number of the server's current generation. 0: none yet.",
                &["server"],
            ),
            Self::Tools => {
                gauge("mcp_sidecar_tools", Unit::None, "Tools of the server that clients can see.", &["server"])
            }
            Self::ClientOperationDuration => histogram(
                "mcp_client_operation_duration_seconds",
                OPERATION_BUCKETS,
                "From the arrival of a request to its answer, waiting for a recovery included. error_type is empty on success.",
                &["server", "mcp_method_name", "gen_ai_tool_name", "error_type"],
            ),
            Self::SignalsIgnored => counter(
                "mcp_sidecar_signals_ignored_total",
                "Signals that changed nothing: of an older generation, of an ending that is being handled, or after a stop.",
                &["server", "reason"],
            ),
            Self::StreamReopens => counter(
                "mcp_sidecar_stream_reopens_total",
                "How often the server's event stream was opened again without an outage.",
                &["server"],
            ),
            Self::ChildStderrLines => counter(
                "mcp_sidecar_child_stderr_lines_total",
                "Lines that the server's process wrote to stderr, whether logged or not.",
                &["server"],
            ),
            Self::JunkMessages => counter(
                "mcp_sidecar_junk_messages_total",
                "What the server sent in place of a JSON-RPC message and was skipped.",
                &["server"],
            ),
        }
    }
}

/// Half a second to two hours: from a session that is replaced at once to a budget that is spent on the longest delays.
const OUTAGE_BUCKETS: &[f64] = &[0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 7200.0];

/// The bounds that OpenTelemetry's semantic conventions for MCP ask for.
const OPERATION_BUCKETS: &[f64] = &[0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];

const fn counter(name: &'static str, help: &'static str, labels: &'static [&'static str]) -> Description {
    Description { name, kind: Kind::Counter, unit: Unit::None, help, labels }
}

const fn gauge(name: &'static str, unit: Unit, help: &'static str, labels: &'static [&'static str]) -> Description {
    Description { name, kind: Kind::Gauge, unit, help, labels }
}

const fn histogram(
    name: &'static str,
    buckets: &'static [f64],
    help: &'static str,
    labels: &'static [&'static str],
) -> Description {
    Description { name, kind: Kind::Histogram(buckets), unit: Unit::Seconds, help, labels }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique_and_end_as_their_kind_and_unit_ask() {
        let mut seen = HashSet::new();
        for row in Metric::ALL.map(Metric::describe) {
            assert!(seen.insert(row.name), "{} stands twice in the table", row.name);
            assert_eq!(row.name.ends_with("_total"), row.kind == Kind::Counter, "{}", row.name);
            assert_eq!(row.name.ends_with("_seconds"), row.unit == Unit::Seconds, "{}", row.name);
            assert!(row.help.ends_with('.'), "{}: help is a sentence", row.name);
        }
    }

    #[test]
    fn buckets_rise() {
        for row in Metric::ALL.map(Metric::describe) {
            if let Kind::Histogram(buckets) = row.kind {
                assert!(buckets.is_sorted() && !buckets.is_empty(), "{}", row.name);
            }
        }
    }
}
