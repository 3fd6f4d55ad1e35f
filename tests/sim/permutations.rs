//! Every order of the failure signals of one generation makes one ending and one retry.

use std::time::{Duration, Instant};

use mcp_sidecar::core::action::{Action, Outbox};
use mcp_sidecar::core::cause::CauseKind;
use mcp_sidecar::core::event::Event;
use mcp_sidecar::core::fact::Fact;
use mcp_sidecar::core::generation::Generation;
use mcp_sidecar::core::machine::Machine;
use mcp_sidecar::core::policy::Policy;
use mcp_sidecar::core::status::StateName;

use super::world::cause;

const FIRST: Generation = Generation::new(1);

#[test]
fn every_order_of_the_signals_of_a_lost_generation_makes_one_ending_and_one_retry() {
    let signals = [
        ended(CauseKind::ProcessExited),
        ended(CauseKind::TransportClosed),
        ended(CauseKind::ServerError),
        Event::ProbeFailed { generation: FIRST, cause: cause(CauseKind::LivenessFailed) },
        Event::ProofOfLife { generation: FIRST },
        Event::Closed { generation: FIRST },
    ];
    for order in permutations(&signals) {
        let mut bench = Bench::new();
        bench.step(&Event::Established { generation: FIRST });
        bench.now += Duration::from_secs(20);
        bench.step(&Event::DeadlineReached);
        bench.all(&order, |bench| bench.orders(|action| matches!(action, Action::Close { .. })) == 1);
        bench.has_one_ending_and_one_retry(&order, |fact| matches!(fact, Fact::GenerationEnded { .. }));
    }
}

#[test]
fn every_order_of_the_signals_of_a_failed_connect_makes_one_failure_and_one_retry() {
    let signals = [
        Event::ConnectFailed { generation: FIRST, cause: cause(CauseKind::HandshakeFailed) },
        Event::ConnectFailed { generation: FIRST, cause: cause(CauseKind::StartTimeout) },
        ended(CauseKind::ProcessExited),
        ended(CauseKind::TransportClosed),
        ended(CauseKind::ProtocolViolation),
        Event::Closed { generation: FIRST },
    ];
    for order in permutations(&signals) {
        let mut bench = Bench::new();
        bench.all(&order, |bench| bench.orders(|action| matches!(action, Action::Close { .. })) == 1);
        bench.has_one_ending_and_one_retry(&order, |fact| matches!(fact, Fact::ConnectFailed { .. }));
    }
}

/// A machine that was started, with a probe after 20 s, one failure of which ends the generation.
struct Bench {
    machine: Machine,
    now: Instant,
    out: Outbox,
}

impl Bench {
    fn new() -> Self {
        let policy = Policy {
            reconnect: true,
            initial_delay: Duration::from_millis(500),
            max_delay: Duration::from_secs(30),
            max_attempts: 10,
            jitter: false,
            close_timeout: Duration::from_secs(10),
            liveness_interval: Duration::from_secs(20),
            liveness_failures: 1,
            required: true,
            strict_startup: false,
        };
        let mut bench = Self { machine: Machine::new(policy), now: Instant::now(), out: Outbox::default() };
        bench.step(&Event::Start);
        bench
    }

    fn step(&mut self, event: &Event) {
        self.machine.step(self.now, 0.5, event.clone(), &mut self.out).expect("a possible event");
    }

    /// Delivers the signals in this order; the close's proof, which answers the close, not before it was ordered.
    fn all(&mut self, order: &[Event], close_is_ordered: impl Fn(&Self) -> bool) {
        let mut early = None;
        for event in order {
            self.now += Duration::from_millis(1);
            if matches!(event, Event::Closed { .. }) && !close_is_ordered(self) {
                early = Some(event);
                continue;
            }
            self.step(event);
            if close_is_ordered(self)
                && let Some(closed) = early.take()
            {
                self.step(closed);
            }
        }
    }

    fn orders(&self, matches: impl Fn(&Action) -> bool) -> usize {
        self.out.actions.iter().filter(|action| matches(action)).count()
    }

    fn facts(&self, matches: impl Fn(&Fact) -> bool) -> usize {
        self.out.facts.iter().filter(|fact| matches(fact)).count()
    }

    fn has_one_ending_and_one_retry(&mut self, order: &[Event], ending: impl Fn(&Fact) -> bool) {
        assert_eq!(self.facts(ending), 1, "{order:?}");
        assert_eq!(self.facts(|fact| matches!(fact, Fact::OutageBegan { .. })), 1, "{order:?}");
        assert_eq!(self.facts(|fact| matches!(fact, Fact::BackoffScheduled { attempt: 1, .. })), 1, "{order:?}");
        assert_eq!(self.machine.snapshot().state, StateName::Waiting, "{order:?}");
        self.now += Duration::from_secs(1);
        self.step(&Event::DeadlineReached);
        assert_eq!(self.orders(|action| matches!(action, Action::Establish { .. })), 2, "{order:?}");
        assert_eq!(self.machine.snapshot().attempts, 1, "{order:?}");
    }
}

fn ended(kind: CauseKind) -> Event {
    Event::Ended { generation: FIRST, cause: cause(kind) }
}

fn permutations(items: &[Event]) -> Vec<Vec<Event>> {
    if items.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (index, first) in items.iter().enumerate() {
        let rest: Vec<Event> = [&items[..index], &items[index + 1..]].concat();
        for mut order in permutations(&rest) {
            order.insert(0, first.clone());
            all.push(order);
        }
    }
    all
}
