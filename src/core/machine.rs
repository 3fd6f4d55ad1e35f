//! The state machine that supervises one target.
//!
//! [`Machine::step`] takes one event and the time it is seen at, and puts out what the driver has to do and what
//! happened. ARCHITECTURE.md has the state × event table; `tests/it/state_table.rs` walks every cell of it.

mod barrier;
mod connect;
mod ending;
mod life;
mod outage;
mod recovery;
mod state;

use std::fmt;
use std::time::Instant;

use super::action::{Action, Outbox};
use super::budget::Budget;
use super::cause::{Cause, CauseKind};
use super::event::Event;
use super::fact::{Fact, IgnoredReason};
use super::generation::Generation;
use super::policy::Policy;
use super::status::{StateName, Status};
use outage::Outage;
use state::{Closing, State};

/// Supervises one target.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    policy: Policy,
    state: State,
    generation: Generation,
    budget: Budget,
    outage: Option<Outage>,
    last_cause: Option<Cause>,
    ever_established: bool,
    first_connect_finished: bool,
}

/// What a machine waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Why {
    /// The pause before the next attempt, or before the next try of a target that wants credentials, is over.
    AttemptDue,
    /// An established generation was silent for a liveness interval.
    ProbeDue,
    /// The close barrier did not pass in time.
    CloseOverdue,
}

/// An event that can't happen in this state: a bug of whoever sent it. The machine is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Impossible {
    /// Where the machine is.
    pub state: StateName,
    /// Its current generation.
    pub current: Generation,
    /// The event's kind, see [`Event::kind`].
    pub event: &'static str,
    /// The generation the event speaks of, if it speaks of one.
    pub generation: Option<Generation>,
}

impl fmt::Display for Impossible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event `{}`", self.event)?;
        if let Some(generation) = self.generation {
            write!(f, " of generation {generation}")?;
        }
        write!(f, " is impossible in state `{}` of generation {}", self.state.label(), self.current)
    }
}

impl std::error::Error for Impossible {}

/// What one step knows and writes to.
struct Turn<'a> {
    now: Instant,
    noise: f64,
    out: &'a mut Outbox,
}

impl Turn<'_> {
    fn order(&mut self, action: Action) {
        self.out.actions.push(action);
    }

    fn tell(&mut self, fact: Fact) {
        self.out.facts.push(fact);
    }
}

