//! The close barrier, its bound, and the way to a stop.

use std::time::Duration;

use mcp_sidecar::core::action::{Action, Escalation, Outbox};
use mcp_sidecar::core::cause::CauseKind;
use mcp_sidecar::core::event::Event;
use mcp_sidecar::core::fact::{Fact, IgnoredReason, OutageOutcome};
use mcp_sidecar::core::generation::Generation;
use mcp_sidecar::core::machine::Why;
use mcp_sidecar::core::policy::Policy;
use mcp_sidecar::core::status::StateName;

use super::bench::{Bench, cause, policy};

const GENERATION: Generation = Generation::new(1);

#[test]
fn the_pause_begins_when_the_end_is_proved_and_not_before() {
    let mut bench = Bench::up(policy());
    bench.end(CauseKind::ProcessExited);
    assert_eq!(bench.last.actions, [Action::Close { generation: GENERATION }]);
    bench.wait(Duration::from_secs(9));
    assert_eq!(bench.ordered(|action| matches!(action, Action::Establish { .. })), 1);
    bench.closed();
    let (due, _) = bench.machine.next_deadline().expect("a pause");
    assert_eq!(due - bench.now, Duration::from_millis(500));
    assert!(
        bench.last.facts.contains(&Fact::GenerationClosed { generation: GENERATION, took: Duration::from_secs(9) })
    );
}

#[test]
fn several_signals_of_one_generation_make_one_ending() {
    let mut bench = Bench::up(policy());
    bench.end(CauseKind::ProcessExited);
    for kind in [CauseKind::TransportClosed, CauseKind::ServerError, CauseKind::SessionLost] {
        bench.step(Event::Ended { generation: GENERATION, cause: cause(kind) });
        let ignored = Fact::SignalIgnored { generation: GENERATION, reason: IgnoredReason::AlreadyEnding };
        assert_eq!(bench.last, Outbox { actions: vec![], facts: vec![ignored] });
    }
    assert_eq!(bench.told(|fact| matches!(fact, Fact::OutageBegan { .. })), 1);
}

#[test]
fn a_transport_close_that_outruns_the_connect_rejection_is_the_failed_connect() {
    let mut bench = Bench::started(policy());
    bench.end(CauseKind::TransportClosed);
    bench.step(Event::ConnectFailed { generation: GENERATION, cause: cause(CauseKind::HandshakeFailed) });
    bench.closed();
    assert_eq!(bench.told(|fact| matches!(fact, Fact::ConnectFailed { .. })), 1);
    assert_eq!(bench.told(|fact| matches!(fact, Fact::BackoffScheduled { .. })), 1);
}

#[test]
fn a_close_that_does_not_come_in_time_makes_the_target_stuck_and_loud() {
    let mut bench = Bench::up(policy());
    bench.end(CauseKind::ProcessExited);
    let before = bench.now;
    assert_eq!(bench.deadline(), Why::CloseOverdue);
    let waited = bench.now - before;
    assert_eq!((waited, bench.state()), (bench.policy.close_timeout, StateName::Stuck));
    assert!(bench.last.facts.contains(&Fact::CloseOverdue { generation: GENERATION, waited }));
    assert!(bench.last.facts.contains(&Fact::OutageEnded {
        outcome: OutageOutcome::Exhausted,
        duration: waited,
        attempts: 0
    }));
    assert_eq!(bench.last.actions[0], Action::Withdraw);
    assert!(matches!(bench.last.actions[1], Action::Escalate(Escalation::Exhausted { .. })));
    assert_eq!(bench.machine.next_deadline(), None);
}

#[test]
fn a_stuck_target_that_is_not_required_leaves_the_process_alone() {
    let mut bench = Bench::up(Policy { required: false, ..policy() });
    bench.end(CauseKind::ProcessExited);
    bench.deadline();
    assert_eq!(bench.last.actions, [Action::Withdraw]);
}

#[test]
fn a_late_close_frees_a_stuck_target_for_an_operator() {
    for order in [Event::Restart, Event::Revive] {
        let mut bench = Bench::up(policy());
        bench.end(CauseKind::ProcessExited);
        bench.deadline();
        bench.step(order.clone());
        assert_eq!(bench.last, Outbox::default(), "not before the barrier has passed");
        bench.wait(Duration::from_secs(500));
        bench.closed();
        assert_eq!((bench.state(), &bench.last.actions[..]), (StateName::Stuck, &[][..]), "remembered, not acted on");
        bench.step(order);
        assert_eq!(bench.last.actions, [Action::Establish { generation: GENERATION.next(), attempt: None }]);
    }
}

