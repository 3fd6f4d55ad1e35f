//! The invariants of supervision, each told from events, orders and facts alone.
//!
//! Unlike the model it predicts nothing: it would accept any machine that keeps the promises.

use std::time::{Duration, Instant};

use mcp_sidecar::core::action::{Action, Escalation, Outbox};
use mcp_sidecar::core::cause::CauseKind;
use mcp_sidecar::core::event::Event;
use mcp_sidecar::core::fact::{Fact, OutageOutcome};
use mcp_sidecar::core::policy::Policy;
use mcp_sidecar::core::status::{StateName, Status};

use super::tally::Tally;

pub struct Judge {
    policy: Policy,
    /// The newest generation, and whether its close was ordered and its end proved.
    generation: u64,
    close_ordered: Option<Instant>,
    proved_dead: bool,
    established: Option<Instant>,
    probe_open: bool,
    probe_failures: u32,
    /// Attempts since the budget was last full, counted here.
    spent: u32,
    free_sessions: u32,
    outage_since: Option<Instant>,
    attempts_in_outage: u32,
    due: Option<Instant>,
    state: StateName,
    fenced: bool,
    /// Somebody ordered a fresh generation while the old one was closing.
    ordered_while_closing: bool,
    exhausted: bool,
    pub tally: Tally,
}

/// One step, as seen from outside.
pub struct Seen<'a> {
    pub now: Instant,
    pub event: &'a Event,
    pub before: &'a Status,
    pub after: &'a Status,
    pub unchanged: bool,
    pub out: &'a Outbox,
    pub deadline: Option<Instant>,
}

macro_rules! promise {
    ($holds:expr, $($message:tt)+) => {
        if !$holds {
            return Err(format!($($message)+));
        }
    };
}

impl Judge {
    pub fn new(policy: Policy) -> Self {
        Self {
            policy,
            generation: 0,
            close_ordered: None,
            proved_dead: true,
            established: None,
            probe_open: false,
            probe_failures: 0,
            spent: 0,
            free_sessions: 0,
            outage_since: None,
            attempts_in_outage: 0,
            due: None,
            state: StateName::Idle,
            fenced: false,
            ordered_while_closing: false,
            exhausted: false,
            tally: Tally::default(),
        }
    }

    pub fn step(&mut self, seen: &Seen<'_>) -> Result<(), String> {
        self.inert(seen)?;
        self.event(seen);
        for action in &seen.out.actions {
            self.action(seen, action)?;
        }
        for fact in &seen.out.facts {
            self.fact(seen, fact)?;
        }
        self.afterwards(seen)
    }

    /// What belongs to another generation, or comes after the end of its own, changes nothing.
    fn inert(&self, seen: &Seen<'_>) -> Result<(), String> {
        let Some(generation) = seen.event.generation() else { return Ok(()) };
        let stale = generation.number() < self.generation;
        let late = self.close_ordered.is_some() && !matches!(seen.event, Event::Closed { .. });
        if stale || late {
            promise!(seen.unchanged, "{} of generation {generation} changed something", seen.event.kind());
            promise!(seen.out.actions.is_empty(), "{} of generation {generation} ordered something", seen.event.kind());
            let ignored = matches!(seen.out.facts[..], [Fact::SignalIgnored { .. }]);
            promise!(ignored, "{} of generation {generation} is not told to be ignored", seen.event.kind());
        }
        Ok(())
    }

    fn event(&mut self, seen: &Seen<'_>) {
        if seen.event.generation().is_some_and(|generation| generation.number() != self.generation) {
            return;
        }
        match seen.event {
            Event::Closed { .. } => self.proved_dead = true,
            Event::ProofOfLife { .. } => {
                (self.probe_open, self.probe_failures) = (false, 0);
                let alive = self.established.filter(|_| self.close_ordered.is_none());
                if alive.is_some_and(|since| seen.now > since + self.policy.max_delay) {
                    self.refill();
                }
            }
            Event::ProbeFailed { .. } => self.probe_failures += u32::from(std::mem::take(&mut self.probe_open)),
            Event::Stop => self.fenced = true,
            Event::Replace { .. } | Event::Restart => {
                self.ordered_while_closing |= self.close_ordered.is_some() && !self.proved_dead;
            }
            Event::Start
            | Event::Established { .. }
            | Event::ConnectFailed { .. }
            | Event::Ended { .. }
            | Event::DeadlineReached
            | Event::Revive => {}
        }
    }

    fn refill(&mut self) {
        (self.spent, self.free_sessions) = (0, 0);
    }

