//! What scrapes and log lines show, against the catalogue of names.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Once;
use std::time::Duration;

use mcp_sidecar::core::cause::{Cause, CauseKind};
use mcp_sidecar::core::fact::{Fact, IgnoredReason, OutageOutcome};
use mcp_sidecar::core::generation::Generation;
use mcp_sidecar::core::status::StateName;
use mcp_sidecar::telemetry::Telemetry;
use mcp_sidecar::telemetry::catalog::{Kind, Metric};
use mcp_sidecar::telemetry::note::Note;

#[test]
fn every_metric_of_the_catalogue_appears_in_the_first_scrape_with_its_labels() {
    let scrape = Scrape::of(&telemetry());
    for row in Metric::ALL.map(Metric::describe) {
        let kind = match row.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram(_) => "histogram",
        };
        assert_eq!(scrape.types.get(row.name).map(String::as_str), Some(kind), "{}", row.name);
        assert!(scrape.helps.contains(row.name), "{} has no help", row.name);
        let sample = if kind == "histogram" { format!("{}_bucket", row.name) } else { row.name.to_owned() };
        let mut labels: BTreeSet<&str> = row.labels.iter().copied().collect();
        if kind == "histogram" {
            labels.insert("le");
        }
        let found: Vec<_> = scrape.samples.keys().filter(|(name, _)| *name == sample).collect();
        assert!(!found.is_empty(), "{} has no series at start", row.name);
        for (_, shown) in found {
            assert_eq!(shown.keys().map(String::as_str).collect::<BTreeSet<_>>(), labels, "{}", row.name);
        }
    }
    let known: BTreeSet<String> = Metric::ALL.iter().map(|metric| metric.describe().name.to_owned()).collect();
    assert_eq!(scrape.types.keys().cloned().collect::<BTreeSet<_>>(), known, "no metric that the catalogue lacks");
}

#[test]
fn an_outage_from_its_begin_to_its_end_moves_the_right_series() {
    let telemetry = telemetry();
    let record = |fact: Fact| telemetry.record("github", &fact);
    let value = |name: &str, labels: &[(&str, &str)]| Scrape::of(&telemetry).value(name, labels);
    let github = &[("server", "github")];

    record(Fact::GenerationStarted { generation: Generation::new(1), attempt: None });
    record(Fact::GenerationEstablished { generation: Generation::new(1), attempt: None, took: SECOND });
    record(Fact::StateChanged { from: StateName::Starting, to: StateName::Established });
    assert_eq!(value("mcp_sidecar_server_up", github), 1.0);
    assert_eq!(value("mcp_sidecar_server_generation", github), 1.0);
    assert_eq!(value("mcp_sidecar_budget_remaining_attempts", github), 10.0);

    record(Fact::OutageBegan { cause: cause() });
    record(Fact::StateChanged { from: StateName::Established, to: StateName::Closing });
    assert!(value("mcp_sidecar_outage_start_timestamp_seconds", github) > 1.0e9);
    assert_eq!(value("mcp_sidecar_server_up", github), 0.0);

    record(Fact::GenerationStarted { generation: Generation::new(2), attempt: Some(1) });
    record(Fact::ConnectFailed { generation: Generation::new(2), attempt: Some(1), cause: cause(), took: SECOND });
    assert_eq!(value("mcp_sidecar_budget_remaining_attempts", github), 9.0);
    let failures = [("server", "github"), ("result", "failure"), ("error_type", "process_exited")];
    assert_eq!(value("mcp_sidecar_connect_attempts_total", &failures), 1.0);

    record(Fact::GenerationStarted { generation: Generation::new(3), attempt: Some(2) });
    record(Fact::GenerationEstablished { generation: Generation::new(3), attempt: Some(2), took: SECOND });
    record(Fact::OutageEnded { outcome: OutageOutcome::Recovered, duration: 3 * SECOND, attempts: 2 });
    let successes = [("server", "github"), ("result", "success"), ("error_type", "")];
    assert_eq!(value("mcp_sidecar_connect_attempts_total", &successes), 2.0);
    assert_eq!(value("mcp_sidecar_outage_start_timestamp_seconds", github), 0.0);
    let recovered = [("server", "github"), ("outcome", "recovered")];
    assert_eq!(value("mcp_sidecar_outage_duration_seconds_sum", &recovered), 3.0);
    let bucket = |le| [("server", "github"), ("outcome", "recovered"), ("le", le)];
    assert_eq!(value("mcp_sidecar_outage_duration_seconds_bucket", &bucket("2")), 0.0);
    assert_eq!(value("mcp_sidecar_outage_duration_seconds_bucket", &bucket("5")), 1.0);

    record(Fact::BudgetRestored { spent: 2 });
    assert_eq!(value("mcp_sidecar_budget_remaining_attempts", github), 10.0);
}

