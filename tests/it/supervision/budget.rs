//! Attempts, their delays, and what gives them back.

use std::time::Duration;

use mcp_sidecar::core::action::{Action, Escalation};
use mcp_sidecar::core::cause::CauseKind;
use mcp_sidecar::core::event::Event;
use mcp_sidecar::core::fact::Fact;
use mcp_sidecar::core::policy::Policy;
use mcp_sidecar::core::status::StateName;

use super::bench::{Bench, policy};

const NANOSECOND: Duration = Duration::from_nanos(1);

fn is_attempt(action: &Action) -> bool {
    matches!(action, Action::Establish { attempt: Some(_), .. })
}

#[test]
fn a_target_that_never_comes_back_gets_exactly_max_attempts_with_the_delays_of_the_closed_form() {
    let mut bench = Bench::up(policy());
    bench.crash();
    let delays = bench.run_out();
    assert_eq!(
        delays.iter().map(Duration::as_secs_f64).collect::<Vec<f64>>(),
        [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0, 30.0]
    );
    assert_eq!(bench.ordered(is_attempt), 10);
    assert_eq!(bench.told(|fact| matches!(fact, Fact::BudgetExhausted { attempts: 10, required: true, .. })), 1);
    assert_eq!(bench.ordered(|action| *action == Action::Withdraw), 1);
    assert_eq!(bench.ordered(|action| matches!(action, Action::Escalate(Escalation::Exhausted { .. }))), 1);
    assert_eq!(bench.machine.next_deadline(), None, "nothing is tried any more");
}

#[test]
fn a_crash_loop_whose_connects_succeed_briefly_runs_its_budget_out() {
    let mut bench = Bench::up(policy());
    let mut attempts = 0;
    loop {
        bench.wait(bench.policy.max_delay);
        bench.live();
        bench.crash();
        if bench.state() == StateName::Exhausted {
            break;
        }
        bench.deadline();
        bench.establish();
        attempts += 1;
    }
    assert_eq!(attempts, 10);
    assert_eq!(bench.told(|fact| matches!(fact, Fact::BudgetRestored { .. })), 0);
}

#[test]
fn a_generation_proved_alive_beyond_the_window_gives_the_whole_budget_back() {
    let mut bench = Bench::up(policy());
    for _ in 0..3 * bench.policy.max_attempts {
        bench.crash();
        bench.deadline();
        assert_eq!(bench.spent(), 1);
        bench.establish();
        bench.wait(bench.policy.max_delay);
        bench.live();
        assert_eq!(bench.spent(), 1, "not beyond the window yet");
        bench.wait(NANOSECOND);
        bench.live();
        assert_eq!(bench.spent(), 0);
        assert!(bench.last.facts.contains(&Fact::BudgetRestored { spent: 1 }));
    }
    assert_eq!(bench.told(|fact| matches!(fact, Fact::BudgetExhausted { .. })), 0);
}

#[test]
fn a_full_budget_is_not_told_to_be_restored() {
    let mut bench = Bench::up(policy());
    bench.wait(bench.policy.max_delay * 2);
    bench.live();
    assert_eq!(bench.told(|fact| matches!(fact, Fact::BudgetRestored { .. })), 0);
}

#[test]
fn silence_proves_nothing_however_long_it_lasts() {
    let mut bench = Bench::up(policy());
    bench.crash();
    bench.deadline();
    bench.establish();
    bench.wait(Duration::from_secs(3));
    bench.live();
    bench.wait(bench.policy.max_delay * 10);
    bench.end(CauseKind::ProcessExited);
    let uptime = bench.last.facts.iter().find_map(|fact| {
        if let Fact::GenerationEnded { proved_uptime, .. } = fact { Some(*proved_uptime) } else { None }
    });
    assert_eq!(uptime, Some(Duration::from_secs(3)), "up to the last proof of life");
    assert_eq!(bench.spent(), 1);
}

#[test]
fn the_budget_is_shared_by_outages_within_the_window() {
    let mut bench = Bench::up(policy());
    for expected in [0.5, 1.0, 2.0] {
        bench.crash();
        let before = bench.now;
        bench.deadline();
        assert_eq!((bench.now - before).as_secs_f64(), expected);
        bench.establish();
    }
    assert_eq!(bench.spent(), 3);
}