    fn action(&mut self, seen: &Seen<'_>, action: &Action) -> Result<(), String> {
        let ordered = matches!(seen.event, Event::Restart | Event::Replace { .. } | Event::Revive);
        match action {
            Action::Establish { generation, attempt } => {
                promise!(!self.fenced, "generation {generation} was begun after the stop");
                promise!(self.proved_dead, "generation {generation} was begun beside a living one");
                promise!(generation.number() == self.generation + 1, "generation {generation} is not the next one");
                promise!(
                    self.due.is_none_or(|due| seen.now >= due || ordered),
                    "generation {generation} came too early"
                );
                (self.generation, self.proved_dead) = (generation.number(), false);
                (self.close_ordered, self.established, self.due) = (None, None, None);
                (self.probe_open, self.probe_failures, self.exhausted) = (false, 0, false);
                self.tally.generations += 1;
                if seen.out.facts.contains(&Fact::Revived) {
                    self.tally.revived += 1;
                    self.refill();
                }
                self.ordered_while_closing &= attempt.is_some();
                if let Some(attempt) = *attempt {
                    self.tally.attempts += 1;
                    promise!(attempt <= self.policy.max_attempts, "attempt {attempt} is beyond the budget");
                    // An order can repeat the attempt that was under way: same number, spent once.
                    let repeated = attempt == self.spent && matches!(seen.before.state, StateName::Closing);
                    promise!(attempt == self.spent + 1 || repeated, "attempt {attempt} follows {} spent", self.spent);
                    self.attempts_in_outage += attempt - self.spent;
                    self.spent = attempt;
                }
            }
            Action::Publish { generation } => {
                promise!(
                    matches!(seen.event, Event::Established { .. }),
                    "generation {generation} was published unproved"
                );
                self.established = Some(seen.now);
            }
            Action::Probe { generation } => {
                promise!(!self.probe_open, "a second probe of generation {generation} was sent");
                promise!(self.established.is_some() && self.close_ordered.is_none(), "a probe without a life");
                self.probe_open = true;
                self.tally.probes += 1;
            }
            Action::Close { generation } => {
                promise!(self.close_ordered.is_none(), "generation {generation} was closed twice");
                self.close_ordered = Some(seen.now);
            }
            Action::Withdraw => {
                let gone = matches!(seen.after.state, StateName::Exhausted | StateName::Stuck | StateName::Stopped);
                promise!(gone, "the tools were withdrawn in {:?}", seen.after.state);
            }
            Action::Escalate(escalation) => {
                self.tally.escalated += 1;
                promise!(self.policy.required, "a target that is not required ends the process");
                match escalation {
                    Escalation::Exhausted { .. } => {
                        let gone = matches!(seen.after.state, StateName::Exhausted | StateName::Stuck);
                        promise!(gone, "exhaustion was escalated in {:?}", seen.after.state);
                    }
                    Escalation::StartupFailed { .. } => {
                        promise!(self.policy.strict_startup, "a lenient start-up ends the process");
                        promise!(!seen.before.first_connect_finished, "start-up failed although it had finished");
                    }
                }
            }
        }
        Ok(())
    }

