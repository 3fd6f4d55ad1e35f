//! A machine on a bench: a hand-moved clock, and everything it ever put out.

use std::time::{Duration, Instant};

use mcp_sidecar::core::action::{Action, Outbox};
use mcp_sidecar::core::cause::{Cause, CauseKind};
use mcp_sidecar::core::event::Event;
use mcp_sidecar::core::fact::Fact;
use mcp_sidecar::core::generation::Generation;
use mcp_sidecar::core::machine::{Machine, Why};
use mcp_sidecar::core::policy::Policy;
use mcp_sidecar::core::status::StateName;

/// Server defaults, without jitter.
pub fn policy() -> Policy {
    Policy {
        reconnect: true,
        initial_delay: Duration::from_millis(500),
        max_delay: Duration::from_secs(30),
        max_attempts: 10,
        jitter: false,
        close_timeout: Duration::from_secs(10),
        liveness_interval: Duration::from_secs(20),
        liveness_failures: 3,
        required: true,
        strict_startup: false,
    }
}

pub fn cause(kind: CauseKind) -> Cause {
    Cause::new(kind, kind.label())
}

pub struct Bench {
    pub machine: Machine,
    pub policy: Policy,
    pub now: Instant,
    /// Everything since the bench was built.
    pub all: Outbox,
    /// What the last step put out.
    pub last: Outbox,
}

impl Bench {
    pub fn new(policy: Policy) -> Self {
        let machine = Machine::new(policy.clone());
        Self { machine, policy, now: Instant::now(), all: Outbox::default(), last: Outbox::default() }
    }

    /// A bench whose machine was started.
    pub fn started(policy: Policy) -> Self {
        let mut bench = Self::new(policy);
        bench.step(Event::Start);
        bench
    }

    /// A bench whose machine is established.
    pub fn up(policy: Policy) -> Self {
        let mut bench = Self::started(policy);
        bench.establish();
        bench
    }

    pub fn state(&self) -> StateName {
        self.machine.snapshot().state
    }

    pub fn generation(&self) -> Generation {
        self.machine.snapshot().generation
    }

    pub fn spent(&self) -> u32 {
        self.machine.snapshot().attempts
    }

    pub fn step(&mut self, event: Event) -> &Outbox {
        self.last = Outbox::default();
        let noise = 0.5;
        self.machine.step(self.now, noise, event, &mut self.last).expect("a possible event");
        self.all.actions.extend(self.last.actions.iter().cloned());
        self.all.facts.extend(self.last.facts.iter().cloned());
        &self.last
    }

    pub fn wait(&mut self, duration: Duration) {
        self.now += duration;
    }

    /// Lets the clock run to the next deadline and delivers it.
    pub fn deadline(&mut self) -> Why {
        let (due, why) = self.machine.next_deadline().expect("a deadline");
        self.now = self.now.max(due);
        self.step(Event::DeadlineReached);
        why
    }

    pub fn establish(&mut self) {
        let generation = self.generation();
        self.step(Event::Established { generation });
        assert_eq!(self.state(), StateName::Established);
    }

    pub fn fail(&mut self, kind: CauseKind) {
        let generation = self.generation();
        self.step(Event::ConnectFailed { generation, cause: cause(kind) });
        assert_eq!(self.state(), StateName::Closing);
    }

    pub fn end(&mut self, kind: CauseKind) {
        let generation = self.generation();
        self.step(Event::Ended { generation, cause: cause(kind) });
        assert_eq!(self.state(), StateName::Closing);
    }

    pub fn live(&mut self) {
        let generation = self.generation();
        self.step(Event::ProofOfLife { generation });
    }

    pub fn probe_failed(&mut self) {
        let generation = self.generation();
        self.step(Event::ProbeFailed { generation, cause: cause(CauseKind::TransportClosed) });
    }

    pub fn closed(&mut self) {
        let generation = self.generation();
        self.step(Event::Closed { generation });
    }

    /// The established generation ends and its end is proved.
    pub fn crash(&mut self) {
        self.end(CauseKind::ProcessExited);
        self.closed();
    }

    /// Fails every attempt until none is left. Returns the delays before them.
    pub fn run_out(&mut self) -> Vec<Duration> {
        let mut delays = Vec::new();
        while self.state() == StateName::Waiting {
            let before = self.now;
            self.deadline();
            delays.push(self.now - before);
            self.fail(CauseKind::ConnectRefused);
            self.closed();
        }
        assert_eq!(self.state(), StateName::Exhausted);
        delays
    }

    /// How often a fact was put out since the bench was built.
    pub fn told(&self, matches: impl Fn(&Fact) -> bool) -> usize {
        self.all.facts.iter().filter(|fact| matches(fact)).count()
    }

    /// How often an action was ordered since the bench was built.
    pub fn ordered(&self, matches: impl Fn(&Action) -> bool) -> usize {
        self.all.actions.iter().filter(|action| matches(action)).count()
    }
}
