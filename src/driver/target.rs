//! The loop of one target: select → event → step → carry out. Decides nothing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::flight::FlightLog;
use super::incarnation::{self, Workshop};
use super::live::Live;
use super::sync::SyncQueue;
use crate::catalogue::Catalogue;
use crate::catalogue::snapshot::UpstreamTool;
use crate::core::action::{Action, Escalation, Outbox};
use crate::core::event::Event;
use crate::core::fact::Fact;
use crate::core::generation::Generation;
use crate::core::machine::Machine;
use crate::core::policy::Policy;
use crate::core::status::{StateName, Status};
use crate::heartbeat::Heartbeat;
use crate::telemetry::note::Note;

/// How often a loop with nothing to do shows that it still turns.
const BEAT: Duration = Duration::from_secs(1);

/// What a target's loop listens to.
#[derive(Debug)]
pub enum Message {
    /// Something happened to the target.
    Event(Event),
    /// A generation finished its handshake and first sync.
    Opened {
        /// It.
        live: Arc<Live>,
        /// Its tools.
        tools: Vec<UpstreamTool>,
    },
    /// The server says that its tools changed.
    ToolsChanged {
        /// Whose.
        generation: Generation,
    },
    /// A re-sync finished.
    Synced {
        /// Whose.
        generation: Generation,
        /// The tools.
        tools: Vec<UpstreamTool>,
        /// How long the listing took.
        took: Duration,
    },
}

impl From<Event> for Message {
    fn from(event: Event) -> Self {
        Self::Event(event)
    }
}

/// What a target's loop tells the process.
#[derive(Clone, Debug)]
pub enum Report {
    /// The state of some target changed: whether all are lost may have a new answer.
    Changed,
    /// A target was stopped, and the end of its last generation is not proved.
    StopIncomplete {
        /// Which.
        server: String,
        /// Its last generation.
        generation: Generation,
    },
    /// A target forces the end of the process.
    Escalated {
        /// Which.
        server: String,
        /// Why.
        escalation: Escalation,
    },
}

/// What a loop is given.
#[derive(Debug)]
pub struct Parts {
    /// For its generations.
    pub workshop: Arc<Workshop>,
    /// Its rules.
    pub policy: Policy,
    /// Where its tools are published.
    pub catalogue: Catalogue,
    /// Which calls are in flight.
    pub flights: Arc<FlightLog>,
    /// Its status, for everyone.
    pub status: watch::Sender<Arc<Status>>,
    /// Its established generation, for calls.
    pub live: watch::Sender<Option<Arc<Live>>>,
    /// Shows that the loop turns.
    pub heartbeat: Heartbeat,
    /// To the process.
    pub reports: mpsc::UnboundedSender<Report>,
}