    fn fact(&mut self, seen: &Seen<'_>, fact: &Fact) -> Result<(), String> {
        match fact {
            Fact::StateChanged { from, to } => {
                promise!(*from == self.state && from != to, "{from:?} → {to:?} was told in {:?}", self.state);
                self.state = *to;
            }
            Fact::OutageBegan { .. } => {
                promise!(self.outage_since.is_none(), "an outage began within another one");
                self.outage_since = seen.after.outage_since.or(Some(seen.now));
                self.attempts_in_outage = 0;
            }
            Fact::OutageEnded { outcome, duration, attempts } => {
                let since = self.outage_since.take().ok_or("an outage ended that had not begun")?;
                promise!(*duration == seen.now - since, "an outage of {:?} is told as {duration:?}", seen.now - since);
                promise!(
                    *attempts == self.attempts_in_outage,
                    "{attempts} attempts told of {}",
                    self.attempts_in_outage
                );
                self.tally.recovered += u64::from(*outcome == OutageOutcome::Recovered);
            }
            Fact::BackoffScheduled { attempt, delay, .. } => self.delay(seen, *attempt, *delay)?,
            Fact::AuthRequired { retry_in, .. } => {
                promise!(within_jitter(&self.policy, self.policy.max_delay, *retry_in), "credentials in {retry_in:?}");
                self.due = Some(seen.now + *retry_in);
                self.tally.credentials += 1;
            }
            Fact::BudgetExhausted { attempts, .. } => {
                promise!(*attempts == self.policy.max_attempts, "exhausted after {attempts} attempts");
                promise!(self.spent == self.policy.max_attempts, "exhausted with {} spent", self.spent);
                promise!(!std::mem::replace(&mut self.exhausted, true), "exhausted twice");
                self.tally.exhausted += 1;
            }
            Fact::BudgetRestored { spent } => {
                promise!(self.spent == 0 && *spent > 0, "{spent} attempts were given back without proved stability");
                self.tally.restored += 1;
            }
            Fact::GenerationEnded { .. } => {
                promise!(self.close_ordered == Some(seen.now), "an ending was told without a close");
            }
            Fact::CloseOverdue { waited, .. } => {
                promise!(*waited >= self.policy.close_timeout, "a close was overdue after {waited:?}");
                self.tally.stuck += u64::from(seen.after.state == StateName::Stuck);
            }
            Fact::ProbeFailed { failures, .. } => {
                self.tally.failed_probes += 1;
                promise!(*failures == self.probe_failures, "{failures} failed probes told of {}", self.probe_failures);
            }
            Fact::StopIncomplete { .. } => {
                promise!(!self.proved_dead, "a complete stop is told to be incomplete");
                self.tally.incomplete_stops += 1;
            }
            Fact::Stopped => promise!(self.proved_dead, "an incomplete stop is told to be complete"),
            Fact::Revived => {
                let ordered = matches!(seen.event, Event::Restart | Event::Replace { .. } | Event::Revive);
                promise!(ordered || seen.before.state == StateName::Closing, "nobody ordered a revival");
            }
            Fact::RecoveryDisabled { .. } => self.tally.disabled += 1,
            Fact::SignalIgnored { .. } => self.tally.ignored += 1,
            Fact::GenerationStarted { .. }
            | Fact::GenerationEstablished { .. }
            | Fact::ConnectFailed { .. }
            | Fact::GenerationClosed { .. } => {}
        }
        Ok(())
    }

    fn delay(&mut self, seen: &Seen<'_>, attempt: u32, delay: Duration) -> Result<(), String> {
        promise!(matches!(seen.event, Event::Closed { .. }), "a pause began before the end was proved");
        self.due = Some(seen.now + delay);
        if delay.is_zero() {
            let ordered = std::mem::take(&mut self.ordered_while_closing);
            let session = seen.before.last_cause.as_ref().is_some_and(|cause| cause.kind == CauseKind::SessionLost);
            promise!(attempt == self.spent, "attempt {attempt} without a delay spent nothing");
            promise!(ordered || session && self.free_sessions == 0, "attempt {attempt} has no delay");
            self.free_sessions += u32::from(!ordered);
            self.tally.lost_sessions += u64::from(!ordered);
            return Ok(());
        }
        promise!(attempt == self.spent + 1, "attempt {attempt} is scheduled after {}", self.spent);
        let mut expected = self.policy.initial_delay;
        for _ in 1..attempt {
            expected = (expected * 2).min(self.policy.max_delay);
        }
        promise!(within_jitter(&self.policy, expected, delay), "attempt {attempt} in {delay:?}, not {expected:?}");
        promise!(seen.deadline == self.due, "the pause and its deadline differ");
        Ok(())
    }

    fn afterwards(&self, seen: &Seen<'_>) -> Result<(), String> {
        let state = seen.after.state;
        promise!(state == self.state, "{state:?} was entered and not told");
        promise!(seen.after.attempts == self.spent, "{} attempts told of {}", seen.after.attempts, self.spent);
        if self.fenced {
            promise!(matches!(state, StateName::Stopping | StateName::Stopped), "{state:?} after the stop");
        }
        if self.close_ordered.is_some() && !self.proved_dead {
            let bounded = seen
                .deadline
                .is_some_and(|due| self.close_ordered.is_some_and(|at| due <= at + self.policy.close_timeout));
            let given_up = matches!(state, StateName::Stuck | StateName::Stopped);
            promise!(bounded || given_up, "a close has no bound in {state:?}");
            let past = seen.deadline.is_some_and(|due| due <= seen.now);
            promise!(!(past && *seen.event == Event::DeadlineReached), "an overdue close is waited for in {state:?}");
        }
        if state == StateName::Established {
            promise!(
                self.probe_failures < self.policy.liveness_failures,
                "a generation that failed its probes lives on"
            );
        }
        let waits = matches!(state, StateName::Waiting | StateName::AuthRequired);
        promise!(!waits || (self.proved_dead && self.outage_since.is_some()), "a pause without proof or outage");
        Ok(())
    }
}

fn within_jitter(policy: &Policy, expected: Duration, actual: Duration) -> bool {
    let band = if policy.jitter { expected / 10 } else { Duration::ZERO };
    actual.abs_diff(expected) <= band
}
