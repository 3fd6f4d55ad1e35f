//! Where outages begin and end, and what a start-up failure means.

use std::time::Duration;

use mcp_sidecar::core::action::{Action, Escalation};
use mcp_sidecar::core::cause::CauseKind;
use mcp_sidecar::core::event::Event;
use mcp_sidecar::core::fact::{Fact, OutageOutcome};
use mcp_sidecar::core::policy::Policy;
use mcp_sidecar::core::status::StateName;

use super::bench::{Bench, policy};

fn began(fact: &Fact) -> bool {
    matches!(fact, Fact::OutageBegan { .. })
}

fn ended(fact: &Fact) -> bool {
    matches!(fact, Fact::OutageEnded { .. })
}

#[test]
fn an_outage_lasts_from_the_loss_to_the_recovery() {
    let mut bench = Bench::up(policy());
    let lost = bench.now;
    bench.crash();
    bench.deadline();
    bench.wait(Duration::from_secs(2));
    bench.fail(CauseKind::ConnectRefused);
    bench.closed();
    bench.deadline();
    assert_eq!(bench.machine.snapshot().outage_since, Some(lost));
    bench.establish();
    let duration = bench.now - lost;
    assert!(bench.last.facts.contains(&Fact::OutageEnded { outcome: OutageOutcome::Recovered, duration, attempts: 2 }));
    assert_eq!((bench.told(began), bench.told(ended)), (1, 1));
    assert_eq!(bench.machine.snapshot().outage_since, None);
}

#[test]
fn a_failed_first_connect_begins_an_outage() {
    let mut bench = Bench::started(policy());
    bench.fail(CauseKind::SpawnFailed);
    assert_eq!(bench.told(began), 1);
    let status = bench.machine.snapshot();
    assert!(status.first_connect_finished && !status.ever_established);
}

#[test]
fn attempts_of_an_earlier_outage_are_not_counted_twice() {
    let mut bench = Bench::up(policy());
    for _ in 0..3 {
        bench.crash();
        bench.deadline();
        bench.establish();
        assert!(bench.last.facts.iter().any(|fact| matches!(fact, Fact::OutageEnded { attempts: 1, .. })));
    }
}

#[test]
fn an_exhausted_target_stays_in_its_outage_for_those_who_look() {
    let mut bench = Bench::up(policy());
    let lost = bench.now;
    bench.crash();
    bench.run_out();
    assert_eq!(bench.machine.snapshot().outage_since, Some(lost));
    assert_eq!(bench.told(|fact| matches!(fact, Fact::OutageEnded { outcome: OutageOutcome::Exhausted, .. })), 1);
    bench.step(Event::Revive);
    assert_eq!(bench.machine.snapshot().outage_since, None);
    bench.establish();
    assert_eq!(bench.told(ended), 1, "the outage had ended before");
}

#[test]
fn a_target_that_wants_credentials_is_in_an_outage() {
    let mut bench = Bench::up(policy());
    bench.end(CauseKind::AuthRequired);
    bench.closed();
    assert!(bench.last.facts.iter().any(|fact| matches!(fact, Fact::AuthRequired { .. })));
    bench.deadline();
    bench.establish();
    assert!(
        bench
            .last
            .facts
            .iter()
            .any(|fact| matches!(fact, Fact::OutageEnded { outcome: OutageOutcome::Recovered, attempts: 0, .. }))
    );
}

#[test]
fn without_recovery_a_lost_target_keeps_its_tools_and_waits_for_an_operator() {
    let mut bench = Bench::up(Policy { reconnect: false, ..policy() });
    let lost = bench.now;
    bench.crash();
    assert_eq!(bench.state(), StateName::Disabled);
    assert_eq!(bench.told(|fact| matches!(fact, Fact::RecoveryDisabled { .. })), 1);
    assert_eq!(bench.told(|fact| matches!(fact, Fact::OutageEnded { outcome: OutageOutcome::Exhausted, .. })), 1);
    assert_eq!(bench.ordered(|action| matches!(action, Action::Withdraw | Action::Escalate(_))), 0);
    assert_eq!((bench.machine.next_deadline(), bench.machine.snapshot().outage_since), (None, Some(lost)));
    bench.step(Event::Restart);
    bench.establish();
    assert_eq!(bench.told(|fact| matches!(fact, Fact::Revived)), 1);
}

#[test]
fn a_failed_first_connect_ends_a_strict_process_once() {
    let mut bench = Bench::started(Policy { strict_startup: true, ..policy() });
    bench.fail(CauseKind::ListFailed);
    assert!(matches!(bench.last.actions.last(), Some(Action::Escalate(Escalation::StartupFailed { .. }))));
    bench.closed();
    bench.deadline();
    bench.fail(CauseKind::ListFailed);
    assert_eq!(bench.ordered(|action| matches!(action, Action::Escalate(_))), 1);
}

#[test]
fn strictness_is_about_the_first_connect_of_required_targets_only() {
    let mut lenient = Bench::started(policy());
    lenient.fail(CauseKind::ListFailed);
    let mut optional = Bench::started(Policy { strict_startup: true, required: false, ..policy() });
    optional.fail(CauseKind::ListFailed);
    let mut up_once = Bench::up(Policy { strict_startup: true, ..policy() });
    up_once.crash();
    up_once.deadline();
    up_once.fail(CauseKind::ListFailed);
    for bench in [lenient, optional, up_once] {
        assert_eq!(bench.ordered(|action| matches!(action, Action::Escalate(_))), 0);
    }
}

#[test]
fn a_failed_planned_replacement_begins_an_outage_with_a_full_budget() {
    let mut bench = Bench::up(policy());
    bench.step(Event::Restart);
    assert_eq!(bench.told(began), 0);
    bench.closed();
    assert_eq!(bench.told(began), 0);
    bench.fail(CauseKind::ConnectRefused);
    assert_eq!(bench.told(began), 1);
    bench.closed();
    assert_eq!(bench.run_out().len(), 10);
}