/// Runs until the target is stopped and nothing of it is left to be waited for.
pub async fn run(parts: Parts, mut inbox: mpsc::UnboundedReceiver<Message>) {
    let mut target = Target::new(parts);
    let mut beat = tokio::time::interval(BEAT);
    target.handle(Event::Start);
    while !target.is_over() {
        let deadline = target.machine.next_deadline().map(|(at, _)| at);
        tokio::select! {
            biased;
            message = inbox.recv() => match message {
                Some(message) => target.receive(message),
                None => return,
            },
            () = until(deadline) => target.deadline_reached(),
            _ = beat.tick() => {}
        }
        target.parts.heartbeat.beat();
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

/// The machine and what it moves.
struct Target {
    machine: Machine,
    parts: Parts,
    /// Opened, not yet published.
    staged: Option<(Arc<Live>, Vec<UpstreamTool>)>,
    /// The generation that runs or is being closed.
    running: Option<(Generation, CancellationToken)>,
    syncs: SyncQueue,
    /// The last proof of life that the machine was told.
    told_pulse: Option<Instant>,
}

impl Target {
    fn new(parts: Parts) -> Self {
        let machine = Machine::new(parts.policy.clone());
        let syncs = SyncQueue::new(parts.workshop.inbox.clone(), parts.workshop.telemetry.clone());
        Self { machine, parts, staged: None, running: None, syncs, told_pulse: None }
    }

    /// Stopped, and no late proof of an ending is awaited.
    fn is_over(&self) -> bool {
        self.machine.snapshot().state == StateName::Stopped
    }

    fn receive(&mut self, message: Message) {
        match message {
            Message::Event(event) => self.handle(event),
            Message::Opened { live, tools } => {
                let generation = live.generation;
                self.staged = Some((live, tools));
                self.handle(Event::Established { generation });
            }
            Message::ToolsChanged { generation } => {
                if let Some(live) = self.current_live().filter(|live| live.generation == generation) {
                    self.syncs.request(live);
                }
            }
            Message::Synced { generation, tools, took } => {
                if self.current_live().is_some_and(|live| live.generation == generation) {
                    self.publish(generation, tools, took);
                }
            }
        }
    }

    fn deadline_reached(&mut self) {
        let now = Instant::now();
        self.tell_pulse();
        // A proof of life that came in meanwhile may have moved the deadline.
        if self.machine.next_deadline().is_some_and(|(at, _)| at <= now) {
            self.step(now, Event::DeadlineReached);
        }
    }

    fn handle(&mut self, event: Event) {
        self.tell_pulse();
        self.step(Instant::now(), event);
    }

    /// Proofs of life are noted by calls without waking the loop; the machine hears of the last one before anything
    /// that happened after it.
    fn tell_pulse(&mut self) {
        let Some(live) = self.current_live() else { return };
        if let Some(at) = live.pulse.since(self.told_pulse) {
            self.told_pulse = Some(at);
            self.step(at, Event::ProofOfLife { generation: live.generation });
        }
    }

    fn step(&mut self, now: Instant, event: Event) {
        let mut out = Outbox::default();
        if let Err(impossible) = self.machine.step(now, fastrand::f64(), event, &mut out) {
            let text = format!("server {}: {impossible}", self.parts.workshop.server.name);
            self.parts.workshop.telemetry.note(&Note::Warning { text });
        }
        let changed = !out.facts.is_empty() || !out.actions.is_empty();
        for fact in &out.facts {
            self.observe(fact);
        }
        // Who sees the new status finds what it speaks of; who hears of an escalation finds the status that explains it.
        let (escalations, orders): (Vec<_>, Vec<_>) =
            out.actions.into_iter().partition(|action| matches!(action, Action::Escalate(_)));
        for action in orders {
            self.carry_out(action);
        }
        if changed {
            self.parts.status.send_replace(Arc::new(self.machine.snapshot()));
            let _ = self.parts.reports.send(Report::Changed);
        }
        for action in escalations {
            self.carry_out(action);
        }
    }

    fn observe(&self, fact: &Fact) {
        self.parts.workshop.telemetry.record(&self.parts.workshop.server.name, fact);
        if let Fact::StopIncomplete { generation } = fact {
            let (server, generation) = (self.parts.workshop.server.name.clone(), *generation);
            let _ = self.parts.reports.send(Report::StopIncomplete { server, generation });
        }
        if let Fact::GenerationEnded { generation, planned, .. } = fact {
            self.parts.flights.ended(*generation, *planned);
        }
        if let Fact::BudgetRestored { .. } = fact {
            self.parts.flights.restored();
        }
    }

    fn carry_out(&mut self, action: Action) {
        match action {
            Action::Establish { generation, attempt: _ } => {
                let close = CancellationToken::new();
                self.running = Some((generation, close.clone()));
                tokio::spawn(incarnation::run(Arc::clone(&self.parts.workshop), generation, close));
            }
            Action::Publish { generation } => {
                let Some((live, tools)) = self.staged.take().filter(|(live, _)| live.generation == generation) else {
                    return;
                };
                self.told_pulse = None;
                // The tools first: a held call that the session wakes looks its tool up again.
                self.publish(generation, tools, live.opened_in);
                self.parts.live.send_replace(Some(live));
            }
            Action::Probe { generation } => self.probe(generation),
            Action::Close { generation } => {
                self.parts.live.send_replace(None);
                self.staged = None;
                self.syncs.cancel();
                if let Some((_, close)) = self.running.take_if(|(running, _)| *running == generation) {
                    close.cancel();
                }
            }
            Action::Withdraw => {
                let server = &self.parts.workshop.server.name;
                if self.parts.catalogue.withdraw(server) {
                    self.parts.workshop.telemetry.note(&Note::ToolsWithdrawn { server: server.clone() });
                }
            }
            Action::Escalate(escalation) => {
                let server = self.parts.workshop.server.name.clone();
                let _ = self.parts.reports.send(Report::Escalated { server, escalation });
            }
        }
    }

    /// Makes these the tools that clients see.
    fn publish(&self, generation: Generation, tools: Vec<UpstreamTool>, took: Duration) {
        let Parts { workshop, catalogue, .. } = &self.parts;
        let server = &workshop.server.name;
        let change = catalogue.replace(server, tools);
        for rejected in change.rejected {
            let (tool, reason) = (rejected.tool, rejected.reason);
            workshop.telemetry.note(&Note::ToolRejected { server: server.clone(), tool, reason });
        }
        let (tools, changed) = (change.served, change.changed);
        workshop.telemetry.note(&Note::SyncFinished { server: server.clone(), generation, tools, changed, took });
    }

    fn probe(&self, generation: Generation) {
        let Some(live) = self.current_live().filter(|live| live.generation == generation) else { return };
        let workshop = Arc::clone(&self.parts.workshop);
        tokio::spawn(async move {
            let event = match live.session.probe(workshop.server.liveness.timeout).await {
                Ok(()) => Event::ProofOfLife { generation },
                Err(cause) => Event::ProbeFailed { generation, cause },
            };
            let _ = workshop.inbox.send(event.into());
        });
    }

    fn current_live(&self) -> Option<Arc<Live>> {
        self.parts.live.borrow().clone()
    }
}
