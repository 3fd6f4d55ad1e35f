//! What a call through the sidecar costs, against the same call made directly; what the sidecar's memory is. One run
//! prints everything and judges the bounds: `tests/bench/run`. With `--smoke` it only looks whether all of it still works.

#![expect(clippy::expect_used, reason = "a measurement that fails has nothing to say")]

mod http;
mod measure;
mod memory;
mod report;
mod stdio;

// The same helpers as the tests': the real binary on ports of its own.
#[path = "../it/support"]
mod support {
    #![allow(dead_code, reason = "the tests use more of these than the benchmark does")]

    pub mod client;
    pub mod exchange;
    pub mod ports;
    pub mod procfs;
    pub mod sidecar;
    pub mod wait;
}

use std::process::ExitCode;

use http::{Era, FixtureOverHttp};
use measure::{Caller, Plan, Series};
use stdio::FixtureOverStdio;
use support::sidecar::{Sidecar, fixture};

#[tokio::main]
async fn main() -> ExitCode {
    // `cargo bench` itself adds `--bench`.
    let smoke = std::env::args().any(|argument| argument == "--smoke");
    let plan = if smoke { Plan::SMOKE } else { Plan::FULL };
    let series = measure_calls(&plan).await;
    let memory = memory::measure(&plan).await;
    report::print(&plan, &series, &memory);
    let violations = report::violations(&plan, &series, &memory);
    for violation in &violations {
        println!("MISSED: {violation}");
    }
    if violations.is_empty() {
        println!("{}", if plan.judge { "all bounds met" } else { "no call lost" });
    }
    ExitCode::from(u8::from(!violations.is_empty()))
}

/// All ways to make the same call, measured in turns, so that a busy moment of the machine hits none of them alone.
async fn measure_calls(plan: &Plan) -> Vec<Series> {
    let over_http = FixtureOverHttp::start().await;
    let fixture = fixture();
    let before_stdio = sidecar(&format!("[servers.s]\ncommand = {fixture:?}\n")).await;
    let before_http = sidecar(&format!("[servers.s]\nurl = \"{}\"\n", over_http.url())).await;
    let direct_stdio = FixtureOverStdio::start().await;

    let mut series = vec![
        Series::new(report::DIRECT_STDIO, Caller::Stdio(direct_stdio)),
        Series::new(report::DIRECT_HTTP, Caller::Http { url: over_http.url(), era: Era::Legacy, tool: "echo" }),
        Series::new(report::TO_STDIO, Caller::Http { url: before_stdio.url(), era: Era::Legacy, tool: "s__echo" }),
        Series::new(report::TO_HTTP, Caller::Http { url: before_http.url(), era: Era::Legacy, tool: "s__echo" }),
        Series::new(report::MODERN, Caller::Http { url: before_stdio.url(), era: Era::Modern, tool: "s__echo" }),
    ];
    for _ in 0..plan.rounds {
        for series in &mut series {
            series.measure(plan).await;
        }
    }
    series
}

async fn sidecar(config: &str) -> Sidecar {
    let sidecar = Sidecar::with(config).start().await;
    sidecar.wait_for_state("s", "established").await;
    sidecar
}
