//! The table, and the bounds.

use std::time::Duration;

use crate::measure::{CONCURRENCY, Plan, Series};
use crate::memory::Memory;

pub const DIRECT_STDIO: &str = "direct, stdio";
pub const DIRECT_HTTP: &str = "direct, HTTP";
pub const TO_STDIO: &str = "sidecar, stdio server";
pub const TO_HTTP: &str = "sidecar, HTTP server";
pub const MODERN: &str = "sidecar, stdio server, 2026-07-28 client";

/// p50 through the sidecar to a stdio server, over p50 direct HTTP + p50 direct stdio: the hops it can't avoid.
const MAX_RATIO: f64 = 3.5;
const MAX_IDLE_KIB: u64 = 20 * 1024;
const MAX_TEN_SERVERS_KIB: u64 = 30 * 1024;

pub fn print(plan: &Plan, series: &[Series], memory: &Memory) {
    let [few, many] = CONCURRENCY;
    println!("echo of 100 bytes, {} rounds of {} calls in a row\n", plan.rounds, plan.sequential);
    println!("{:42} {:>9} {:>9} {:>11} {:>11} {:>5}", "", "p50 ms", "p99 ms", at(few), at(many), "lost");
    for one in series {
        let [at_few, at_many] = one.calls_per_second();
        let (p50, p99) = (millis(one.percentile(0.5)), millis(one.percentile(0.99)));
        println!("{:42} {p50:>9.3} {p99:>9.3} {at_few:>11.0} {at_many:>11.0} {:>5}", one.name, one.lost);
    }
    println!("\np50 ratios");
    println!("  through / direct, stdio server  {:>6.2}", p50(series, TO_STDIO) / p50(series, DIRECT_STDIO));
    println!("  through / direct, HTTP server   {:>6.2}", p50(series, TO_HTTP) / p50(series, DIRECT_HTTP));
    println!("  through / (direct HTTP + stdio) {:>6.2}   at most {MAX_RATIO}", ratio(series));
    println!("\nresident memory, guardian included");
    let (idle, guardian, bound) = (megabytes(memory.idle), megabytes(memory.guardian), megabytes(MAX_IDLE_KIB));
    println!("  idle, 1 server                  {idle:>6.1} MB at most {bound} (guardian {guardian:.1})");
    println!("  peak with {many} callers            {:>6.1} MB", megabytes(memory.under_load));
    let bound = megabytes(MAX_TEN_SERVERS_KIB);
    println!("  idle, 10 servers                {:>6.1} MB at most {bound}", megabytes(memory.ten_servers));
    println!();
}

/// What is not as promised.
pub fn violations(plan: &Plan, series: &[Series], memory: &Memory) -> Vec<String> {
    let mut violations = Vec::new();
    for one in series.iter().filter(|one| one.lost > 0) {
        violations.push(format!("{} calls lost: {}", one.lost, one.name));
    }
    if !plan.judge {
        return violations;
    }
    if ratio(series) > MAX_RATIO {
        violations.push(format!("a call through the sidecar costs {:.2} times the direct hops", ratio(series)));
    }
    if memory.idle > MAX_IDLE_KIB {
        violations.push(format!("{:.1} MB resident when idle", megabytes(memory.idle)));
    }
    if memory.ten_servers > MAX_TEN_SERVERS_KIB {
        violations.push(format!("{:.1} MB resident with 10 servers", megabytes(memory.ten_servers)));
    }
    violations
}

fn ratio(series: &[Series]) -> f64 {
    p50(series, TO_STDIO) / (p50(series, DIRECT_HTTP) + p50(series, DIRECT_STDIO))
}

fn p50(series: &[Series], name: &str) -> f64 {
    series.iter().find(|one| one.name == name).map_or(f64::NAN, |one| millis(one.percentile(0.5)))
}

fn at(width: usize) -> String {
    format!("calls/s@{width}")
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

fn megabytes(kib: u64) -> f64 {
    kib as f64 / 1024.0
}
