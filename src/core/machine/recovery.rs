//! What follows an ending: pauses, attempts, the budget's end, and revival.

use std::time::{Duration, Instant};

use super::super::action::{Action, Escalation};
use super::super::backoff;
use super::super::cause::{Cause, CauseKind};
use super::super::fact::{Fact, IgnoredReason, OutageOutcome};
use super::outage::Outage;
use super::state::{Closing, Next, Pause, State};
use super::{Handled, Machine, Turn};

impl Machine {
    /// A fresh generation was ordered, by an operator or because the target's endpoint or settings changed.
    pub(super) fn on_fresh_ordered(&mut self, turn: &mut Turn<'_>, cause: Cause) -> Handled {
        match self.state.clone() {
            State::Established(life) => {
                self.tell_ended(turn, life, cause.clone(), true);
                self.close(turn, cause, Next::Again { attempt: None });
            }
            // What is under way is tried anew under its own number: the order spends nothing.
            State::Starting(connecting) | State::Attempting(connecting) => {
                self.close(turn, cause, Next::Again { attempt: connecting.attempt });
            }
            State::Closing(closing) => {
                let next = match closing.next {
                    Next::Attempt | Next::AttemptAtOnce | Next::OrderedAttempt | Next::Disabled => Next::OrderedAttempt,
                    Next::AuthRetry => Next::Again { attempt: None },
                    Next::Again { attempt } => Next::Again { attempt },
                };
                self.state = State::Closing(Closing { next, ..closing });
            }
            State::Waiting(_) | State::AuthRequired(_) => self.attempt_now(turn),
            State::Exhausted | State::Disabled | State::Stuck(_) => self.revive(turn),
            State::Idle => {}
            State::Stopping(_) | State::Stopped { .. } => self.ignore(turn, IgnoredReason::Fenced),
        }
        Ok(())
    }

    pub(super) fn on_revive(&mut self, turn: &mut Turn<'_>) -> Handled {
        match self.state {
            State::Exhausted | State::Disabled | State::Stuck(_) => self.revive(turn),
            State::Idle
            | State::Starting(_)
            | State::Established(_)
            | State::Closing(_)
            | State::Waiting(_)
            | State::Attempting(_)
            | State::AuthRequired(_) => {}
            State::Stopping(_) | State::Stopped { .. } => self.ignore(turn, IgnoredReason::Fenced),
        }
        Ok(())
    }

    /// What follows a failed connect.
    pub(super) fn after_failure(&self, cause: &Cause) -> Next {
        if !self.policy.reconnect {
            Next::Disabled
        } else if cause.kind == CauseKind::AuthRequired {
            Next::AuthRetry
        } else {
            Next::Attempt
        }
    }

    /// What follows the loss of an established generation.
    pub(super) fn after_loss(&mut self, cause: &Cause) -> Next {
        let next = self.after_failure(cause);
        let session_lost = next == Next::Attempt && cause.kind == CauseKind::SessionLost;
        if session_lost && self.budget.take_session_grace() { Next::AttemptAtOnce } else { next }
    }

    /// The barrier has passed.
    pub(super) fn continue_after(&mut self, turn: &mut Turn<'_>, closing: Closing) {
        match closing.next {
            Next::Attempt => self.schedule(turn, closing.cause, false),
            Next::AttemptAtOnce => self.schedule(turn, closing.cause, true),
            Next::OrderedAttempt => {
                if self.budget.next_attempt().is_none() {
                    self.budget.refill();
                    turn.tell(Fact::Revived);
                }
                self.schedule(turn, closing.cause, true);
            }
            Next::AuthRetry => self.require_auth(turn, closing.cause),
            Next::Disabled => {
                self.enter(turn, State::Disabled);
                turn.tell(Fact::RecoveryDisabled { cause: closing.cause });
                self.end_outage(turn, OutageOutcome::Exhausted);
            }
            Next::Again { attempt } => self.establish(turn, attempt),
        }
    }

