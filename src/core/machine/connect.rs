//! Generations on their way up: first connects, attempts, planned replacements.

use super::super::action::{Action, Escalation};
use super::super::cause::Cause;
use super::super::fact::{Fact, IgnoredReason, OutageOutcome};
use super::life::Life;
use super::state::{Connecting, State};
use super::{CannotBe, Handled, Machine, Turn};

impl Machine {
    pub(super) fn on_start(&mut self, turn: &mut Turn<'_>) -> Handled {
        match self.state {
            State::Idle => {
                self.establish(turn, None);
                Ok(())
            }
            State::Stopping(_) | State::Stopped { .. } => {
                self.ignore(turn, IgnoredReason::Fenced);
                Ok(())
            }
            State::Starting(_)
            | State::Established(_)
            | State::Closing(_)
            | State::Waiting(_)
            | State::Attempting(_)
            | State::Exhausted
            | State::Stuck(_)
            | State::Disabled
            | State::AuthRequired(_) => Err(CannotBe),
        }
    }

    pub(super) fn on_established(&mut self, turn: &mut Turn<'_>) -> Handled {
        match self.state {
            State::Starting(connecting) | State::Attempting(connecting) => {
                self.established(turn, connecting);
                Ok(())
            }
            // A close has overtaken it.
            State::Closing(_) => {
                self.ignore(turn, IgnoredReason::AlreadyEnding);
                Ok(())
            }
            State::Stuck(barrier) if !barrier.passed => {
                self.ignore(turn, IgnoredReason::AlreadyEnding);
                Ok(())
            }
            State::Stopping(_) | State::Stopped { .. } => {
                self.ignore(turn, IgnoredReason::Fenced);
                Ok(())
            }
            State::Idle
            | State::Established(_)
            | State::Waiting(_)
            | State::Exhausted
            | State::Stuck(_)
            | State::Disabled
            | State::AuthRequired(_) => Err(CannotBe),
        }
    }

    pub(super) fn on_connect_failed(&mut self, turn: &mut Turn<'_>, cause: Cause) -> Handled {
        match self.state {
            State::Starting(connecting) | State::Attempting(connecting) => {
                self.connect_failed(turn, connecting, cause);
                Ok(())
            }
            State::Closing(_)
            | State::Waiting(_)
            | State::Exhausted
            | State::Stuck(_)
            | State::Disabled
            | State::AuthRequired(_) => {
                self.ignore(turn, IgnoredReason::AlreadyEnding);
                Ok(())
            }
            State::Stopping(_) | State::Stopped { .. } => {
                self.ignore(turn, IgnoredReason::Fenced);
                Ok(())
            }
            State::Idle | State::Established(_) => Err(CannotBe),
        }
    }

    /// Begins the next generation. Within an outage that is an attempt (or, with `attempt` = `None`, a free try of one
    /// that wants credentials), else a start.
    pub(super) fn establish(&mut self, turn: &mut Turn<'_>, attempt: Option<u32>) {
        self.generation = self.generation.next();
        let connecting = Connecting { since: turn.now, attempt };
        let in_outage = self.outage.is_some_and(|outage| outage.running);
        self.enter(turn, if in_outage { State::Attempting(connecting) } else { State::Starting(connecting) });
        turn.tell(Fact::GenerationStarted { generation: self.generation, attempt });
        turn.order(Action::Establish { generation: self.generation, attempt });
    }

    fn established(&mut self, turn: &mut Turn<'_>, connecting: Connecting) {
        self.ever_established = true;
        self.first_connect_finished = true;
        turn.tell(Fact::GenerationEstablished {
            generation: self.generation,
            attempt: connecting.attempt,
            took: turn.now.saturating_duration_since(connecting.since),
        });
        self.enter(turn, State::Established(Life::begin(turn.now)));
        self.end_outage(turn, OutageOutcome::Recovered);
        turn.order(Action::Publish { generation: self.generation });
    }

    pub(super) fn connect_failed(&mut self, turn: &mut Turn<'_>, connecting: Connecting, cause: Cause) {
        turn.tell(Fact::ConnectFailed {
            generation: self.generation,
            attempt: connecting.attempt,
            cause: cause.clone(),
            took: turn.now.saturating_duration_since(connecting.since),
        });
        let activation = !std::mem::replace(&mut self.first_connect_finished, true);
        let next = self.after_failure(&cause);
        self.begin_outage(turn, &cause);
        self.close(turn, cause.clone(), next);
        if activation && self.policy.strict_startup && self.policy.required {
            turn.order(Action::Escalate(Escalation::StartupFailed { cause }));
        }
    }
}