#[test]
fn exhaustion_is_counted_and_the_outage_stays_visible() {
    let telemetry = telemetry();
    let github = &[("server", "github")];
    let value = |name: &str| Scrape::of(&telemetry).value(name, github);
    let sync = |tools| Note::SyncFinished {
        server: "github".to_owned(),
        generation: Generation::new(1),
        tools,
        changed: true,
        took: SECOND,
    };
    telemetry.note(&sync(7));
    assert_eq!(value("mcp_sidecar_tools"), 7.0);

    telemetry.record("github", &Fact::OutageBegan { cause: cause() });
    let ended = Fact::OutageEnded { outcome: OutageOutcome::Exhausted, duration: SECOND, attempts: 10 };
    telemetry.record("github", &ended);
    telemetry.record("github", &Fact::BudgetExhausted { attempts: 10, cause: cause(), required: true });
    telemetry.record("github", &Fact::StateChanged { from: StateName::Closing, to: StateName::Exhausted });
    assert_eq!(value("mcp_sidecar_budget_exhausted_total"), 1.0);
    assert_eq!(value("mcp_sidecar_budget_remaining_attempts"), 0.0);
    assert!(value("mcp_sidecar_outage_start_timestamp_seconds") > 1.0e9);
    assert_eq!(value("mcp_sidecar_tools"), 0.0, "they are withdrawn");

    telemetry.record("github", &Fact::Revived);
    assert_eq!(value("mcp_sidecar_outage_start_timestamp_seconds"), 0.0);
    assert_eq!(value("mcp_sidecar_budget_remaining_attempts"), 10.0);
}

#[test]
fn exactly_one_state_of_a_server_is_1() {
    let telemetry = telemetry();
    let mut from = StateName::Idle;
    for to in StateName::ALL {
        telemetry.record("github", &Fact::StateChanged { from, to });
        from = to;
        let scrape = Scrape::of(&telemetry);
        let value = |state: StateName| {
            scrape.value("mcp_sidecar_server_state", &[("server", "github"), ("state", state.label())])
        };
        for state in StateName::ALL {
            assert_eq!(value(state), f64::from(u8::from(state == to)), "{} in {}", state.label(), to.label());
        }
    }
}

#[test]
fn series_stay_bounded_whatever_names_and_codes_others_send() {
    let telemetry = telemetry();
    for number in 0..2_000 {
        telemetry.record("github", &Fact::GenerationStarted { generation: Generation::new(number), attempt: None });
        telemetry.note(&Note::CallFinished {
            server: "github".to_owned(),
            tool: format!("tool{number}"),
            took: SECOND,
            error_type: Some(format!("-{number}")),
        });
    }
    let scrape = Scrape::of(&telemetry);
    let values = |label: &str| {
        scrape
            .samples
            .keys()
            .filter(|(name, _)| name == "mcp_client_operation_duration_seconds_count")
            .filter_map(|(_, labels)| labels.get(label).cloned())
            .collect::<BTreeSet<_>>()
    };
    assert_eq!(values("gen_ai_tool_name").len(), 101, "a hundred and _other");
    assert!(values("gen_ai_tool_name").contains("_other"));
    assert!(values("error_type").len() <= 26, "{:?}", values("error_type"));
    let all: f64 = scrape
        .samples
        .iter()
        .filter(|((name, _), _)| name == "mcp_client_operation_duration_seconds_count")
        .map(|(_, value)| value)
        .sum();
    assert_eq!(all, 2_000.0, "no call is lost");
}

#[test]
fn notes_and_ignored_signals_are_counted() {
    let telemetry = telemetry();
    let server = || "github".to_owned();
    let generation = Generation::new(1);
    telemetry.note(&Note::StderrLine { server: server(), generation, line: "hello".to_owned() });
    telemetry.note(&Note::StderrSuppressed { server: server(), lines: 41 });
    telemetry.note(&Note::JunkReceived { server: server(), preview: None });
    telemetry.note(&Note::StreamReopened { server: server() });
    telemetry.note(&Note::TaskPanicked { task: "sync", message: "boom".to_owned() });
    telemetry.record("github", &Fact::SignalIgnored { generation, reason: IgnoredReason::Stale });
    let scrape = Scrape::of(&telemetry);
    let github = ("server", "github");
    assert_eq!(scrape.value("mcp_sidecar_child_stderr_lines_total", &[github]), 42.0);
    assert_eq!(scrape.value("mcp_sidecar_junk_messages_total", &[github]), 1.0);
    assert_eq!(scrape.value("mcp_sidecar_stream_reopens_total", &[github]), 1.0);
    assert_eq!(scrape.value("mcp_sidecar_task_panics_total", &[]), 1.0);
    assert_eq!(scrape.value("mcp_sidecar_signals_ignored_total", &[github, ("reason", "stale")]), 1.0);
    assert_eq!(scrape.value("mcp_sidecar_signals_ignored_total", &[github, ("reason", "fenced")]), 0.0);
}

