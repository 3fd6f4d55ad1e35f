//! Facts, translated: [`log`] says them, [`count`] counts them.

use super::catalog::Metric;
use super::series::Series;
use super::unix_seconds;
use crate::core::fact::{Fact, OutageOutcome};
use crate::core::status::StateName;

/// Writes the fact's log line.
pub fn log(server: &str, fact: &Fact) {
    match fact {
        Fact::StateChanged { from, to } => {
            tracing::debug!(server, from = from.label(), to = to.label(), "state changed");
        }
        Fact::GenerationStarted { generation, attempt } => {
            tracing::info!(server, generation = generation.number(), attempt, "connecting");
        }
        Fact::GenerationEstablished { generation, attempt, took } => {
            tracing::info!(
                server,
                generation = generation.number(),
                attempt,
                took_seconds = took.as_secs_f64(),
                "connected"
            );
        }
        Fact::ConnectFailed { generation, attempt, cause, took } => {
            tracing::warn!(
                server,
                generation = generation.number(),
                attempt,
                error = %cause,
                error_type = cause.kind.label(),
                took_seconds = took.as_secs_f64(),
                "connection failed"
            );
        }
        Fact::GenerationEnded { generation, cause, proved_uptime, planned: false } => {
            tracing::warn!(
                server,
                generation = generation.number(),
                error = %cause,
                error_type = cause.kind.label(),
                uptime_seconds = proved_uptime.as_secs_f64(),
                "connection lost"
            );
        }
        Fact::GenerationEnded { generation, cause, proved_uptime, planned: true } => {
            tracing::info!(
                server,
                generation = generation.number(),
                reason = %cause,
                uptime_seconds = proved_uptime.as_secs_f64(),
                "connection is given up on purpose"
            );
        }
        Fact::GenerationClosed { generation, took } => {
            tracing::debug!(
                server,
                generation = generation.number(),
                took_seconds = took.as_secs_f64(),
                "end of the generation is proved"
            );
        }
        Fact::CloseOverdue { generation, waited } => {
            tracing::error!(
                server,
                generation = generation.number(),
                waited_seconds = waited.as_secs_f64(),
                "stuck: the end of the generation is not proved, so no other is started"
            );
        }
        Fact::OutageBegan { cause } => {
            tracing::debug!(server, error = %cause, error_type = cause.kind.label(), "outage began");
        }
        Fact::OutageEnded { outcome, duration, attempts } => {
            let outage_seconds = duration.as_secs_f64();
            match outcome {
                OutageOutcome::Recovered => tracing::info!(server, outage_seconds, attempts, "connection recovered"),
                OutageOutcome::Exhausted => {
                    tracing::error!(server, outage_seconds, attempts, "outage ended without recovery");
                }
                OutageOutcome::Aborted => tracing::info!(server, outage_seconds, attempts, "outage ended by a stop"),
            }
        }
        Fact::BackoffScheduled { attempt, max_attempts, delay, cause } => {
            tracing::warn!(
                server,
                attempt,
                max_attempts,
                delay_ms = millis(*delay),
                error = %cause,
                error_type = cause.kind.label(),
                "retrying"
            );
        }
        Fact::AuthRequired { retry_in, cause } => {
            tracing::warn!(
                server,
                delay_ms = millis(*retry_in),
                error = %cause,
                error_type = cause.kind.label(),
                "credentials are missing or refused"
            );
        }
        Fact::BudgetRestored { spent } => {
            tracing::info!(server, spent, "connection is stable: the whole budget is restored");
        }
        Fact::BudgetExhausted { attempts, cause, required } => {
            tracing::error!(
                server,
                attempts,
                required,
                error = %cause,
                error_type = cause.kind.label(),
                "reconnection budget exhausted"
            );
        }
        Fact::RecoveryDisabled { cause } => {
            tracing::error!(
                server,
                error = %cause,
                error_type = cause.kind.label(),
                "connection lost, and reconnecting is disabled: restart the server by hand"
            );
        }
        Fact::ProbeFailed { generation, failures, allowed, cause } => {
            tracing::warn!(
                server,
                generation = generation.number(),
                failures,
                allowed,
                error = %cause,
                error_type = cause.kind.label(),
                "liveness probe failed"
            );
        }
        Fact::Revived => tracing::info!(server, "revived with a whole budget"),
        Fact::SignalIgnored { generation, reason } => {
            tracing::debug!(server, generation = generation.number(), reason = reason.label(), "signal ignored");
        }
        Fact::Stopped => tracing::info!(server, "stopped"),
        Fact::StopIncomplete { generation } => {
            tracing::error!(
                server,
                generation = generation.number(),
                "stop is incomplete: the end of the generation is not proved"
            );
        }
    }
}

