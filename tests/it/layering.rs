//! The rooms keep apart: what the core may know, who reads the environment, who tells, and how long a file may be.
//!
//! Each rule is a function of one file's path and text, so that a test can show it a bad snippet.

mod source;

use std::path::{Path, PathBuf};

use source::{blank, imports, mentions, without_tests, word_positions};

/// Longest file, its tests included.
const MAX_LINES: usize = 500;

/// A path below the package's root, with `/`, and the file's text.
type Rule = fn(&str, &str) -> Vec<String>;

#[test]
fn the_core_knows_nothing_but_std_and_itself() {
    holds(core_uses_std_only);
    refuses(core_uses_std_only, "src/core/x.rs", "use tokio::time::Instant;");
    refuses(core_uses_std_only, "src/core/x.rs", "fn f() { tokio::spawn(g()); }");
    refuses(core_uses_std_only, "src/core/x.rs", "use crate::config::settings::Settings;");
    refuses(core_uses_std_only, "src/core/x.rs", "use crate::{core::event::Event, telemetry::Telemetry};");
    refuses(core_uses_std_only, "src/core/x.rs", "fn f(s: crate::config::Settings) {}");
    refuses(core_uses_std_only, "src/core/x.rs", "use super::super::driver::Driver;");
    refuses(core_uses_std_only, "src/core/x/y.rs", "use super::super::super::driver::Driver;");
    refuses(core_uses_std_only, "src/core.rs", "use super::driver::Driver;");
    accepts(core_uses_std_only, "src/core/x.rs", "use std::time::{Duration, Instant};\nuse crate::core::event::Event;");
    accepts(core_uses_std_only, "src/core/x/y.rs", "use super::super::event::Event; // not tokio::time");
    accepts(core_uses_std_only, "src/driver/x.rs", "use tokio::time::Instant;");
}

#[test]
fn the_core_neither_reads_a_clock_nor_touches_the_system() {
    holds(core_is_pure);
    refuses(core_is_pure, "src/core/x.rs", "fn f() -> Instant { Instant::now() }");
    refuses(core_is_pure, "src/core/x.rs", "use std::time::SystemTime;");
    refuses(core_is_pure, "src/core/x.rs", "fn f(begin: Instant) -> Duration { begin.elapsed() }");
    for module in ["fs", "net", "process", "thread", "env"] {
        refuses(core_is_pure, "src/core/x.rs", &format!("use std::{module};"));
        refuses(core_is_pure, "src/core/x.rs", &format!("use std::{{time, {module}::x}};"));
        refuses(core_is_pure, "src/core/x.rs", &format!("fn f() {{ std::{module}::g(); }}"));
    }
    refuses(core_is_pure, "src/core/x.rs", "fn f() { println!(); }");
    accepts(core_is_pure, "src/core/x.rs", "fn f() {}\n#[cfg(test)]\nmod tests { fn g() { Instant::now(); } }");
}

#[test]
fn the_core_has_no_wildcard_arm() {
    holds(core_has_no_wildcard_arm);
    refuses(core_has_no_wildcard_arm, "src/core/x.rs", "match state { State::Idle => 1, _ => 2 }");
    refuses(core_has_no_wildcard_arm, "src/core/x.rs", "match state { State::Idle => 1, _ if late => 2 }");
    refuses(core_has_no_wildcard_arm, "src/core/x.rs", "match state { State::Idle | _ => 2 }");
    accepts(core_has_no_wildcard_arm, "src/core/x.rs", "match state { State::Waiting(_) => 1, State::Idle => 2 }");
    accepts(core_has_no_wildcard_arm, "src/driver/x.rs", "match number { 1 => 1, _ => 2 }");
}

#[test]
fn only_config_reads_the_environment() {
    holds(only_config_reads_env);
    for call in ["var(\"X\")", "var_os(\"X\")", "vars()", "vars_os()", "home_dir()"] {
        refuses(only_config_reads_env, "src/driver/x.rs", &format!("fn f() {{ std::env::{call}; }}"));
        accepts(only_config_reads_env, "src/config/x.rs", &format!("fn f() {{ std::env::{call}; }}"));
    }
    refuses(only_config_reads_env, "src/main.rs", "use std::env::{self, var};");
    refuses(only_config_reads_env, "src/cli.rs", "struct A { #[arg(long, env = \"X\")] x: bool }");
    accepts(only_config_reads_env, "src/app.rs", "fn f() { std::env::current_exe(); command.env(\"A\", \"b\"); }");
}

