//! The close barrier: no generation begins, and no stop is complete, before the end of the old one is proved.

use super::super::action::Action;
use super::super::cause::{Cause, CauseKind};
use super::super::fact::{Fact, IgnoredReason, OutageOutcome};
use super::state::{Barrier, Closing, State};
use super::{CannotBe, Handled, Machine, Turn};

impl Machine {
    pub(super) fn on_closed(&mut self, turn: &mut Turn<'_>) -> Handled {
        match &self.state {
            State::Closing(closing) => {
                let closing = closing.clone();
                self.tell_closed(turn, closing.barrier);
                self.continue_after(turn, closing);
                Ok(())
            }
            State::Stopping(barrier) => {
                let barrier = *barrier;
                self.tell_closed(turn, barrier);
                self.stopped(turn);
                Ok(())
            }
            State::Stuck(barrier) if !barrier.passed => {
                let barrier = *barrier;
                self.tell_closed(turn, barrier);
                // Remembered, not acted on: a target that was once stuck is revived by an operator only.
                self.enter(turn, State::Stuck(Barrier { passed: true, ..barrier }));
                Ok(())
            }
            State::Stopped { unproved: Some(barrier) } => {
                let barrier = *barrier;
                self.tell_closed(turn, barrier);
                self.enter(turn, State::Stopped { unproved: None });
                Ok(())
            }
            State::Stopped { unproved: None } => {
                self.ignore(turn, IgnoredReason::Fenced);
                Ok(())
            }
            State::Idle
            | State::Starting(_)
            | State::Established(_)
            | State::Waiting(_)
            | State::Attempting(_)
            | State::Exhausted
            | State::Stuck(_)
            | State::Disabled
            | State::AuthRequired(_) => Err(CannotBe),
        }
    }

    pub(super) fn close_overdue(&mut self, turn: &mut Turn<'_>) {
        match self.state.clone() {
            State::Closing(closing) => self.stuck(turn, closing),
            State::Stopping(barrier) => {
                self.tell_overdue(turn, barrier);
                self.stop_incomplete(turn, barrier);
            }
            State::Idle
            | State::Starting(_)
            | State::Established(_)
            | State::Waiting(_)
            | State::Attempting(_)
            | State::Exhausted
            | State::Stuck(_)
            | State::Disabled
            | State::AuthRequired(_)
            | State::Stopped { .. } => {}
        }
    }

    pub(super) fn on_stop(&mut self, turn: &mut Turn<'_>) -> Handled {
        match self.state.clone() {
            State::Established(life) => {
                let cause = Cause::new(CauseKind::Stopped, "the target is being stopped");
                self.tell_ended(turn, life, cause, true);
                self.stop_living(turn);
            }
            State::Starting(_) | State::Attempting(_) => self.stop_living(turn),
            // Its close was ordered already and keeps its deadline.
            State::Closing(closing) => {
                self.end_outage(turn, OutageOutcome::Aborted);
                self.enter(turn, State::Stopping(closing.barrier));
            }
            State::Stuck(barrier) if !barrier.passed => self.stop_incomplete(turn, barrier),
            State::Idle
            | State::Waiting(_)
            | State::Exhausted
            | State::Stuck(_)
            | State::Disabled
            | State::AuthRequired(_) => {
                self.end_outage(turn, OutageOutcome::Aborted);
                self.stopped(turn);
            }
            State::Stopping(_) | State::Stopped { .. } => self.ignore(turn, IgnoredReason::Fenced),
        }
        Ok(())
    }

    fn stop_living(&mut self, turn: &mut Turn<'_>) {
        self.end_outage(turn, OutageOutcome::Aborted);
        let barrier = self.raise_barrier(turn);
        self.enter(turn, State::Stopping(barrier));
    }

    fn stopped(&mut self, turn: &mut Turn<'_>) {
        self.outage = None;
        self.enter(turn, State::Stopped { unproved: None });
        turn.order(Action::Withdraw);
        turn.tell(Fact::Stopped);
    }

    fn stop_incomplete(&mut self, turn: &mut Turn<'_>, barrier: Barrier) {
        self.outage = None;
        self.enter(turn, State::Stopped { unproved: Some(barrier) });
        turn.order(Action::Withdraw);
        turn.tell(Fact::StopIncomplete { generation: self.generation });
    }

    fn stuck(&mut self, turn: &mut Turn<'_>, closing: Closing) {
        self.tell_overdue(turn, closing.barrier);
        self.first_connect_finished = true;
        // A planned replacement was no outage so far. The target is gone since its close was ordered.
        self.begin_outage_since(turn, closing.barrier.since, &closing.cause);
        self.end_outage(turn, OutageOutcome::Exhausted);
        self.enter(turn, State::Stuck(closing.barrier));
        self.down_for_good(turn, closing.cause);
    }

    fn tell_closed(&self, turn: &mut Turn<'_>, barrier: Barrier) {
        let took = turn.now.saturating_duration_since(barrier.since);
        turn.tell(Fact::GenerationClosed { generation: self.generation, took });
    }

    fn tell_overdue(&self, turn: &mut Turn<'_>, barrier: Barrier) {
        let waited = turn.now.saturating_duration_since(barrier.since);
        turn.tell(Fact::CloseOverdue { generation: self.generation, waited });
    }
}
