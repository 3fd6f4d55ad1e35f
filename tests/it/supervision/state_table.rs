//! Walks every cell of ARCHITECTURE.md's state table.

use std::collections::BTreeSet;

use mcp_sidecar::core::action::Outbox;
use mcp_sidecar::core::cause::CauseKind;
use mcp_sidecar::core::event::Event;
use mcp_sidecar::core::fact::Fact;
use mcp_sidecar::core::generation::Generation;
use mcp_sidecar::core::policy::Policy;
use mcp_sidecar::core::status::StateName;

use super::bench::{Bench, cause, policy};

#[test]
fn every_cell_of_the_state_table_is_what_the_machine_does() {
    let table = table();
    let mut wrong = Vec::new();
    for (row, cells) in &table.rows {
        let bench = situation(row);
        assert_eq!(bench.state().label(), state_of(row), "the situation `{row}` is built wrongly");
        for (event, expected) in events(bench.generation()).iter().zip(cells) {
            let actual = outcome(&bench, event);
            if actual != *expected {
                wrong.push(format!("{row} × {}: the table says {expected}, the machine does {actual}", event.kind()));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn the_state_table_has_every_state_and_every_event() {
    let table = table();
    let kinds: Vec<&str> = events(Generation::new(1)).iter().map(Event::kind).collect();
    assert_eq!(table.columns, kinds);
    let states: BTreeSet<&str> = table.rows.iter().map(|(row, _)| state_of(row)).collect();
    assert_eq!(states, StateName::ALL.iter().map(|state| state.label()).collect());
}

#[test]
fn an_event_of_an_older_generation_is_inert_in_every_state() {
    for (row, _) in table().rows {
        let bench = situation(&row);
        let Some(older) = bench.generation().number().checked_sub(1) else { continue };
        for event in events(Generation::new(older)).into_iter().filter(|event| event.generation().is_some()) {
            assert_eq!(outcome(&bench, &event), "ignored", "{row} × {}", event.kind());
        }
    }
}

#[test]
fn an_event_of_a_generation_that_never_began_is_impossible_in_every_state() {
    for (row, _) in table().rows {
        let bench = situation(&row);
        for event in events(bench.generation().next()).into_iter().filter(|event| event.generation().is_some()) {
            assert_eq!(outcome(&bench, &event), "impossible", "{row} × {}", event.kind());
        }
    }
}

#[test]
fn a_deadline_that_comes_early_is_ignored_in_every_state() {
    for (row, _) in table().rows {
        let mut bench = situation(&row);
        let Some((due, _)) = bench.machine.next_deadline() else { continue };
        bench.now = due - std::time::Duration::from_nanos(1);
        let mut machine = bench.machine.clone();
        let mut out = Outbox::default();
        machine.step(bench.now, 0.5, Event::DeadlineReached, &mut out).expect("an early timer is no error");
        assert_eq!((machine, out), (bench.machine, Outbox::default()), "{row}");
    }
}

#[test]
fn an_impossible_event_names_state_event_and_generations() {
    let mut bench = situation("waiting");
    let error = bench
        .machine
        .step(bench.now, 0.5, Event::Established { generation: Generation::new(9) }, &mut Outbox::default())
        .expect_err("it never began");
    assert_eq!(
        error.to_string(),
        "event `Established` of generation 9 is impossible in state `waiting` of generation 1"
    );
}

/// What the machine does with the event once its deadline has come, in the words of the table.
fn outcome(bench: &Bench, event: &Event) -> String {
    let now = bench.machine.next_deadline().map_or(bench.now, |(due, _)| due);
    let mut machine = bench.machine.clone();
    let mut out = Outbox::default();
    let result = machine.step(now, 0.5, event.clone(), &mut out);
    let unchanged = machine == bench.machine && out.actions.is_empty();
    let only_ignored = out.facts.iter().all(|fact| matches!(fact, Fact::SignalIgnored { .. }));
    match result {
        Err(_) if unchanged && out.facts.is_empty() => "impossible".to_owned(),
        Err(error) => format!("changes something although it says: {error}"),
        Ok(()) if unchanged && only_ignored => "ignored".to_owned(),
        Ok(()) => machine.snapshot().state.label().to_owned(),
    }
}

/// One event per column, about this generation.
fn events(generation: Generation) -> Vec<Event> {
    let gone = || cause(CauseKind::TransportClosed);
    vec![
        Event::Start,
        Event::Established { generation },
        Event::ConnectFailed { generation, cause: gone() },
        Event::Ended { generation, cause: gone() },
        Event::ProofOfLife { generation },
        Event::ProbeFailed { generation, cause: gone() },
        Event::Closed { generation },
        Event::DeadlineReached,
        Event::Replace { cause: cause(CauseKind::SettingsChanged) },
        Event::Restart,
        Event::Revive,
        Event::Stop,
    ]
}

/// A machine as the row describes it.
fn situation(row: &str) -> Bench {
    match row {
        "idle" => Bench::new(policy()),
        "starting" => Bench::started(policy()),
        "established" => Bench::up(policy()),
        "established (probe pending)" => with(Bench::up(policy()), |bench| {
            bench.deadline();
        }),
        "established (last probe pending)" => with(situation("established (probe pending)"), |bench| {
            for _ in 1..bench.policy.liveness_failures {
                bench.probe_failed();
                bench.deadline();
            }
        }),
        "closing (attempt left)" => with(Bench::up(policy()), |bench| bench.end(CauseKind::ProcessExited)),
        "closing (none left)" => with(Bench::up(Policy { max_attempts: 1, ..policy() }), |bench| {
            bench.crash();
            bench.deadline();
            bench.fail(CauseKind::ConnectRefused);
        }),
        "closing (session lost)" => with(Bench::up(policy()), |bench| bench.end(CauseKind::SessionLost)),
        "closing (credentials)" => with(Bench::up(policy()), |bench| bench.end(CauseKind::AuthRequired)),
        "closing (recovery off)" => with(Bench::up(Policy { reconnect: false, ..policy() }), |bench| {
            bench.end(CauseKind::ProcessExited);
        }),
        "closing (ordered in an outage)" => with(situation("closing (none left)"), order_restart),
        "closing (ordered)" => with(Bench::up(policy()), order_restart),
        "waiting" => with(situation("closing (attempt left)"), Bench::closed),
        "attempting" => with(situation("waiting"), |bench| {
            bench.deadline();
        }),
        "exhausted" => with(situation("closing (none left)"), Bench::closed),
        "stuck" => with(situation("closing (attempt left)"), |bench| {
            bench.deadline();
        }),
        "stuck (barrier passed)" => with(situation("stuck"), Bench::closed),
        "disabled" => with(situation("closing (recovery off)"), Bench::closed),
        "auth_required" => with(situation("closing (credentials)"), Bench::closed),
        "stopping" => with(Bench::up(policy()), |bench| {
            bench.step(Event::Stop);
        }),
        "stopped" => with(situation("stopping"), Bench::closed),
        "stopped (end not proved)" => with(situation("stopping"), |bench| {
            bench.deadline();
        }),
        other => panic!("no situation is known for the row `{other}`"),
    }
}

fn with(mut bench: Bench, change: impl FnOnce(&mut Bench)) -> Bench {
    change(&mut bench);
    bench
}

fn order_restart(bench: &mut Bench) {
    bench.step(Event::Restart);
}

fn state_of(row: &str) -> &str {
    row.split(" (").next().expect("a first part")
}

struct Table {
    columns: Vec<String>,
    rows: Vec<(String, Vec<String>)>,
}

fn table() -> Table {
    let page = include_str!("../../../ARCHITECTURE.md");
    let (_, rest) = page.split_once("<!-- state-table:begin -->").expect("the table's begin");
    let (table, _) = rest.split_once("<!-- state-table:end -->").expect("the table's end");
    let mut lines = table.trim().lines().map(|line| {
        let cells = line.trim().trim_matches('|').split('|');
        cells.map(|cell| cell.trim().to_owned()).collect::<Vec<String>>()
    });
    let columns = lines.next().expect("a head").split_off(1);
    let rows: Vec<(String, Vec<String>)> = lines
        .skip(1)
        .map(|mut cells| (cells.remove(0), cells))
        .inspect(|(row, cells)| {
            assert_eq!(cells.len(), columns.len(), "row `{row}` has another number of cells than the head");
        })
        .collect();
    assert!(rows.len() >= StateName::ALL.len(), "only {} rows were found", rows.len());
    Table { columns, rows }
}