#[test]
fn only_telemetry_logs_and_counts() {
    holds(only_telemetry_tells);
    for bad in ["tracing::info!(\"x\");", "metrics::counter!(\"x\");", "log::warn!(\"x\");", "::tracing::warn!(\"x\");"]
    {
        refuses(only_telemetry_tells, "src/driver/x.rs", &format!("fn f() {{ {bad} }}"));
        accepts(only_telemetry_tells, "src/telemetry/x.rs", &format!("fn f() {{ {bad} }}"));
    }
    refuses(only_telemetry_tells, "src/main.rs", "use tracing_subscriber::fmt;");
    refuses(only_telemetry_tells, "src/gateway/x.rs", "use tracing::info;");
    refuses(only_telemetry_tells, "src/gateway/x.rs", "use {std::fmt, metrics as m};");
    refuses(only_telemetry_tells, "src/gateway/x.rs", "#[instrument(skip_all)] fn f() {}");
    accepts(only_telemetry_tells, "src/admin.rs", "use crate::telemetry::metrics::render;");
    accepts(only_telemetry_tells, "src/admin.rs", "fn f() { telemetry::metrics::render(); } // not metrics::counter!");
}

#[test]
fn no_file_is_longer_than_five_hundred_lines() {
    holds(is_short);
    refuses(is_short, "src/x.rs", &"\n".repeat(MAX_LINES + 1));
    accepts(is_short, "src/x.rs", &"\n".repeat(MAX_LINES));
}

#[test]
fn modules_are_named_after_what_they_hold() {
    holds(is_no_mod_rs);
    refuses(is_no_mod_rs, "src/core/mod.rs", "");
    accepts(is_no_mod_rs, "src/core/model.rs", "");
}

fn core_uses_std_only(path: &str, text: &str) -> Vec<String> {
    let Some(depth) = depth_in_core(path) else { return Vec::new() };
    let code = without_tests(&blank(text));
    let mut findings = Vec::new();
    for import in imports(&code) {
        let supers = import.split("::").take_while(|part| *part == "super").count();
        let first = import.split("::").next().unwrap_or_default();
        // Sub-modules are named without a prefix; whether there is such a crate is what the names below look for.
        if (first == "crate" && !import.starts_with("crate::core")) || supers > depth {
            findings.push(format!("imports {import}"));
        }
    }
    for name in dependencies() {
        findings.extend(word_positions(&code, &format!("{name}::")).map(|line| format!("line {line} names {name}")));
        let named = imports(&code).into_iter().filter(|import| *import == name);
        findings.extend(named.map(|import| format!("imports {import}")));
    }
    for line in word_positions(&code, "crate::") {
        let text = code.lines().nth(line - 1).unwrap_or_default();
        let inside = text.matches("crate::").count() == text.matches("crate::core").count();
        if !inside && !text.trim_start().starts_with("use ") {
            findings.push(format!("line {line} reaches out of the core: {}", text.trim()));
        }
    }
    findings
}

fn core_is_pure(path: &str, text: &str) -> Vec<String> {
    if depth_in_core(path).is_none() {
        return Vec::new();
    }
    let code = without_tests(&blank(text));
    let mut findings = Vec::new();
    for module in ["fs", "net", "process", "thread", "env", "io", "os", "sync"] {
        let path = format!("std::{module}");
        let inside = format!("{path}::");
        findings.extend(imports(&code).into_iter().filter(|import| *import == path || import.starts_with(&inside)));
        findings.extend(word_positions(&code, &inside).map(|line| format!("line {line} uses {path}")));
    }
    for word in ["Instant::now", "SystemTime", "elapsed()", "println!", "eprintln!", "print!", "eprint!", "dbg!"] {
        findings.extend(mentions(&code, word).map(|line| format!("line {line} uses {word}")));
    }
    findings
}

fn core_has_no_wildcard_arm(path: &str, text: &str) -> Vec<String> {
    if depth_in_core(path).is_none() {
        return Vec::new();
    }
    let code = without_tests(&blank(text));
    let arms = ["_ =>", "_ if "].into_iter().flat_map(|arm| {
        let lines: Vec<usize> = word_positions(&code, arm).collect();
        lines.into_iter().map(move |line| format!("line {line} has a wildcard arm"))
    });
    arms.collect()
}

