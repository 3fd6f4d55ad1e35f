//! A world around one machine: virtual time, a driver that answers orders late, wrongly or never, operators that
//! interfere, and signals that come twice or too late.

mod driver;

use std::fmt::Write;
use std::time::{Duration, Instant};

use mcp_sidecar::core::action::Outbox;
use mcp_sidecar::core::cause::{Cause, CauseKind};
use mcp_sidecar::core::event::Event;
use mcp_sidecar::core::machine::Machine;
use mcp_sidecar::core::policy::Policy;
use mcp_sidecar::core::status::{StateName, Status};

use super::choices::Choices;
use super::judge::{Judge, Seen};
use super::model::Model;
use super::order::Order;
use super::tally::Tally;
use driver::Driver;

pub struct World {
    choices: Choices,
    policy: Policy,
    machine: Machine,
    status: Status,
    model: Model,
    judge: Judge,
    driver: Driver,
    begin: Instant,
    now: Instant,
    out: Outbox,
    history: Vec<(Duration, Event)>,
}

/// How far the model's floating point may be from the machine's nanoseconds.
const ROUNDING: Duration = Duration::from_micros(1);

impl World {
    pub fn new(mut choices: Choices) -> Self {
        let policy = policy(&mut choices);
        let begin = Instant::now();
        let machine = Machine::new(policy.clone());
        Self {
            status: machine.snapshot(),
            machine,
            model: Model::new(policy.clone()),
            judge: Judge::new(policy.clone()),
            driver: Driver::new(&mut choices, policy.close_timeout),
            policy,
            choices,
            begin,
            now: begin,
            out: Outbox::default(),
            history: Vec::new(),
        }
    }

    /// Runs a history of at most `steps` events, then stops the target and waits for the end.
    ///
    /// # Errors
    /// The first broken promise, with the policy and every event up to it.
    pub fn run(mut self, steps: usize) -> Result<Tally, String> {
        match self.live(steps).and_then(|()| self.end()) {
            Ok(()) => Ok(self.judge.tally),
            Err(broken) => Err(self.report(&broken)),
        }
    }

    fn live(&mut self, steps: usize) -> Result<(), String> {
        if !self.choices.once_in(50) {
            self.deliver(Event::Start)?;
        }
        for _ in 0..steps {
            let at_rest = self.status.state == StateName::Stopped && self.choices.once_in(8);
            if at_rest || self.choices.are_over() {
                break;
            }
            if self.choices.below(5) == 4 {
                let event = self.interference();
                self.deliver(event)?;
            } else if !self.advance()? {
                let event = self.order();
                self.deliver(event)?;
            }
        }
        Ok(())
    }

    /// A stop is reached from wherever the history ended, within the close barrier's bound.
    fn end(&mut self) -> Result<(), String> {
        self.deliver(Event::Stop)?;
        let asked = self.now;
        while self.status.state != StateName::Stopped {
            let deadline = self.machine.next_deadline().map(|(due, _)| due);
            let Some(due) = deadline.filter(|due| *due <= asked + self.policy.close_timeout) else {
                return Err(format!("the stop has no bound: {deadline:?}"));
            };
            match self.driver.next().filter(|(at, _)| *at < due) {
                Some((at, event)) => {
                    self.driver.pop();
                    self.now = self.now.max(at);
                    self.deliver(event)?;
                }
                None => {
                    self.now = self.now.max(due);
                    self.deliver(Event::DeadlineReached)?;
                }
            }
        }
        match self.machine.next_deadline() {
            None => Ok(()),
            Some(deadline) => Err(format!("a stopped target waits for {deadline:?}")),
        }
    }

    /// Lets time run to the next thing that happens by itself. `false` if nothing will.
    fn advance(&mut self) -> Result<bool, String> {
        let deadline = self.machine.next_deadline().map(|(due, _)| due);
        let next = self.driver.next().map(|(at, _)| at);
        let Some(first) = deadline.into_iter().chain(next).min() else { return Ok(false) };
        self.now = self.now.max(first);
        if next == Some(first) {
            let Some((_, event)) = self.driver.pop() else { return Ok(false) };
            if self.driver.is_possible(&event) {
                self.deliver(event)?;
            }
        } else {
            // Timers are late under load, never early.
            let late = self.choices.of(&[0, 0, 0, 1, 200, 3000]);
            self.now += Duration::from_millis(late);
            self.deliver(Event::DeadlineReached)?;
        }
        Ok(true)
    }

