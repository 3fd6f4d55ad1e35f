//! The plain reference model: what design says, from flags and timers, without a state to be in.
//!
//! It knows nothing of the machine's states; their names are read off its flags, and so are the orders.

use std::time::{Duration, Instant};

use mcp_sidecar::core::cause::CauseKind;
use mcp_sidecar::core::event::Event;
use mcp_sidecar::core::policy::Policy;
use mcp_sidecar::core::status::StateName;

use super::order::Order;

pub struct Model {
    policy: Policy,
    started: bool,
    stopped: bool,
    generation: u64,
    /// The generation whose end is not proved.
    alive: Option<Alive>,
    /// The close took too long; cleared when an operator revives the target.
    overdue: bool,
    timer: Option<Timer>,
    given_up: bool,
    pub spent: u32,
    session_grace_used: bool,
    outage: bool,
    connect_ever_finished: bool,
    orders: Vec<Order>,
}

struct Alive {
    attempt: Option<u32>,
    up: Option<Up>,
    /// When it has to be closed by, once it has to go.
    close_by: Option<Instant>,
    /// What ended it; `None` for a planned replacement.
    ended_by: Option<CauseKind>,
    /// Somebody wants a fresh generation as soon as possible.
    ordered: bool,
    free_session: bool,
}

struct Up {
    since: Instant,
    sign: Instant,
    probe_sent: Option<Instant>,
    probe_open: bool,
    failures: u32,
}

struct Timer {
    due: Instant,
    costs: bool,
}

impl Model {
    pub fn new(policy: Policy) -> Self {
        Self {
            policy,
            started: false,
            stopped: false,
            generation: 0,
            alive: None,
            overdue: false,
            timer: None,
            given_up: false,
            spent: 0,
            session_grace_used: false,
            outage: false,
            connect_ever_finished: false,
            orders: Vec::new(),
        }
    }

    pub fn state(&self) -> StateName {
        let ending = self.alive.as_ref().is_some_and(|alive| alive.close_by.is_some());
        let up = self.alive.as_ref().is_some_and(|alive| alive.up.is_some());
        if self.stopped {
            return if ending && !self.overdue { StateName::Stopping } else { StateName::Stopped };
        }
        match () {
            () if !self.started => StateName::Idle,
            () if self.overdue => StateName::Stuck,
            () if ending => StateName::Closing,
            () if up => StateName::Established,
            () if self.alive.is_some() && self.outage => StateName::Attempting,
            () if self.alive.is_some() => StateName::Starting,
            () => match &self.timer {
                Some(timer) if timer.costs => StateName::Waiting,
                Some(_) => StateName::AuthRequired,
                None if self.given_up => StateName::Exhausted,
                None => StateName::Disabled,
            },
        }
    }

    pub fn deadline(&self) -> Option<Instant> {
        if let Some(alive) = &self.alive {
            if self.overdue {
                return None;
            }
            let probe = alive.up.as_ref().filter(|up| !up.probe_open);
            let silent_since =
                probe.map(|up| up.probe_sent.filter(|sent| *sent >= up.sign && up.failures > 0).unwrap_or(up.sign));
            return alive.close_by.or(silent_since.map(|since| since + self.policy.liveness_interval));
        }
        self.timer.as_ref().map(|timer| timer.due)
    }

    /// Takes an event that is possible, and returns what has to be ordered.
    pub fn step(&mut self, now: Instant, noise: f64, event: &Event) -> Vec<Order> {
        let speaks_of_another = event.generation().is_some_and(|generation| generation.number() != self.generation);
        if !speaks_of_another {
            self.take(now, noise, event);
        }
        std::mem::take(&mut self.orders)
    }

    fn take(&mut self, now: Instant, noise: f64, event: &Event) {
        match event {
            Event::Start if !self.started && !self.stopped => {
                self.started = true;
                self.connect(None);
            }
            Event::Established { .. } => self.came_up(now),
            Event::ConnectFailed { cause, .. } | Event::Ended { cause, .. } => self.went_down(now, cause.kind),
            Event::ProofOfLife { .. } => self.showed_life(now),
            Event::ProbeFailed { .. } => self.missed_probe(now),
            Event::Closed { .. } => self.proved_dead(now, noise),
            Event::DeadlineReached if self.deadline().is_some_and(|due| due <= now) => self.timer_ran_out(now),
            Event::Replace { .. } | Event::Restart => self.ordered_anew(now),
            Event::Revive if self.down_for_good() => self.revive(),
            Event::Stop => self.stop(now),
            Event::Start | Event::DeadlineReached | Event::Revive => {}
        }
    }

    fn connect(&mut self, attempt: Option<u32>) {
        self.timer = None;
        self.generation += 1;
        self.alive =
            Some(Alive { attempt, up: None, close_by: None, ended_by: None, ordered: false, free_session: false });
        self.orders.push(Order::Establish(self.generation, attempt));
    }

    fn pay_and_connect(&mut self) {
        self.spent += 1;
        self.connect(Some(self.spent));
    }

    fn came_up(&mut self, now: Instant) {
        let Some(alive) = self.alive.as_mut().filter(|alive| alive.close_by.is_none()) else { return };
        alive.attempt = None;
        alive.up = Some(Up { since: now, sign: now, probe_sent: None, probe_open: false, failures: 0 });
        self.outage = false;
        self.connect_ever_finished = true;
        self.orders.push(Order::Publish(self.generation));
    }

