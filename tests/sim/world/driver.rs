//! A driver that keeps its contract and nothing more: one answer per order, whenever it likes.

use std::time::{Duration, Instant};

use mcp_sidecar::core::action::Action;
use mcp_sidecar::core::cause::CauseKind;
use mcp_sidecar::core::event::Event;
use mcp_sidecar::core::generation::Generation;

use super::super::choices::Choices;
use super::cause;

pub struct Driver {
    server: Server,
    close_timeout: Duration,
    generation: Generation,
    phase: Phase,
    /// What will happen, unsorted, with a number that keeps equal times in order.
    coming: Vec<(Instant, u64, Event)>,
    scheduled: u64,
}

/// How the server behaves. A history of one server that never changes would miss what happens in between, so now and
/// then each does something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Server {
    Stable,
    CrashLoop,
    Dead,
    HangsAfterHandshake,
    LosesSessions,
    WantsCredentials,
    Unkillable,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Connecting,
    Up,
    Closing,
    Closed,
}

const SERVERS: [Server; 7] = [
    Server::Stable,
    Server::CrashLoop,
    Server::Dead,
    Server::HangsAfterHandshake,
    Server::LosesSessions,
    Server::WantsCredentials,
    Server::Unkillable,
];

impl Driver {
    pub fn new(choices: &mut Choices, close_timeout: Duration) -> Self {
        Self {
            server: choices.of(&SERVERS),
            close_timeout,
            generation: Generation::NONE,
            phase: Phase::Closed,
            coming: Vec::new(),
            scheduled: 0,
        }
    }

    /// What happens next by itself.
    pub fn next(&self) -> Option<(Instant, Event)> {
        let (at, _, event) = self.coming.iter().min_by_key(|(at, number, _)| (*at, *number))?;
        Some((*at, event.clone()))
    }

    pub fn pop(&mut self) -> Option<(Instant, Event)> {
        let position = (0..self.coming.len()).min_by_key(|index| (self.coming[*index].0, self.coming[*index].1))?;
        let (at, _, event) = self.coming.swap_remove(position);
        Some((at, event))
    }

    /// Whether a driver that keeps its contract can still send this.
    pub fn is_possible(&self, event: &Event) -> bool {
        if event.generation().is_none_or(|generation| generation < self.generation) {
            return true;
        }
        match event {
            Event::Established { .. } => matches!(self.phase, Phase::Connecting | Phase::Closing),
            Event::ConnectFailed { .. } => self.phase != Phase::Up,
            Event::ProbeFailed { .. } => self.phase != Phase::Connecting,
            Event::Ended { .. }
            | Event::ProofOfLife { .. }
            | Event::Closed { .. }
            | Event::Start
            | Event::DeadlineReached
            | Event::Replace { .. }
            | Event::Restart
            | Event::Revive
            | Event::Stop => true,
        }
    }

    pub fn ordered(&mut self, choices: &mut Choices, now: Instant, action: &Action) {
        match *action {
            Action::Establish { generation, .. } => {
                (self.generation, self.phase) = (generation, Phase::Connecting);
                self.connect(choices, now);
            }
            Action::Probe { generation } => {
                if self.behaviour(choices) == Server::HangsAfterHandshake {
                    let late = Duration::from_secs(choices.of(&[10, 1, 100]));
                    self.at(now + late, Event::ProbeFailed { generation, cause: cause(CauseKind::TransportClosed) });
                } else {
                    self.at(now + Duration::from_millis(30), Event::ProofOfLife { generation });
                }
            }
            Action::Close { generation } => {
                self.phase = Phase::Closing;
                if let Some(took) = self.close_duration(choices) {
                    self.at(now + took, Event::Closed { generation });
                }
            }
            Action::Publish { .. } | Action::Withdraw | Action::Escalate(_) => {}
        }
    }

    pub fn delivered(&mut self, choices: &mut Choices, now: Instant, event: &Event) {
        if event.generation() != Some(self.generation) {
            return;
        }
        if matches!(event, Event::Closed { .. }) {
            self.phase = Phase::Closed;
        }
        if matches!(event, Event::Established { .. }) && self.phase == Phase::Connecting {
            self.phase = Phase::Up;
            self.live(choices, now);
        }
    }

