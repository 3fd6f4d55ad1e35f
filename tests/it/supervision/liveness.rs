//! Probes, and what their failures mean.

use std::time::Duration;

use mcp_sidecar::core::action::Action;
use mcp_sidecar::core::cause::CauseKind;
use mcp_sidecar::core::event::Event;
use mcp_sidecar::core::fact::Fact;
use mcp_sidecar::core::machine::Why;
use mcp_sidecar::core::policy::Policy;
use mcp_sidecar::core::status::StateName;

use super::bench::{Bench, policy};

fn is_probe(action: &Action) -> bool {
    matches!(action, Action::Probe { .. })
}

#[test]
fn a_silent_generation_is_probed_once_an_interval() {
    let mut bench = Bench::up(policy());
    for round in 1..=5 {
        let before = bench.now;
        assert_eq!(bench.deadline(), Why::ProbeDue);
        assert_eq!(bench.now - before, bench.policy.liveness_interval);
        assert_eq!(bench.ordered(is_probe), round);
        bench.live();
    }
}

#[test]
fn no_second_probe_is_sent_while_one_is_unanswered() {
    let mut bench = Bench::up(policy());
    bench.deadline();
    assert_eq!(bench.machine.next_deadline(), None);
    bench.wait(Duration::from_secs(3600));
    bench.step(Event::DeadlineReached);
    assert_eq!(bench.ordered(is_probe), 1);
}

#[test]
fn a_call_that_makes_progress_pushes_probes_away() {
    let mut bench = Bench::up(policy());
    for _ in 0..100 {
        bench.wait(bench.policy.liveness_interval - Duration::from_millis(1));
        bench.live();
    }
    let (due, _) = bench.machine.next_deadline().expect("a probe");
    assert_eq!(due - bench.now, bench.policy.liveness_interval);
    assert_eq!(bench.ordered(is_probe), 0);
}

#[test]
fn as_many_failures_in_a_row_as_allowed_end_the_generation() {
    let mut bench = Bench::up(policy());
    for failures in 1..=3 {
        assert_eq!(bench.state(), StateName::Established);
        bench.deadline();
        bench.probe_failed();
        assert!(
            bench
                .last
                .facts
                .iter()
                .any(|fact| matches!(fact, Fact::ProbeFailed { failures: told, allowed: 3, .. } if *told == failures))
        );
    }
    assert_eq!(bench.state(), StateName::Closing);
    assert!(
        bench
            .last
            .facts
            .iter()
            .any(|fact| matches!(fact, Fact::GenerationEnded { cause, .. } if cause.kind == CauseKind::LivenessFailed))
    );
    assert_eq!(bench.told(|fact| matches!(fact, Fact::GenerationEnded { .. })), 1);
}

#[test]
fn a_sign_of_life_makes_the_row_of_failures_begin_anew() {
    let mut bench = Bench::up(policy());
    for _ in 0..10 {
        for _ in 0..2 {
            bench.deadline();
            bench.probe_failed();
        }
        bench.live();
    }
    assert_eq!(bench.state(), StateName::Established);
}

#[test]
fn after_a_failure_the_next_probe_is_due_an_interval_after_the_failed_one_was_sent() {
    let mut bench = Bench::up(policy());
    bench.deadline();
    let sent = bench.now;
    bench.wait(Duration::from_secs(10));
    bench.probe_failed();
    assert_eq!(bench.machine.next_deadline(), Some((sent + bench.policy.liveness_interval, Why::ProbeDue)));
}

#[test]
fn a_probe_that_took_longer_than_an_interval_to_fail_is_followed_by_another_at_once() {
    let mut bench = Bench::up(policy());
    bench.deadline();
    bench.wait(bench.policy.liveness_interval * 2);
    bench.probe_failed();
    let before = bench.now;
    bench.deadline();
    assert_eq!((bench.now, bench.ordered(is_probe)), (before, 2));
}

#[test]
fn a_server_that_hangs_after_each_handshake_runs_its_budget_out() {
    let mut bench = Bench::up(Policy { liveness_interval: Duration::from_secs(300), ..policy() });
    loop {
        while bench.state() == StateName::Established {
            bench.deadline();
            bench.wait(Duration::from_secs(10));
            bench.probe_failed();
        }
        bench.closed();
        if bench.state() == StateName::Exhausted {
            break;
        }
        bench.deadline();
        bench.establish();
    }
    assert_eq!(bench.ordered(|action| matches!(action, Action::Establish { .. })), 11);
}