    fn went_down(&mut self, now: Instant, kind: CauseKind) {
        let Some(alive) = self.alive.as_mut().filter(|alive| alive.close_by.is_none()) else { return };
        alive.ended_by = Some(kind);
        if kind == CauseKind::SessionLost && alive.up.is_some() && self.policy.reconnect && !self.session_grace_used {
            alive.free_session = true;
            self.session_grace_used = true;
        }
        let first = alive.up.is_none() && !self.connect_ever_finished;
        self.connect_ever_finished = true;
        self.outage = true;
        self.close(now);
        if first && self.policy.required && self.policy.strict_startup {
            self.orders.push(Order::ExitStartupFailed);
        }
    }

    fn close(&mut self, now: Instant) {
        if let Some(alive) = self.alive.as_mut() {
            alive.close_by = Some(now + self.policy.close_timeout);
            self.orders.push(Order::Close(self.generation));
        }
    }

    fn showed_life(&mut self, now: Instant) {
        let Some(up) = self.up() else { return };
        (up.sign, up.probe_open, up.failures) = (now, false, 0);
        if now > up.since + self.policy.max_delay {
            self.refill();
        }
    }

    fn missed_probe(&mut self, now: Instant) {
        let Some(up) = self.up().filter(|up| up.probe_open) else { return };
        up.probe_open = false;
        up.failures += 1;
        if up.failures == self.policy.liveness_failures {
            self.went_down(now, CauseKind::LivenessFailed);
        }
    }

    fn up(&mut self) -> Option<&mut Up> {
        self.alive.as_mut().filter(|alive| alive.close_by.is_none())?.up.as_mut()
    }

    fn proved_dead(&mut self, now: Instant, noise: f64) {
        let Some(dead) = self.alive.take() else { return };
        if self.stopped && !self.overdue {
            self.orders.push(Order::Withdraw);
        }
        if self.stopped || self.overdue {
            return;
        }
        let none_left = self.spent >= self.policy.max_attempts;
        match dead.ended_by {
            None => self.connect(dead.attempt),
            Some(CauseKind::AuthRequired) if dead.ordered && self.policy.reconnect => self.connect(None),
            Some(_) if dead.ordered => {
                if none_left {
                    self.refill();
                }
                self.pay_and_connect();
            }
            Some(_) if !self.policy.reconnect => self.outage = false,
            Some(CauseKind::AuthRequired) => {
                self.timer = Some(Timer { due: now + self.jitter(self.policy.max_delay, noise), costs: false });
            }
            Some(_) if none_left => {
                self.outage = false;
                self.given_up = true;
                self.gone_for_good();
            }
            Some(_) if dead.free_session => self.pay_and_connect(),
            Some(_) => {
                let doubled = self.policy.initial_delay.as_secs_f64() * 2_f64.powi(self.spent.cast_signed());
                let delay = Duration::from_secs_f64(doubled.min(self.policy.max_delay.as_secs_f64()));
                self.timer = Some(Timer { due: now + self.jitter(delay, noise), costs: true });
            }
        }
    }

    fn jitter(&self, delay: Duration, noise: f64) -> Duration {
        if self.policy.jitter { delay.mul_f64(0.9 + 0.2 * noise) } else { delay }
    }

    fn gone_for_good(&mut self) {
        self.orders.push(Order::Withdraw);
        if self.policy.required {
            self.orders.push(Order::ExitExhausted);
        }
    }

    fn timer_ran_out(&mut self, now: Instant) {
        match (&mut self.alive, &self.timer) {
            (Some(Alive { close_by: Some(_), .. }), _) => {
                self.overdue = true;
                self.outage = false;
                self.connect_ever_finished = true;
                if self.stopped { self.orders.push(Order::Withdraw) } else { self.gone_for_good() }
            }
            (Some(Alive { up: Some(up), .. }), _) => {
                (up.probe_sent, up.probe_open) = (Some(now), true);
                self.orders.push(Order::Probe(self.generation));
            }
            (None, Some(timer)) => {
                if timer.costs {
                    self.pay_and_connect()
                } else {
                    self.connect(None)
                }
            }
            (Some(_) | None, _) => {}
        }
    }

    fn ordered_anew(&mut self, now: Instant) {
        if self.stopped || !self.started {
            return;
        }
        if self.down_for_good() {
            self.revive();
        } else if let Some(alive) = &mut self.alive {
            if alive.close_by.is_some() {
                alive.ordered = true;
            } else {
                self.close(now);
            }
        } else if let Some(timer) = &self.timer {
            if timer.costs { self.pay_and_connect() } else { self.connect(None) }
        }
    }

    fn down_for_good(&self) -> bool {
        self.started && !self.stopped && self.alive.is_none() && self.timer.is_none()
    }

    fn revive(&mut self) {
        self.refill();
        (self.given_up, self.overdue, self.outage) = (false, false, false);
        self.connect(None);
    }

    fn refill(&mut self) {
        self.spent = 0;
        self.session_grace_used = false;
    }

    fn stop(&mut self, now: Instant) {
        if std::mem::replace(&mut self.stopped, true) {
            return;
        }
        self.timer = None;
        match &self.alive {
            Some(alive) if alive.close_by.is_none() => self.close(now),
            Some(_) if !self.overdue => {}
            Some(_) | None => self.orders.push(Order::Withdraw),
        }
    }
}