impl Machine {
    /// A machine that waits for [`Event::Start`].
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        Self {
            budget: Budget::new(policy.max_attempts),
            policy,
            state: State::Idle,
            generation: Generation::NONE,
            outage: None,
            last_cause: None,
            ever_established: false,
            first_connect_finished: false,
        }
    }

    /// Takes one event that is seen at `now`. `noise` is a random number in `[0, 1)` for the jitter of a delay that this
    /// step may schedule. Actions and facts are appended to `out`, each in order.
    ///
    /// # Errors
    /// [`Impossible`] if the event can't happen in this state. Nothing has changed then and nothing was put out.
    pub fn step(&mut self, now: Instant, noise: f64, event: Event, out: &mut Outbox) -> Result<(), Impossible> {
        let impossible = Impossible {
            state: self.state.name(),
            current: self.generation,
            event: event.kind(),
            generation: event.generation(),
        };
        let turn = &mut Turn { now, noise, out };
        if let Some(generation) = event.generation() {
            if generation < self.generation {
                turn.tell(Fact::SignalIgnored { generation, reason: IgnoredReason::Stale });
                return Ok(());
            }
            if generation > self.generation {
                return Err(impossible);
            }
        }
        match event {
            Event::Start => self.on_start(turn),
            Event::Established { .. } => self.on_established(turn),
            Event::ConnectFailed { cause, .. } => self.on_connect_failed(turn, cause),
            Event::Ended { cause, .. } => self.on_ended(turn, cause),
            Event::ProofOfLife { .. } => self.on_proof_of_life(turn),
            Event::ProbeFailed { cause, .. } => self.on_probe_failed(turn, cause),
            Event::Closed { .. } => self.on_closed(turn),
            Event::DeadlineReached => self.on_deadline(turn),
            Event::Replace { cause } => self.on_fresh_ordered(turn, cause),
            Event::Restart => self.on_fresh_ordered(turn, operator_restart()),
            Event::Revive => self.on_revive(turn),
            Event::Stop => self.on_stop(turn),
        }
        .map_err(|CannotBe| impossible)
    }

    /// The one moment this machine waits for, and why. [`Event::DeadlineReached`] is due then.
    #[must_use]
    pub fn next_deadline(&self) -> Option<(Instant, Why)> {
        match &self.state {
            State::Established(life) => Some((life.probe_due(self.policy.liveness_interval)?, Why::ProbeDue)),
            State::Waiting(pause) | State::AuthRequired(pause) => Some((pause.due, Why::AttemptDue)),
            State::Closing(Closing { barrier, .. }) | State::Stopping(barrier) => {
                Some((barrier.deadline, Why::CloseOverdue))
            }
            State::Idle
            | State::Starting(_)
            | State::Attempting(_)
            | State::Exhausted
            | State::Stuck(_)
            | State::Disabled
            | State::Stopped { .. } => None,
        }
    }

    /// What can be seen from outside.
    #[must_use]
    pub fn snapshot(&self) -> Status {
        let pause = match &self.state {
            State::Waiting(pause) | State::AuthRequired(pause) => Some(*pause),
            State::Idle
            | State::Starting(_)
            | State::Established(_)
            | State::Closing(_)
            | State::Attempting(_)
            | State::Exhausted
            | State::Stuck(_)
            | State::Disabled
            | State::Stopping(_)
            | State::Stopped { .. } => None,
        };
        let established_at =
            if let State::Established(life) = &self.state { Some(life.established_at()) } else { None };
        Status {
            state: self.state.name(),
            generation: self.generation,
            attempts: self.budget.spent(),
            max_attempts: self.policy.max_attempts,
            outage_since: self.outage.map(|outage| outage.since),
            next_attempt: pause.map(|pause| pause.due),
            delay: pause.map(|pause| pause.delay),
            established_at,
            last_cause: self.last_cause.clone(),
            ever_established: self.ever_established,
            first_connect_finished: self.first_connect_finished,
            required: self.policy.required,
        }
    }

    fn on_deadline(&mut self, turn: &mut Turn<'_>) -> Handled {
        let Some((due, why)) = self.next_deadline() else {
            return match self.state {
                State::Established(_) | State::Stopped { .. } => Ok(()),
                State::Idle
                | State::Starting(_)
                | State::Closing(_)
                | State::Waiting(_)
                | State::Attempting(_)
                | State::Exhausted
                | State::Stuck(_)
                | State::Disabled
                | State::AuthRequired(_)
                | State::Stopping(_) => Err(CannotBe),
            };
        };
        if turn.now < due {
            // A timer that fires early is asked to come again: `next_deadline` still says when.
            return Ok(());
        }
        match why {
            Why::AttemptDue => self.attempt_now(turn),
            Why::ProbeDue => self.send_probe(turn),
            Why::CloseOverdue => self.close_overdue(turn),
        }
        Ok(())
    }

    fn enter(&mut self, turn: &mut Turn<'_>, state: State) {
        let (from, to) = (self.state.name(), state.name());
        self.state = state;
        if from != to {
            turn.tell(Fact::StateChanged { from, to });
        }
    }

    fn ignore(&self, turn: &mut Turn<'_>, reason: IgnoredReason) {
        turn.tell(Fact::SignalIgnored { generation: self.generation, reason });
    }
}

/// The handler has found that the event can't happen here, before it changed anything.
struct CannotBe;

type Handled = Result<(), CannotBe>;

fn operator_restart() -> Cause {
    Cause::new(CauseKind::OperatorRestart, "an operator asked for a restart")
}
