//! What an agent is told when its call has no result: which server, since when, and when the next attempt is due.

use std::time::{Duration, Instant, SystemTime};

use crate::core::admission::RefuseReason;
use crate::core::cause::Cause;
use crate::core::status::{StateName, Status};
use crate::gateway::upstream::{Answer, Refusal};

/// The call was not sent because the target can't be reached.
#[must_use]
pub fn down(server: &str, reason: RefuseReason, status: &Status) -> Answer {
    let now = Instant::now();
    let down_since = status.outage_since.map(|since| rfc3339(now, since));
    let next = status.next_attempt.map(|at| at.saturating_duration_since(now));
    let mut message = format!("MCP server \"{server}\" is not available ({})", status.state.label());
    if let Some(since) = &down_since {
        message += &format!(" since {since}");
    }
    if let Some(cause) = &status.last_cause {
        message += &format!("; last error: {cause}");
    }
    message += &match reason {
        RefuseReason::TooManyHeld => "; too many calls are waiting for it already".to_owned(),
        RefuseReason::Exhausted => {
            format!("; all {} attempts to reconnect are spent, an operator has to act", status.max_attempts)
        }
        RefuseReason::Stuck => "; its old process can't be ended, an operator has to act".to_owned(),
        RefuseReason::Disabled => "; reconnecting is switched off, an operator has to act".to_owned(),
        RefuseReason::AuthRequired => "; its credentials are missing or refused, an operator has to act".to_owned(),
        RefuseReason::Stopping => "; the sidecar is stopping".to_owned(),
        RefuseReason::Down => outlook(status, next),
        // What becomes of a call that was sent is told by the functions below.
        RefuseReason::OutcomeUnknown | RefuseReason::Poison | RefuseReason::Timeout | RefuseReason::Cancelled => {
            String::new()
        }
    };
    message += ". The call was not carried out.";
    let attempts = Some((status.attempts, status.max_attempts));
    let next_attempt_ms = next.map(|next| u64::try_from(next.as_millis()).unwrap_or(u64::MAX));
    Answer::Refused(Refusal { down_since, attempts, next_attempt_ms, ..plain(server, reason, message) })
}

/// The call was in flight when its generation ended.
#[must_use]
pub fn outcome_unknown(server: &str, tool: &str, cause: &Cause) -> Answer {
    let message = format!(
        "The connection to MCP server \"{server}\" was lost while tool \"{tool}\" was running ({cause}); outcome unknown: \
         it may or may not have taken effect. It was not repeated."
    );
    Answer::Refused(plain(server, RefuseReason::OutcomeUnknown, message))
}

/// The call failed on its way, its generation lives.
#[must_use]
pub fn failed(server: &str, tool: &str, cause: &Cause) -> Answer {
    let message = format!(
        "Calling tool \"{tool}\" of MCP server \"{server}\" failed ({cause}); outcome unknown: it may or may not have taken \
         effect. It was not repeated."
    );
    Answer::Refused(plain(server, RefuseReason::OutcomeUnknown, message))
}

/// The call was in flight at two consecutive endings.
#[must_use]
pub fn poison(server: &str, tool: &str) -> Answer {
    let message = format!(
        "Tool \"{tool}\" was not called: MCP server \"{server}\" went down twice in a row while exactly this call was running. \
         Other calls still work; this one is refused until the server has been stable again."
    );
    Answer::Refused(plain(server, RefuseReason::Poison, message))
}

/// Our own deadline passed.
#[must_use]
pub fn timeout(server: &str, tool: &str, after: Duration) -> Answer {
    let message = format!(
        "Tool \"{tool}\" of MCP server \"{server}\" did not answer within {after:?}; it was cancelled, its outcome is unknown."
    );
    Answer::Refused(plain(server, RefuseReason::Timeout, message))
}

/// The client cancelled.
#[must_use]
pub fn cancelled(server: &str) -> Answer {
    Answer::Refused(plain(server, RefuseReason::Cancelled, "The call was cancelled.".to_owned()))
}

fn outlook(status: &Status, next: Option<Duration>) -> String {
    let Status { attempts, max_attempts, .. } = status;
    match (status.state, next) {
        (StateName::Waiting, Some(next)) => {
            format!("; attempt {} of {max_attempts} is due in {next:.1?}", attempts + 1)
        }
        (StateName::Attempting, _) => format!("; attempt {attempts} of {max_attempts} is under way"),
        _ => String::new(),
    }
}

fn plain(server: &str, reason: RefuseReason, message: String) -> Refusal {
    let reason = reason.label();
    Refusal { server: server.to_owned(), reason, message, down_since: None, attempts: None, next_attempt_ms: None }
}

fn rfc3339(now: Instant, at: Instant) -> String {
    humantime::format_rfc3339_seconds(SystemTime::now() - now.saturating_duration_since(at)).to_string()
}
