//! Whether a call is sent, held or refused.

use std::time::{Duration, Instant};

use super::status::{StateName, Status};

/// Calls that may be held for one target at the same time.
pub const MAX_HELD: usize = 256;

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Send it to the current generation.
    Send,
    /// Wait for the state to change, then ask again; at `until` it is over.
    Hold {
        /// The call's arrival plus `hold`.
        until: Instant,
    },
    /// Answer it now.
    Refuse(RefuseReason),
}

/// Why a call has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RefuseReason {
    /// The target is down and won't be back within `hold`.
    Down,
    /// The target's budget is exhausted.
    Exhausted,
    /// The end of the target's old generation can't be proved.
    Stuck,
    /// The target is lost and recovery is switched off.
    Disabled,
    /// The target wants credentials.
    AuthRequired,
    /// [`MAX_HELD`] calls are held already.
    TooManyHeld,
    /// The generation ended with the call in flight.
    OutcomeUnknown,
    /// The call was in flight at two consecutive endings.
    Poison,
    /// The call's own deadline passed.
    Timeout,
    /// The client cancelled.
    Cancelled,
    /// The target is being stopped.
    Stopping,
}

impl RefuseReason {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Down,
        Self::Exhausted,
        Self::Stuck,
        Self::Disabled,
        Self::AuthRequired,
        Self::TooManyHeld,
        Self::OutcomeUnknown,
        Self::Poison,
        Self::Timeout,
        Self::Cancelled,
        Self::Stopping,
    ];

    /// The stable word that clients and metrics see.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::Exhausted => "exhausted",
            Self::Stuck => "stuck",
            Self::Disabled => "disabled",
            Self::AuthRequired => "auth_required",
            Self::TooManyHeld => "too_many_held",
            Self::OutcomeUnknown => "outcome_unknown",
            Self::Poison => "poison",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
            Self::Stopping => "stopping",
        }
    }
}

/// Judges a call that arrived at `arrived` and may be held for `hold`, given that `held_already` other calls are held
/// for the same target. To be asked on arrival and again at each change of the target's state.
#[must_use]
pub fn admit(now: Instant, arrived: Instant, hold: Duration, held_already: usize, status: &Status) -> Admission {
    let until = arrived + hold;
    let back_in_time = match status.state {
        StateName::Established => return Admission::Send,
        StateName::Exhausted => return Admission::Refuse(RefuseReason::Exhausted),
        StateName::Stuck => return Admission::Refuse(RefuseReason::Stuck),
        StateName::Disabled => return Admission::Refuse(RefuseReason::Disabled),
        StateName::AuthRequired => return Admission::Refuse(RefuseReason::AuthRequired),
        StateName::Stopping | StateName::Stopped => return Admission::Refuse(RefuseReason::Stopping),
        StateName::Idle | StateName::Starting | StateName::Closing | StateName::Attempting => true,
        StateName::Waiting => status.next_attempt.is_none_or(|due| due <= until),
    };
    if !back_in_time || now >= until {
        Admission::Refuse(RefuseReason::Down)
    } else if held_already >= MAX_HELD {
        Admission::Refuse(RefuseReason::TooManyHeld)
    } else {
        Admission::Hold { until }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::machine::Machine;
    use crate::core::policy::Policy;

    const HOLD: Duration = Duration::from_secs(5);

    fn status(state: StateName) -> Status {
        let policy = Policy {
            reconnect: true,
            initial_delay: Duration::from_millis(500),
            max_delay: Duration::from_secs(30),
            max_attempts: 10,
            jitter: false,
            close_timeout: Duration::from_secs(10),
            liveness_interval: Duration::from_secs(30),
            liveness_failures: 3,
            required: true,
            strict_startup: false,
        };
        Status { state, ..Machine::new(policy).snapshot() }
    }

    #[test]
    fn only_an_established_target_is_sent_calls() {
        let now = Instant::now();
        for state in StateName::ALL {
            let sent = admit(now, now, HOLD, 0, &status(state)) == Admission::Send;
            assert_eq!(sent, state == StateName::Established, "{state:?}");
        }
    }

    #[test]
    fn a_target_that_may_be_back_in_time_has_its_calls_held() {
        let now = Instant::now();
        for state in [StateName::Idle, StateName::Starting, StateName::Closing, StateName::Attempting] {
            assert_eq!(admit(now, now, HOLD, 0, &status(state)), Admission::Hold { until: now + HOLD }, "{state:?}");
        }
    }

    #[test]
    fn a_target_that_is_down_for_longer_refuses_with_its_state() {
        let now = Instant::now();
        for (state, reason) in [
            (StateName::Exhausted, "exhausted"),
            (StateName::Stuck, "stuck"),
            (StateName::Disabled, "disabled"),
            (StateName::AuthRequired, "auth_required"),
            (StateName::Stopping, "stopping"),
            (StateName::Stopped, "stopping"),
        ] {
            let Admission::Refuse(refused) = admit(now, now, HOLD, 0, &status(state)) else {
                panic!("{state:?} does not refuse");
            };
            assert_eq!(refused.label(), reason, "{state:?}");
        }
    }

    #[test]
    fn a_call_fails_at_once_when_the_next_attempt_is_due_after_its_hold() {
        let now = Instant::now();
        let due = |offset| Status { next_attempt: Some(now + offset), ..status(StateName::Waiting) };
        let arrived = now - Duration::from_secs(2);
        let left = HOLD - Duration::from_secs(2);
        assert_eq!(admit(now, arrived, HOLD, 0, &due(left)), Admission::Hold { until: now + left });
        let late = left + Duration::from_nanos(1);
        assert_eq!(admit(now, arrived, HOLD, 0, &due(late)), Admission::Refuse(RefuseReason::Down));
    }

    #[test]
    fn a_hold_of_zero_fails_at_once() {
        let now = Instant::now();
        for state in [StateName::Starting, StateName::Closing, StateName::Waiting, StateName::Attempting] {
            let admission = admit(now, now, Duration::ZERO, 0, &status(state));
            assert_eq!(admission, Admission::Refuse(RefuseReason::Down), "{state:?}");
        }
    }

    #[test]
    fn a_held_call_is_refused_when_its_hold_is_over() {
        let now = Instant::now();
        let admission = admit(now + HOLD, now, HOLD, 0, &status(StateName::Attempting));
        assert_eq!(admission, Admission::Refuse(RefuseReason::Down));
    }

    #[test]
    fn the_two_hundred_and_fifty_seventh_call_is_not_held() {
        let now = Instant::now();
        let waiting = status(StateName::Attempting);
        assert_eq!(admit(now, now, HOLD, 255, &waiting), Admission::Hold { until: now + HOLD });
        assert_eq!(admit(now, now, HOLD, 256, &waiting), Admission::Refuse(RefuseReason::TooManyHeld));
        assert_eq!(admit(now, now, HOLD, 256, &status(StateName::Established)), Admission::Send);
    }

    #[test]
    fn every_reason_has_a_word_of_its_own() {
        let words: std::collections::BTreeSet<&str> = RefuseReason::ALL.iter().map(|reason| reason.label()).collect();
        assert_eq!(words.len(), RefuseReason::ALL.len());
    }
}
