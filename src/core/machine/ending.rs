//! Established generations: their signs of life and their one ending.

use super::super::action::Action;
use super::super::cause::{Cause, CauseKind};
use super::super::fact::{Fact, IgnoredReason};
use super::life::Life;
use super::state::{Barrier, Closing, Next, State};
use super::{CannotBe, Handled, Machine, Turn};

impl Machine {
    pub(super) fn on_ended(&mut self, turn: &mut Turn<'_>, cause: Cause) -> Handled {
        match self.state {
            // The transport's close has outrun the rejection of the connect that it caused.
            State::Starting(connecting) | State::Attempting(connecting) => {
                self.connect_failed(turn, connecting, cause);
                Ok(())
            }
            State::Established(life) => {
                self.lose(turn, life, cause);
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
            State::Idle => Err(CannotBe),
        }
    }

    pub(super) fn on_proof_of_life(&mut self, turn: &mut Turn<'_>) -> Handled {
        match &mut self.state {
            State::Established(life) => {
                life.sign(turn.now);
                if life.proved_uptime() > self.policy.max_delay {
                    self.restore_budget(turn);
                }
                Ok(())
            }
            // An answer during the handshake proves nothing yet.
            State::Starting(_) | State::Attempting(_) => Ok(()),
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
            State::Idle => Err(CannotBe),
        }
    }

    pub(super) fn on_probe_failed(&mut self, turn: &mut Turn<'_>, cause: Cause) -> Handled {
        match &mut self.state {
            State::Established(life) => {
                let Some(failures) = life.probe_failed() else {
                    return Ok(());
                };
                let life = *life;
                self.probe_failed(turn, life, failures, cause);
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
            State::Idle | State::Starting(_) | State::Attempting(_) => Err(CannotBe),
        }
    }

    pub(super) fn send_probe(&mut self, turn: &mut Turn<'_>) {
        if let State::Established(life) = &mut self.state {
            life.probe_sent(turn.now);
            turn.order(Action::Probe { generation: self.generation });
        }
    }

    fn probe_failed(&mut self, turn: &mut Turn<'_>, life: Life, failures: u32, cause: Cause) {
        let allowed = self.policy.liveness_failures;
        turn.tell(Fact::ProbeFailed { generation: self.generation, failures, allowed, cause: cause.clone() });
        if failures >= allowed {
            let detail = format!("{failures} liveness probes in a row failed, the last one so: {cause}");
            self.lose(turn, life, Cause::new(CauseKind::LivenessFailed, detail));
        }
    }

    /// The one unplanned ending of an established generation.
    fn lose(&mut self, turn: &mut Turn<'_>, life: Life, cause: Cause) {
        self.tell_ended(turn, life, cause.clone(), false);
        let next = self.after_loss(&cause);
        self.begin_outage(turn, &cause);
        self.close(turn, cause, next);
    }

    pub(super) fn tell_ended(&self, turn: &mut Turn<'_>, life: Life, cause: Cause, planned: bool) {
        turn.tell(Fact::GenerationEnded {
            generation: self.generation,
            cause,
            proved_uptime: life.proved_uptime(),
            planned,
        });
    }

    /// Orders the close of the current generation; `next` follows once its end is proved.
    pub(super) fn close(&mut self, turn: &mut Turn<'_>, cause: Cause, next: Next) {
        self.last_cause = Some(cause.clone());
        let barrier = self.raise_barrier(turn);
        self.enter(turn, State::Closing(Closing { barrier, cause, next }));
    }

    pub(super) fn raise_barrier(&self, turn: &mut Turn<'_>) -> Barrier {
        turn.order(Action::Close { generation: self.generation });
        Barrier { since: turn.now, deadline: turn.now + self.policy.close_timeout, passed: false }
    }
}