#[test]
fn failed_lost_retried_recovered_and_given_up_are_logged_in_the_words_operators_look_for() {
    let lines = logged(|telemetry| {
        let generation = Generation::new(2);
        let facts = [
            Fact::ConnectFailed { generation, attempt: Some(3), cause: cause(), took: SECOND },
            Fact::GenerationEnded { generation, cause: cause(), proved_uptime: SECOND, planned: false },
            Fact::BackoffScheduled { attempt: 3, max_attempts: 10, delay: 2 * SECOND, cause: cause() },
            Fact::OutageEnded { outcome: OutageOutcome::Recovered, duration: SECOND, attempts: 3 },
            Fact::BudgetExhausted { attempts: 10, cause: cause(), required: true },
            Fact::RecoveryDisabled { cause: cause() },
        ];
        for fact in &facts {
            telemetry.record("github", fact);
        }
    });
    let said: Vec<_> = lines.iter().map(|line| (text(line, "level"), text(line, "message"))).collect();
    assert_eq!(
        said,
        [
            ("WARN", "connection failed"),
            ("WARN", "connection lost"),
            ("WARN", "retrying"),
            ("INFO", "connection recovered"),
            ("ERROR", "reconnection budget exhausted"),
            ("ERROR", "connection lost, and reconnecting is disabled: restart the server by hand"),
        ]
    );
    assert!(lines.iter().all(|line| text(line, "server") == "github"));
    assert_eq!(lines[0]["generation"], 2);
    assert_eq!(lines[0]["error"], "exit code 3");
    assert_eq!(lines[0]["error_type"], "process_exited");
    assert_eq!(lines[2]["attempt"], 3);
    assert_eq!(lines[2]["max_attempts"], 10);
    assert_eq!(lines[2]["delay_ms"], 2_000);
    assert_eq!(lines[3]["outage_seconds"], 1.0);
}

const SECOND: Duration = Duration::from_secs(1);

fn telemetry() -> Telemetry {
    let telemetry = Telemetry::new();
    telemetry.last_exit(None);
    telemetry.add_target("github", 10);
    telemetry.add_target("docs", 3);
    telemetry
}

fn cause() -> Cause {
    Cause::new(CauseKind::ProcessExited, "exit code 3")
}

/// What `act` logs at info and above, as JSON.
///
/// The subscriber is the process's and its lines go to the thread that logs: `tracing` caches for each callsite whether
/// anybody listens, and a parallel test without a subscriber of its own could answer that with "nobody".
fn logged(act: impl FnOnce(&Telemetry)) -> Vec<serde_json::Value> {
    static SUBSCRIBER: Once = Once::new();
    SUBSCRIBER.call_once(|| tracing_subscriber::fmt().json().flatten_event(true).with_writer(|| ThreadSink).init());
    let telemetry = telemetry();
    LINES.take();
    act(&telemetry);
    let lines = String::from_utf8(LINES.take()).expect("log lines are UTF-8");
    lines.lines().map(|line| serde_json::from_str(line).expect("log lines are JSON")).collect()
}

thread_local! {
    static LINES: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

struct ThreadSink;

impl io::Write for ThreadSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LINES.with_borrow_mut(|lines| lines.extend_from_slice(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn text<'a>(line: &'a serde_json::Value, field: &str) -> &'a str {
    line[field].as_str().unwrap_or_else(|| panic!("no {field} in {line}"))
}

/// A parsed scrape. Strict: whatever is not in the text format 0.0.4 panics.
#[derive(Default)]
struct Scrape {
    types: BTreeMap<String, String>,
    helps: BTreeSet<String>,
    samples: BTreeMap<(String, BTreeMap<String, String>), f64>,
}

impl Scrape {
    fn of(telemetry: &Telemetry) -> Self {
        let mut scrape = Self::default();
        for line in telemetry.render().lines().filter(|line| !line.is_empty()) {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                let (name, _) = rest.split_once(' ').expect(line);
                assert!(scrape.helps.insert(name.to_owned()), "second HELP of {name}");
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').expect(line);
                assert!(scrape.types.insert(name.to_owned(), kind.to_owned()).is_none(), "second TYPE of {name}");
            } else {
                let (series, value) = line.rsplit_once(' ').expect(line);
                let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
                let labels = labels.strip_suffix('}').expect(line);
                let labels = labels
                    .split_terminator("\",")
                    .filter(|label| !label.is_empty())
                    .map(|label| {
                        let (key, value) = label.split_once("=\"").expect(line);
                        (key.to_owned(), value.trim_end_matches('"').to_owned())
                    })
                    .collect();
                let series = (name.to_owned(), labels);
                assert!(scrape.samples.insert(series, value.parse().expect(line)).is_none(), "twice: {line}");
            }
        }
        scrape
    }

    fn value(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        *self.samples.get(&(name.to_owned(), labels)).unwrap_or_else(|| panic!("no series {name} with these labels"))
    }
}
