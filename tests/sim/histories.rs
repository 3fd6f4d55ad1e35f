//! Histories that shrink: the invariants, over scripts that a property test writes.

use std::cell::RefCell;

use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config, FileFailurePersistence, TestCaseError, TestRunner};

use super::choices::Choices;
use super::tally::Tally;
use super::world::World;

const HISTORIES: u32 = 100_000;

#[test]
fn every_history_keeps_every_promise() {
    let tally = RefCell::new(Tally::default());
    let scripts = vec(any::<u16>(), 0..160);
    runner(HISTORIES)
        .run(&scripts, |script| {
            let seen = World::new(Choices::scripted(script)).run(usize::MAX).map_err(TestCaseError::fail)?;
            *tally.borrow_mut() += seen;
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
    let tally = tally.into_inner();
    println!("{HISTORIES} histories: {tally:#?}");
    assert!(tally.rarest() >= 100, "the histories don't see enough: {tally:#?}");
}

fn runner(cases: u32) -> TestRunner {
    let regressions = FileFailurePersistence::Direct("tests/sim/proptest-regressions/histories.txt");
    TestRunner::new(Config { cases, failure_persistence: Some(Box::new(regressions)), ..Config::default() })
}