#[test]
fn the_first_connect_spends_nothing() {
    let mut bench = Bench::started(policy());
    bench.fail(CauseKind::CommandNotFound);
    bench.closed();
    assert_eq!(bench.spent(), 0);
    assert_eq!(bench.run_out().len(), 10);
}

#[test]
fn a_lost_session_is_replaced_at_once_and_spends_one_attempt() {
    let mut bench = Bench::up(policy());
    bench.end(CauseKind::SessionLost);
    bench.closed();
    assert_eq!((bench.state(), bench.spent()), (StateName::Attempting, 1));
    assert!(
        bench
            .last
            .facts
            .iter()
            .any(|fact| matches!(fact, Fact::BackoffScheduled { attempt: 1, delay, .. } if delay.is_zero()))
    );
}

#[test]
fn a_second_lost_session_within_the_window_waits_like_any_other_outage() {
    let mut bench = Bench::up(policy());
    bench.end(CauseKind::SessionLost);
    bench.closed();
    bench.establish();
    bench.wait(bench.policy.max_delay);
    bench.live();
    bench.end(CauseKind::SessionLost);
    bench.closed();
    assert_eq!(bench.state(), StateName::Waiting);
    assert_eq!(bench.machine.snapshot().delay, Some(Duration::from_secs(1)), "the delay of attempt 2");
}

#[test]
fn proved_stability_gives_the_free_session_loss_back() {
    let mut bench = Bench::up(policy());
    for _ in 0..30 {
        bench.end(CauseKind::SessionLost);
        bench.closed();
        assert_eq!(bench.state(), StateName::Attempting);
        bench.establish();
        bench.wait(bench.policy.max_delay + NANOSECOND);
        bench.live();
    }
}

#[test]
fn a_server_that_loses_its_session_on_each_call_runs_its_budget_out() {
    let mut bench = Bench::up(policy());
    for _ in 0..bench.policy.max_attempts {
        bench.end(CauseKind::SessionLost);
        bench.closed();
        if bench.state() == StateName::Waiting {
            bench.deadline();
        }
        bench.establish();
        bench.live();
    }
    bench.end(CauseKind::SessionLost);
    bench.closed();
    assert_eq!(bench.state(), StateName::Exhausted);
}

#[test]
fn a_refused_credential_spends_nothing_and_is_tried_again_every_max_delay() {
    let mut bench = Bench::started(policy());
    for _ in 0..50 {
        bench.fail(CauseKind::AuthRequired);
        bench.closed();
        assert_eq!((bench.state(), bench.spent()), (StateName::AuthRequired, 0));
        let before = bench.now;
        bench.deadline();
        assert_eq!(bench.now - before, bench.policy.max_delay);
    }
    assert_eq!(bench.ordered(is_attempt), 0);
    bench.fail(CauseKind::ConnectRefused);
    bench.closed();
    assert_eq!(bench.state(), StateName::Waiting, "another failure is an ordinary one");
    assert_eq!(bench.machine.snapshot().delay, Some(Duration::from_millis(500)));
}

#[test]
fn jitter_moves_delays_by_less_than_a_tenth_and_not_to_whole_units() {
    for (noise, expected) in [(0.0, 450_000_000), (0.123_456_789, 462_345_679), (0.75, 525_000_000)] {
        let mut bench = Bench::up(Policy { jitter: true, ..policy() });
        bench.end(CauseKind::ProcessExited);
        let generation = bench.generation();
        bench.machine.step(bench.now, noise, Event::Closed { generation }, &mut bench.last).expect("possible");
        let (due, _) = bench.machine.next_deadline().expect("a pause");
        assert_eq!((due - bench.now).as_nanos(), expected, "noise {noise}");
    }
}

#[test]
fn exhaustion_of_a_target_that_is_not_required_leaves_the_process_alone() {
    let mut bench = Bench::up(Policy { required: false, strict_startup: true, ..policy() });
    bench.crash();
    bench.run_out();
    assert_eq!(bench.ordered(|action| *action == Action::Withdraw), 1);
    assert_eq!(bench.ordered(|action| matches!(action, Action::Escalate(_))), 0);
}
