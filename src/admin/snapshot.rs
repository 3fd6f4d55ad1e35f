//! `/status`: everything an operator asks first, as JSON.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::CONTENT_TYPE;
use serde::Serialize;

use super::{Admin, Process, TargetView, probes};
use crate::core::verdict::ReadyPolicy;
use crate::driver::session::Era;

/// `GET /status`.
pub async fn status(State(admin): State<Arc<Admin>>) -> Response {
    let now = Now { instant: Instant::now(), system: SystemTime::now() };
    let targets = (admin.targets)();
    let not_ready = probes::not_ready(&admin, &targets);
    let snapshot = Snapshot {
        process: ProcessSnapshot::new(&admin, not_ready, &now),
        servers: targets.iter().map(|target| ServerSnapshot::new(target, &now)).collect(),
    };
    match serde_json::to_string_pretty(&snapshot) {
        Ok(text) => ([(CONTENT_TYPE, "application/json")], text + "\n").into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
    }
}

#[derive(Serialize)]
struct Snapshot<'a> {
    process: ProcessSnapshot<'a>,
    servers: Vec<ServerSnapshot<'a>>,
}

#[derive(Serialize)]
struct ProcessSnapshot<'a> {
    version: &'static str,
    pid: u32,
    started: String,
    uptime_seconds: f64,
    listen: &'a str,
    admin: &'a str,
    phase: &'static str,
    readiness: &'static str,
    ready: bool,
    /// Why it is not ready.
    not_ready: Vec<String>,
}

/// Every key is always there; `null` says that there is nothing to tell.
#[derive(Serialize)]
struct ServerSnapshot<'a> {
    name: &'a str,
    state: &'static str,
    required: bool,
    generation: u64,
    attempts: u32,
    max_attempts: u32,
    outage_since: Option<String>,
    outage_seconds: Option<f64>,
    next_attempt_in_ms: Option<u64>,
    last_error: Option<LastError<'a>>,
    established_since: Option<String>,
    tools: usize,
    pid: Option<u32>,
    transport: &'static str,
    era: Option<&'static str>,
}

#[derive(Serialize)]
struct LastError<'a> {
    r#type: &'static str,
    detail: &'a str,
}

/// The two clocks at one moment.
struct Now {
    instant: Instant,
    system: SystemTime,
}

impl<'a> ProcessSnapshot<'a> {
    fn new(admin: &'a Admin, not_ready: Vec<String>, now: &Now) -> Self {
        let Process { started, started_at, listen, admin: address } = &admin.process;
        Self {
            version: env!("CARGO_PKG_VERSION"),
            pid: std::process::id(),
            started: rfc3339(*started),
            uptime_seconds: seconds(now.instant.saturating_duration_since(*started_at)),
            listen,
            admin: address,
            phase: admin.phase.borrow().label(),
            readiness: match admin.policy {
                ReadyPolicy::Started => "started",
                ReadyPolicy::RequiredNow => "required-now",
                ReadyPolicy::Any => "any",
                ReadyPolicy::None => "none",
            },
            ready: not_ready.is_empty(),
            not_ready,
        }
    }
}

impl<'a> ServerSnapshot<'a> {
    fn new(target: &'a TargetView, now: &Now) -> Self {
        let TargetView { name, status, transport, era, pid, tools } = target;
        Self {
            name,
            state: status.state.label(),
            required: status.required,
            generation: status.generation.number(),
            attempts: status.attempts,
            max_attempts: status.max_attempts,
            outage_since: status.outage_since.map(|since| now.tell(since)),
            outage_seconds: status.outage_since.map(|since| seconds(now.instant.saturating_duration_since(since))),
            next_attempt_in_ms: status.next_attempt.map(|due| millis(due.saturating_duration_since(now.instant))),
            last_error: status
                .last_cause
                .as_ref()
                .map(|cause| LastError { r#type: cause.kind.label(), detail: &cause.detail }),
            established_since: status.established_at.map(|since| now.tell(since)),
            tools: *tools,
            pid: *pid,
            transport,
            era: era.map(|era| match era {
                Era::Legacy => "legacy",
                Era::Modern => "modern",
            }),
        }
    }
}

impl Now {
    /// A moment of the past, as the wall clock shows it now.
    fn tell(&self, past: Instant) -> String {
        rfc3339(self.system.checked_sub(self.instant.saturating_duration_since(past)).unwrap_or(self.system))
    }
}

fn rfc3339(time: SystemTime) -> String {
    humantime::format_rfc3339_millis(time).to_string()
}

/// Full milliseconds: nobody reads more.
fn seconds(duration: Duration) -> f64 {
    Duration::from_millis(millis(duration)).as_secs_f64()
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
