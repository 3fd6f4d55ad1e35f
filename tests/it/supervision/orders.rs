//! Replace, restart and revive.

use mcp_sidecar::core::action::{Action, Outbox};
use mcp_sidecar::core::cause::CauseKind;
use mcp_sidecar::core::event::Event;
use mcp_sidecar::core::fact::Fact;
use mcp_sidecar::core::generation::Generation;
use mcp_sidecar::core::policy::Policy;
use mcp_sidecar::core::status::StateName;

use super::bench::{Bench, cause, policy};

fn moved() -> Event {
    Event::Replace { cause: cause(CauseKind::EndpointMoved) }
}

fn establish(generation: u64, attempt: Option<u32>) -> Action {
    Action::Establish { generation: Generation::new(generation), attempt }
}

#[test]
fn a_planned_replacement_waits_for_the_old_generation_and_spends_nothing() {
    for order in [moved(), Event::Restart] {
        let mut bench = Bench::up(policy());
        bench.step(order);
        assert_eq!(bench.last.actions, [Action::Close { generation: Generation::new(1) }]);
        assert!(bench.last.facts.iter().any(|fact| matches!(fact, Fact::GenerationEnded { planned: true, .. })));
        bench.closed();
        assert_eq!(bench.last.actions, [establish(2, None)]);
        assert_eq!((bench.state(), bench.spent()), (StateName::Starting, 0));
    }
}

#[test]
fn a_replacement_keeps_what_was_spent() {
    let mut bench = Bench::up(policy());
    bench.crash();
    bench.deadline();
    bench.establish();
    bench.step(moved());
    bench.closed();
    bench.establish();
    assert_eq!(bench.spent(), 1);
}

#[test]
fn a_restart_during_the_pause_attempts_at_once_and_spends_that_attempt() {
    let mut bench = Bench::up(policy());
    bench.crash();
    bench.step(Event::Restart);
    assert_eq!(bench.last.actions, [establish(2, Some(1))]);
    assert_eq!((bench.state(), bench.spent()), (StateName::Attempting, 1));
}

#[test]
fn a_restart_of_a_target_that_wants_credentials_tries_at_once_for_free() {
    let mut bench = Bench::up(policy());
    bench.end(CauseKind::AuthRequired);
    bench.closed();
    bench.step(Event::Restart);
    assert_eq!(bench.last.actions, [establish(2, None)]);
    assert_eq!((bench.state(), bench.spent()), (StateName::Attempting, 0));
}

#[test]
fn a_restart_while_connecting_tries_the_same_attempt_again() {
    let mut bench = Bench::up(policy());
    bench.crash();
    bench.deadline();
    bench.step(Event::Restart);
    assert_eq!(bench.last.actions, [Action::Close { generation: Generation::new(2) }]);
    bench.closed();
    assert_eq!(bench.last.actions, [establish(3, Some(1))]);
    assert_eq!((bench.state(), bench.spent()), (StateName::Attempting, 1));
}

#[test]
fn a_restart_while_closing_attempts_as_soon_as_the_barrier_passes() {
    let mut bench = Bench::up(policy());
    bench.end(CauseKind::ProcessExited);
    bench.step(Event::Restart);
    assert_eq!(bench.last, Outbox::default(), "the close is under way already");
    bench.closed();
    assert_eq!(bench.last.actions, [establish(2, Some(1))]);
}

#[test]
fn a_restart_while_the_last_attempt_closes_comes_before_exhaustion() {
    let mut bench = Bench::up(Policy { max_attempts: 1, ..policy() });
    bench.crash();
    bench.deadline();
    bench.fail(CauseKind::ConnectRefused);
    bench.step(Event::Restart);
    bench.closed();
    assert_eq!(bench.last.actions, [establish(3, Some(1))]);
    assert!(bench.last.facts.contains(&Fact::Revived));
    assert_eq!(bench.told(|fact| matches!(fact, Fact::BudgetExhausted { .. })), 0);
}

#[test]
fn a_revived_target_has_a_full_budget() {
    for order in [Event::Restart, Event::Revive, moved()] {
        let mut bench = Bench::up(policy());
        bench.crash();
        bench.run_out();
        let last = bench.generation().number();
        bench.step(order);
        assert_eq!(bench.last.actions, [establish(last + 1, None)]);
        assert_eq!((bench.state(), bench.spent()), (StateName::Starting, 0));
        bench.fail(CauseKind::ConnectRefused);
        bench.closed();
        assert_eq!(bench.run_out().len(), 10);
        assert_eq!(bench.told(|fact| matches!(fact, Fact::BudgetExhausted { .. })), 2);
    }
}

#[test]
fn a_revival_gives_the_free_session_loss_back() {
    let mut bench = Bench::up(policy());
    bench.end(CauseKind::SessionLost);
    bench.closed();
    bench.fail(CauseKind::ConnectRefused);
    bench.closed();
    bench.run_out();
    bench.step(Event::Revive);
    bench.establish();
    bench.end(CauseKind::SessionLost);
    bench.closed();
    assert_eq!(bench.state(), StateName::Attempting);
}