    /// Another signal of the current generation, one that is possible now.
    pub fn duplicate(&self, choices: &mut Choices, generation: Generation) -> Event {
        let ended = Event::Ended { generation, cause: cause(choices.of(&KINDS)) };
        let failed = Event::ConnectFailed { generation, cause: cause(choices.of(&KINDS)) };
        let probe = Event::ProbeFailed { generation, cause: cause(choices.of(&KINDS)) };
        match (self.phase, choices.below(4)) {
            _ if generation == Generation::NONE => Event::Revive,
            (Phase::Closing | Phase::Closed, 0) => failed,
            (Phase::Up | Phase::Closing | Phase::Closed, 1) => probe,
            (_, 2) => Event::ProofOfLife { generation },
            _ => ended,
        }
    }

    /// A signal of any older generation.
    pub fn stale(&self, choices: &mut Choices, generation: Generation) -> Event {
        if generation == Generation::NONE {
            return Event::Revive;
        }
        let ages = u16::try_from(generation.number().min(1000)).unwrap_or(1);
        let generation = Generation::new(generation.number() - 1 - u64::from(choices.below(ages)));
        match choices.below(6) {
            0 => Event::Ended { generation, cause: cause(choices.of(&KINDS)) },
            1 => Event::ConnectFailed { generation, cause: cause(choices.of(&KINDS)) },
            2 => Event::Closed { generation },
            3 => Event::Established { generation },
            4 => Event::ProofOfLife { generation },
            _ => Event::ProbeFailed { generation, cause: cause(choices.of(&KINDS)) },
        }
    }

    fn connect(&mut self, choices: &mut Choices, now: Instant) {
        let generation = self.generation;
        let at = now + Duration::from_millis(choices.of(&[20, 0, 900, 59_000]));
        let behaviour = self.behaviour(choices);
        let kind = match behaviour {
            Server::Stable
            | Server::CrashLoop
            | Server::HangsAfterHandshake
            | Server::LosesSessions
            | Server::Unkillable => return self.at(at, Event::Established { generation }),
            Server::Dead => choices.of(&KINDS),
            Server::WantsCredentials => CauseKind::AuthRequired,
        };
        // A rejected connect and its own transport's close race each other.
        if choices.once_in(3) {
            let earlier = if choices.once_in(2) { now } else { at };
            self.at(earlier, Event::Ended { generation, cause: cause(CauseKind::TransportClosed) });
        }
        self.at(at, Event::ConnectFailed { generation, cause: cause(kind) });
    }

    fn live(&mut self, choices: &mut Choices, now: Instant) {
        let generation = self.generation;
        let behaviour = self.behaviour(choices);
        let (lifetime, kind) = match behaviour {
            Server::Stable | Server::Unkillable => (choices.of(&[400, 40, 29, 31, 90]), CauseKind::ProcessExited),
            Server::CrashLoop | Server::Dead => (choices.of(&[0, 1, 5, 29]), CauseKind::TransportClosed),
            Server::HangsAfterHandshake => return,
            Server::LosesSessions => (choices.of(&[2, 0, 29, 35]), CauseKind::SessionLost),
            Server::WantsCredentials => (choices.of(&[60, 3]), CauseKind::AuthRequired),
        };
        let lifetime = Duration::from_secs(lifetime);
        for _ in 0..choices.below(4) {
            let share = choices.noise();
            self.at(now + lifetime.mul_f64(share), Event::ProofOfLife { generation });
        }
        for _ in 0..=choices.below(3) {
            self.at(now + lifetime, Event::Ended { generation, cause: cause(kind) });
        }
    }

    fn close_duration(&self, choices: &mut Choices) -> Option<Duration> {
        let bound = self.close_timeout;
        let quick = Duration::from_millis(choices.of(&[5, 0, 900]));
        let odd = if self.server == Server::Unkillable { 2 } else { 30 };
        if !choices.once_in(odd) {
            return Some(quick);
        }
        match choices.below(5) {
            0 => Some(bound - Duration::from_nanos(1)),
            1 => Some(bound),
            2 => Some(bound + quick),
            3 => Some(bound * 20),
            _ => None,
        }
    }

    fn behaviour(&self, choices: &mut Choices) -> Server {
        if choices.once_in(6) { choices.of(&SERVERS) } else { self.server }
    }

    fn at(&mut self, at: Instant, event: Event) {
        self.scheduled += 1;
        self.coming.push((at, self.scheduled, event));
    }
}

const KINDS: [CauseKind; 8] = [
    CauseKind::ConnectRefused,
    CauseKind::CommandNotFound,
    CauseKind::SpawnFailed,
    CauseKind::StartTimeout,
    CauseKind::ListFailed,
    CauseKind::ProcessExited,
    CauseKind::SessionLost,
    CauseKind::AuthRequired,
];