    /// The pause is over, or cut short.
    pub(super) fn attempt_now(&mut self, turn: &mut Turn<'_>) {
        let attempt = if matches!(self.state, State::Waiting(_)) { self.spend() } else { None };
        self.establish(turn, attempt);
    }

    pub(super) fn restore_budget(&mut self, turn: &mut Turn<'_>) {
        let spent = self.budget.refill();
        if spent > 0 {
            turn.tell(Fact::BudgetRestored { spent });
        }
    }

    pub(super) fn begin_outage(&mut self, turn: &mut Turn<'_>, cause: &Cause) {
        self.begin_outage_since(turn, turn.now, cause);
    }

    pub(super) fn begin_outage_since(&mut self, turn: &mut Turn<'_>, since: Instant, cause: &Cause) {
        if !self.outage.is_some_and(|outage| outage.running) {
            self.outage = Some(Outage::begin(since));
            turn.tell(Fact::OutageBegan { cause: cause.clone() });
        }
    }

    /// Tells the end of the running outage, if one is running. A target that is down for good keeps the outage's begin.
    pub(super) fn end_outage(&mut self, turn: &mut Turn<'_>, outcome: OutageOutcome) {
        let Some(outage) = self.outage.filter(|outage| outage.running) else {
            return;
        };
        let duration = turn.now.saturating_duration_since(outage.since);
        turn.tell(Fact::OutageEnded { outcome, duration, attempts: outage.attempts });
        self.outage = match outcome {
            OutageOutcome::Recovered | OutageOutcome::Aborted => None,
            OutageOutcome::Exhausted => Some(Outage { running: false, ..outage }),
        };
    }

    /// The tools go, and a required target takes the process with it.
    pub(super) fn down_for_good(&mut self, turn: &mut Turn<'_>, cause: Cause) {
        turn.order(Action::Withdraw);
        if self.policy.required {
            turn.order(Action::Escalate(Escalation::Exhausted { cause }));
        }
    }

    fn schedule(&mut self, turn: &mut Turn<'_>, cause: Cause, at_once: bool) {
        let Some(attempt) = self.budget.next_attempt() else {
            self.exhaust(turn, cause);
            return;
        };
        let delay = if at_once {
            Duration::ZERO
        } else {
            let delay = backoff::delay(self.policy.initial_delay, self.policy.max_delay, attempt);
            if self.policy.jitter { backoff::jittered(delay, turn.noise) } else { delay }
        };
        turn.tell(Fact::BackoffScheduled { attempt, max_attempts: self.policy.max_attempts, delay, cause });
        if at_once {
            let attempt = self.spend();
            self.establish(turn, attempt);
        } else {
            self.enter(turn, State::Waiting(Pause { due: turn.now + delay, delay }));
        }
    }

    fn require_auth(&mut self, turn: &mut Turn<'_>, cause: Cause) {
        let delay = if self.policy.jitter {
            backoff::jittered(self.policy.max_delay, turn.noise)
        } else {
            self.policy.max_delay
        };
        turn.tell(Fact::AuthRequired { retry_in: delay, cause });
        self.enter(turn, State::AuthRequired(Pause { due: turn.now + delay, delay }));
    }

    fn exhaust(&mut self, turn: &mut Turn<'_>, cause: Cause) {
        turn.tell(Fact::BudgetExhausted {
            attempts: self.budget.spent(),
            cause: cause.clone(),
            required: self.policy.required,
        });
        self.end_outage(turn, OutageOutcome::Exhausted);
        self.enter(turn, State::Exhausted);
        self.down_for_good(turn, cause);
    }

    /// A full budget and a first connect anew, unless the old generation's end is still not proved.
    fn revive(&mut self, turn: &mut Turn<'_>) {
        if matches!(self.state, State::Stuck(barrier) if !barrier.passed) {
            return;
        }
        self.budget.refill();
        self.outage = None;
        turn.tell(Fact::Revived);
        self.establish(turn, None);
    }

    fn spend(&mut self) -> Option<u32> {
        let attempt = self.budget.next_attempt()?;
        self.budget.spend();
        if let Some(outage) = &mut self.outage {
            outage.attempts += 1;
        }
        Some(attempt)
    }
}