#[test]
fn a_planned_replacement_that_gets_stuck_is_an_outage_since_its_close_was_ordered() {
    let mut bench = Bench::up(policy());
    let ordered = bench.now;
    bench.step(Event::Restart);
    bench.deadline();
    assert_eq!(bench.told(|fact| matches!(fact, Fact::OutageBegan { .. })), 1);
    assert_eq!(bench.told(|fact| matches!(fact, Fact::OutageEnded { .. })), 1);
    assert_eq!(bench.machine.snapshot().outage_since, Some(ordered));
}

#[test]
fn a_stop_closes_the_living_generation_and_waits_for_the_proof() {
    for bench in [Bench::started(policy()), Bench::up(policy())] {
        let mut bench = bench;
        bench.step(Event::Stop);
        assert_eq!(bench.last.actions, [Action::Close { generation: GENERATION }]);
        assert_eq!(bench.state(), StateName::Stopping);
        bench.step(Event::Established { generation: GENERATION });
        bench.step(Event::Restart);
        assert!(bench.last.actions.is_empty(), "nothing is accepted any more");
        bench.closed();
        assert_eq!(bench.last.actions, [Action::Withdraw]);
        assert_eq!((bench.state(), bench.last.facts.last()), (StateName::Stopped, Some(&Fact::Stopped)));
    }
}

#[test]
fn a_stop_during_the_pause_is_complete_at_once() {
    let mut bench = Bench::up(policy());
    bench.crash();
    bench.step(Event::Stop);
    assert_eq!((bench.state(), bench.machine.next_deadline()), (StateName::Stopped, None));
    assert_eq!(bench.last.actions, [Action::Withdraw]);
    assert!(
        bench.last.facts.iter().any(|fact| matches!(fact, Fact::OutageEnded { outcome: OutageOutcome::Aborted, .. }))
    );
}

#[test]
fn a_stop_while_closing_keeps_the_deadline_of_that_close() {
    let mut bench = Bench::up(policy());
    bench.end(CauseKind::ProcessExited);
    let due = bench.machine.next_deadline();
    bench.wait(Duration::from_secs(4));
    bench.step(Event::Stop);
    assert!(bench.last.actions.is_empty(), "its close was ordered already");
    assert_eq!((bench.state(), bench.machine.next_deadline()), (StateName::Stopping, due));
}

#[test]
fn a_stop_without_proof_is_incomplete_after_its_bound() {
    let mut bench = Bench::up(policy());
    bench.step(Event::Stop);
    let before = bench.now;
    bench.deadline();
    assert_eq!((bench.now - before, bench.state()), (bench.policy.close_timeout, StateName::Stopped));
    assert_eq!(bench.last.facts.last(), Some(&Fact::StopIncomplete { generation: GENERATION }));
    assert_eq!(bench.told(|fact| *fact == Fact::Stopped), 0);
    bench.closed();
    assert_eq!(bench.state(), StateName::Stopped);
    assert!(bench.last.actions.is_empty(), "never followed by a restart");
}

#[test]
fn a_stop_of_a_stuck_target_is_incomplete_unless_the_barrier_has_passed() {
    for (late_close, incomplete) in [(false, 1), (true, 0)] {
        let mut bench = Bench::up(policy());
        bench.end(CauseKind::ProcessExited);
        bench.deadline();
        if late_close {
            bench.closed();
        }
        bench.step(Event::Stop);
        assert_eq!(bench.state(), StateName::Stopped);
        assert_eq!(bench.told(|fact| matches!(fact, Fact::StopIncomplete { .. })), incomplete);
        assert_eq!(bench.told(|fact| *fact == Fact::Stopped), 1 - incomplete);
    }
}

#[test]
fn a_stop_overtakes_a_start() {
    let mut bench = Bench::new(policy());
    bench.step(Event::Stop);
    bench.step(Event::Start);
    let fenced = Fact::SignalIgnored { generation: Generation::NONE, reason: IgnoredReason::Fenced };
    assert_eq!(bench.last, Outbox { actions: vec![], facts: vec![fenced] });
}