fn only_config_reads_env(path: &str, text: &str) -> Vec<String> {
    if path == "src/config.rs" || path.starts_with("src/config/") || !path.starts_with("src/") {
        return Vec::new();
    }
    let code = without_tests(&blank(text));
    let mut findings = Vec::new();
    for name in ["var", "var_os", "vars", "vars_os", "home_dir", "temp_dir"] {
        let call = format!("env::{name}(");
        findings.extend(mentions(&code, &call).map(|line| format!("line {line} reads the environment")));
        let import = format!("std::env::{name}");
        findings.extend(imports(&code).into_iter().filter(|path| *path == import));
    }
    let flags =
        code.split("#[arg(").skip(1).filter(|rest| rest.split(']').next().is_some_and(|flag| flag.contains("env")));
    findings.extend(flags.map(|_| "has a flag that reads the environment".to_owned()));
    findings
}

fn only_telemetry_tells(path: &str, text: &str) -> Vec<String> {
    if path == "src/telemetry.rs" || path.starts_with("src/telemetry/") || !path.starts_with("src/") {
        return Vec::new();
    }
    let code = without_tests(&blank(text));
    let mut findings = Vec::new();
    for name in ["tracing", "tracing_subscriber", "metrics", "metrics_exporter_prometheus", "log"] {
        // Whether a filter's text is one is judged, like every setting, in config.
        if name == "tracing_subscriber" && path.starts_with("src/config/") {
            continue;
        }
        let inside = format!("{name}::");
        let named = imports(&code).into_iter().filter(|import| *import == name || import.starts_with(&inside));
        findings.extend(named.map(|import| format!("imports {import}")));
        let absolute = format!(" ::{inside}");
        let uses = word_positions(&code, &inside).chain(mentions(&code, &absolute));
        findings.extend(uses.map(|line| format!("line {line} uses {name}")));
    }
    findings.extend(word_positions(&code, "#[instrument").map(|line| format!("line {line} opens a span")));
    findings
}

fn is_short(_path: &str, text: &str) -> Vec<String> {
    let lines = text.lines().count();
    if lines > MAX_LINES { vec![format!("has {lines} lines")] } else { Vec::new() }
}

fn is_no_mod_rs(path: &str, _text: &str) -> Vec<String> {
    if path.ends_with("/mod.rs") { vec!["is called after nothing".to_owned()] } else { Vec::new() }
}

/// How many `super` stay within the core, or `None` outside of it.
fn depth_in_core(path: &str) -> Option<usize> {
    if path == "src/core.rs" {
        return Some(0);
    }
    path.strip_prefix("src/core/").map(|below| below.matches('/').count() + 1)
}

/// The crates of Cargo.toml's `[dependencies]`, as code names them.
fn dependencies() -> Vec<String> {
    let manifest = include_str!("../../Cargo.toml");
    let (_, rest) = manifest.split_once("\n[dependencies]\n").expect("a table of dependencies");
    let table = rest.split_once("\n[").map_or(rest, |(table, _)| table);
    let names = table.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once('='));
    let names: Vec<String> = names.map(|(name, _)| name.trim().replace('-', "_")).collect();
    assert!(names.iter().any(|name| name == "tokio"), "the table was read wrongly: {names:?}");
    names
}

fn holds(rule: Rule) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in ["src", "tests"] {
        collect(&root.join(folder), &mut files);
    }
    assert!(files.len() > 20, "only {} files were found", files.len());
    let mut findings = Vec::new();
    for file in files {
        let path = file.strip_prefix(root).expect("below the root").to_string_lossy().replace('\\', "/");
        let text = std::fs::read_to_string(&file).expect("a readable source file");
        findings.extend(rule(&path, &text).into_iter().map(|finding| format!("{path} {finding}")));
    }
    assert!(findings.is_empty(), "\n{}", findings.join("\n"));
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable entry").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

fn refuses(rule: Rule, path: &str, snippet: &str) {
    assert!(!rule(path, snippet).is_empty(), "{path} is let pass: {snippet}");
}

fn accepts(rule: Rule, path: &str, snippet: &str) {
    let findings = rule(path, snippet);
    assert!(findings.is_empty(), "{path} is refused: {findings:?}");
}