    fn interference(&mut self) -> Event {
        let generation = self.status.generation;
        match self.choices.below(16) {
            0..=4 => self.driver.duplicate(&mut self.choices, generation),
            5..=9 => self.driver.stale(&mut self.choices, generation),
            10 if self.machine.next_deadline().is_some() => Event::DeadlineReached,
            11 if self.status.state == StateName::Established => Event::ProofOfLife { generation },
            12 if self.choices.once_in(3) => Event::Stop,
            _ => self.order(),
        }
    }

    fn order(&mut self) -> Event {
        match self.choices.below(3) {
            0 => Event::Restart,
            1 => Event::Revive,
            _ => Event::Replace { cause: cause(CauseKind::EndpointMoved) },
        }
    }

    fn deliver(&mut self, event: Event) -> Result<(), String> {
        self.history.push((self.now - self.begin, event.clone()));
        let noise = self.choices.noise();
        let before = self.machine.clone();
        self.out.actions.clear();
        self.out.facts.clear();
        self.machine.step(self.now, noise, event.clone(), &mut self.out).map_err(|error| error.to_string())?;
        let after = self.machine.snapshot();
        let deadline = self.machine.next_deadline().map(|(due, _)| due);

        let predicted = self.model.step(self.now, noise, &event);
        let orders: Vec<Order> = self.out.actions.iter().map(Order::from).collect();
        agree("orders", &orders, &predicted)?;
        agree("state", &after.state, &self.model.state())?;
        agree("spent attempts", &after.attempts, &self.model.spent)?;
        let due = self.model.deadline();
        let agreed = match (deadline, due) {
            (Some(deadline), Some(due)) => deadline.max(due) - deadline.min(due) <= ROUNDING,
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        if !agreed {
            return Err(format!("deadline: the machine has {deadline:?}, the model {due:?}"));
        }

        self.judge.step(&Seen {
            now: self.now,
            event: &event,
            before: &self.status,
            after: &after,
            unchanged: self.machine == before,
            out: &self.out,
            deadline,
        })?;
        self.driver.delivered(&mut self.choices, self.now, &event);
        for action in &self.out.actions {
            self.driver.ordered(&mut self.choices, self.now, action);
        }
        self.status = after;
        Ok(())
    }

    fn report(&self, broken: &str) -> String {
        let mut text = format!("{broken}\n{:#?}\n", self.policy);
        for (at, event) in &self.history {
            let _ = writeln!(text, "{at:>14.3?}  {event:?}");
        }
        let _ = write!(text, "left in {:?} with {:?}", self.machine.snapshot(), self.out);
        text
    }
}

fn agree<T: PartialEq + std::fmt::Debug>(what: &str, machine: &T, model: &T) -> Result<(), String> {
    if machine == model { Ok(()) } else { Err(format!("{what}: the machine has {machine:?}, the model {model:?}")) }
}

pub fn cause(kind: CauseKind) -> Cause {
    Cause::new(kind, "")
}

fn policy(choices: &mut Choices) -> Policy {
    Policy {
        reconnect: !choices.once_in(12),
        initial_delay: Duration::from_millis(choices.of(&[500, 10, 30_000, 1_234])),
        max_delay: Duration::from_secs(30),
        max_attempts: choices.of(&[2_u16, 1, 3, 10]).into(),
        jitter: choices.once_in(2),
        close_timeout: Duration::from_secs(choices.of(&[10, 1, 60])),
        liveness_interval: Duration::from_secs(choices.of(&[20, 1, 300])),
        liveness_failures: choices.of(&[3_u16, 1]).into(),
        required: choices.once_in(2),
        strict_startup: choices.once_in(3),
    }
}