/// Moves the fact's series. `max_attempts` is the server's whole budget.
pub fn count(series: &Series, server: &str, max_attempts: u32, fact: &Fact) {
    let spent = |attempts: u32| {
        series.set(Metric::BudgetRemaining, &[server], f64::from(max_attempts.saturating_sub(attempts)));
    };
    match fact {
        Fact::StateChanged { from: _, to } => enter(series, server, *to),
        Fact::GenerationStarted { generation, attempt } => {
            series.set(Metric::ServerGeneration, &[server], generation.number() as f64);
            if let Some(attempt) = attempt {
                spent(*attempt);
            }
        }
        Fact::GenerationEstablished { generation: _, attempt: _, took: _ } => {
            series.add(Metric::ConnectAttempts, &[server, "success", ""], 1);
            series.set(Metric::OutageStart, &[server], 0.0);
        }
        Fact::ConnectFailed { generation: _, attempt: _, cause, took: _ } => {
            series.add(Metric::ConnectAttempts, &[server, "failure", cause.kind.label()], 1);
        }
        Fact::OutageBegan { cause: _ } => series.set(Metric::OutageStart, &[server], unix_seconds()),
        Fact::OutageEnded { outcome, duration, attempts: _ } => {
            series.observe(Metric::OutageDuration, &[server, outcome.label()], *duration);
            match outcome {
                OutageOutcome::Recovered | OutageOutcome::Aborted => series.set(Metric::OutageStart, &[server], 0.0),
                // Nothing serves: it lasts until somebody revives the server.
                OutageOutcome::Exhausted => {}
            }
        }
        Fact::BudgetExhausted { attempts, cause: _, required: _ } => {
            series.add(Metric::BudgetExhausted, &[server], 1);
            spent(*attempts);
        }
        Fact::SignalIgnored { generation: _, reason } => {
            series.add(Metric::SignalsIgnored, &[server, reason.label()], 1);
        }
        Fact::BudgetRestored { spent: _ } => spent(0),
        Fact::Revived => {
            spent(0);
            series.set(Metric::OutageStart, &[server], 0.0);
        }
        Fact::Stopped | Fact::StopIncomplete { generation: _ } => series.set(Metric::OutageStart, &[server], 0.0),
        Fact::BackoffScheduled { attempt: _, max_attempts: _, delay: _, cause: _ }
        | Fact::GenerationEnded { generation: _, cause: _, proved_uptime: _, planned: _ }
        | Fact::GenerationClosed { generation: _, took: _ }
        | Fact::CloseOverdue { generation: _, waited: _ }
        | Fact::AuthRequired { retry_in: _, cause: _ }
        | Fact::RecoveryDisabled { cause: _ }
        | Fact::ProbeFailed { generation: _, failures: _, allowed: _, cause: _ } => {}
    }
}

/// Shows the state, and what follows from it alone.
fn enter(series: &Series, server: &str, now: StateName) {
    for state in StateName::ALL {
        series.set(Metric::ServerState, &[server, state.label()], f64::from(u8::from(state == now)));
    }
    series.set(Metric::ServerUp, &[server], f64::from(u8::from(now == StateName::Established)));
    match now {
        StateName::Exhausted | StateName::Stuck | StateName::Stopped => series.set(Metric::Tools, &[server], 0.0),
        StateName::Idle
        | StateName::Starting
        | StateName::Established
        | StateName::Closing
        | StateName::Waiting
        | StateName::Attempting
        | StateName::Disabled
        | StateName::AuthRequired
        | StateName::Stopping => {}
    }
}

fn millis(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
