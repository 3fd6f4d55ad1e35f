//! README.md says what the program does: its tables are compared with the code that they describe.

use std::process::Command;

use mcp_sidecar::config;
use mcp_sidecar::exit;
use mcp_sidecar::telemetry::catalog::{Kind, Metric};

const README: &str = include_str!("../../README.md");

#[test]
fn the_metrics_table_is_the_catalogue_of_names() {
    let mut table = "| metric | kind | labels | meaning |\n|---|---|---|---|\n".to_owned();
    for metric in Metric::ALL {
        let row = metric.describe();
        let kind = match row.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram(_) => "histogram",
        };
        let labels = row.labels.join(", ");
        table.push_str(&format!("| `{}` | {kind} | {labels} | {} |\n", row.name, row.help));
    }
    assert!(section("metrics") == table, "the table between the metrics markers should read:\n{table}");
}

#[test]
fn the_options_table_is_the_reference() {
    let table = config::reference::markdown();
    assert!(section("options") == table, "the table between the options markers should read:\n{table}");
}

#[test]
fn the_environment_of_servers_is_documented() {
    let names = config::PASSED_ON.iter().map(|name| format!("`{name}`"));
    let families = config::PASSED_ON_PREFIXES.iter().map(|prefix| format!("`{prefix}*`"));
    let list = format!("{}.\n", names.chain(families).collect::<Vec<_>>().join(", "));
    assert!(section("environment") == list, "the text between the environment markers should read:\n{list}");
}

#[test]
fn the_exit_codes_are_those_of_the_program() {
    let codes: Vec<u8> = section("exit-codes")
        .lines()
        .filter_map(|row| row.trim_start_matches('|').split('|').next()?.trim().parse().ok())
        .collect();
    let known = [exit::CLEAN, exit::EXHAUSTED, exit::USAGE, exit::UNAVAILABLE, exit::INTERNAL, exit::CONFIG];
    assert_eq!(codes, known);
}

#[test]
fn the_example_configuration_is_valid() {
    let toml: String = section("example")
        .lines()
        .filter(|line| !line.starts_with("```"))
        .fold(String::new(), |text, line| text + line + "\n");
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("sidecar.toml");
    std::fs::write(&file, &toml).expect("the example is written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-sidecar"));
    let output = command.args(["config", "check", "--config"]).arg(&file).env("DOCS_TOKEN", "x").output();
    let output = output.expect("the binary runs");
    assert!(output.status.success(), "{toml}\n{output:?}");
}

/// What stands between the markers of this name.
pub fn section(name: &str) -> String {
    let (begin, end) = (format!("<!-- {name}:begin -->\n"), format!("<!-- {name}:end -->"));
    let (_, rest) = README.split_once(&begin).unwrap_or_else(|| panic!("README has no {begin}"));
    let (inside, _) = rest.split_once(&end).unwrap_or_else(|| panic!("README has no {end}"));
    inside.to_owned()
}
