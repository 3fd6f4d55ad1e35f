//! The dependency tree holds what `deny.toml` says, judged without installing cargo-deny.

use std::collections::BTreeSet;
use std::process::Command;

use figment::providers::{Format, Toml};
use serde_json::Value;

const MANIFEST_DIR: &str = env!("CARGO_MANIFEST_DIR");

#[test]
fn a_crate_is_in_the_tree_twice_only_where_deny_toml_says_why() {
    let found: BTreeSet<String> = duplicated_crates().into_iter().collect();
    let excused: BTreeSet<String> = skip_list().into_iter().map(|(spec, _)| spec).collect();
    let newest = newest_of_each(&found);
    let older: BTreeSet<String> = found.difference(&newest).map(|spec| compatible_range(spec)).collect();
    assert_eq!(older, excused, "older duplicates in the tree (left) and `bans.skip` in deny.toml (right)");
}

#[test]
fn every_exception_in_deny_toml_has_a_reason() {
    for (spec, reason) in skip_list() {
        assert!(reason.len() > 5, "{spec} is skipped without a reason");
    }
}

fn skip_list() -> Vec<(String, String)> {
    let deny: Value = figment::Figment::from(Toml::file_exact(format!("{MANIFEST_DIR}/deny.toml")))
        .extract()
        .expect("deny.toml reads");
    let skipped = deny["bans"]["skip"].as_array().expect("a skip list").clone();
    let text = |entry: &Value, key: &str| entry[key].as_str().unwrap_or_default().to_owned();
    skipped.iter().map(|entry| (text(entry, "crate"), text(entry, "reason"))).collect()
}

/// `name@version` of every crate that is in the tree more than once.
fn duplicated_crates() -> Vec<String> {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(MANIFEST_DIR).args(["tree", "--locked", "--duplicates", "--depth", "0", "--prefix", "none"]);
    command.args(["--edges", "normal,build,dev", "--target", "x86_64-unknown-linux-gnu", "--format", "{p}"]);
    let output = command.output().expect("cargo tree runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let specs = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        Some((words.next()?, words.next()?.strip_prefix('v')?))
    });
    let mut specs: Vec<(&str, &str)> = specs.collect();
    specs.sort_unstable();
    specs.dedup();
    // The same version with two sets of features is listed as well, but is no second version.
    let versions = |name: &str| specs.iter().filter(|(other, _)| *other == name).count();
    specs.iter().filter(|(name, _)| versions(name) > 1).map(|(name, version)| format!("{name}@{version}")).collect()
}

fn newest_of_each(specs: &BTreeSet<String>) -> BTreeSet<String> {
    let name = |spec: &str| spec.split('@').next().unwrap_or_default().to_owned();
    let names: BTreeSet<String> = specs.iter().map(|spec| name(spec)).collect();
    let newest =
        |wanted: &String| specs.iter().filter(|spec| name(spec) == *wanted).max_by_key(|spec| numbers(spec)).cloned();
    names.iter().filter_map(newest).collect()
}

/// `serde@1.2.3` is skipped as `serde@1`, `rand@0.9.5` as `rand@0.9`: a patch release needs no new excuse.
fn compatible_range(spec: &str) -> String {
    let (name, version) = spec.split_once('@').expect("name@version");
    let keep = if version.starts_with("0.") { 2 } else { 1 };
    let kept: Vec<&str> = version.split('.').take(keep).collect();
    format!("{name}@{}", kept.join("."))
}

fn numbers(spec: &str) -> Vec<u64> {
    let version = spec.split('@').nth(1).unwrap_or_default();
    version.split(['.', '-', '+']).filter_map(|part| part.parse().ok()).collect()
}
