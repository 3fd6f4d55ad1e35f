//! Long histories of seeds.

use super::choices::Choices;
use super::tally::Tally;
use super::world::World;

const RUNS: u64 = 4_000;
const EVENTS: usize = 400;

/// The first seed, unless the environment names one: fixed, so that a run says the same everywhere.
const SEED: u64 = 0x5ca1_ab1e;

#[test]
fn seeded_histories_agree_with_the_reference_model() {
    let seed = number("SIM_SEED").unwrap_or(SEED);
    let runs = number("SIM_RUNS").unwrap_or(RUNS);
    let mut tally = Tally::default();
    for seed in seed..seed + runs {
        match World::new(Choices::seeded(seed)).run(EVENTS) {
            Ok(seen) => tally += seen,
            Err(broken) => panic!("SIM_SEED={seed} SIM_RUNS=1 cargo test --test sim\n{broken}"),
        }
    }
    println!("{runs} histories: {tally:#?}");
    assert!(runs < RUNS || tally.rarest() >= 100, "the histories don't see enough: {tally:#?}");
}

#[test]
fn one_seed_is_one_history() {
    let run = |seed| World::new(Choices::seeded(seed)).run(EVENTS).expect("a good history");
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}

fn number(variable: &str) -> Option<u64> {
    #[expect(clippy::disallowed_methods, reason = "a test's own knob, no configuration of the program")]
    let text = std::env::var(variable).ok()?;
    Some(text.parse().expect("a number"))
}
