//! The only door through which a fact becomes a log line or a metric.
//!
//! `catalog` names every metric, `record` translates facts and `notes` translates notes, each in one exhaustive match.
//! Nothing in here waits for I/O, fails, or decides: log lines go through a queue that rather drops than waits.

pub mod catalog;
pub mod logs;
pub mod note;

mod capped;
mod line_queue;
mod notes;
mod record;
mod series;
mod touch;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use capped::Capped;
use catalog::Metric;
use series::Series;

use crate::core::fact::Fact;
use note::Note;

/// Records facts and notes. Cheap to clone; never blocks, never fails, never decides.
#[derive(Clone)]
pub struct Telemetry {
    inner: Arc<Inner>,
}

struct Inner {
    series: Series,
    /// The whole budget of each target.
    budgets: Mutex<HashMap<String, u32>>,
    tools: Mutex<Capped>,
    error_types: Mutex<Capped>,
}

impl Telemetry {
    /// The content type of [`Telemetry::render`].
    pub const CONTENT_TYPE: &'static str = "text/plain; version=0.0.4; charset=utf-8";

    /// Series of its own, those of the process at their first values.
    #[must_use]
    pub fn new() -> Self {
        let series = Series::new();
        touch::process(&series);
        let inner = Inner {
            series,
            budgets: Mutex::default(),
            tools: Mutex::new(Capped::new(MAX_TOOLS, touch::OTHER_TOOL)),
            error_types: Mutex::new(Capped::new(MAX_ERROR_TYPES, "_OTHER")),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Makes all series of a target exist, at 0. To be called once for each, before its first fact.
    pub fn add_target(&self, target: &str, max_attempts: u32) {
        touch::server(&self.inner.series, target, max_attempts);
        lock(&self.inner.budgets).insert(target.to_owned(), max_attempts);
    }

    /// Shows how the previous run ended: its [`crate::exit::ExitReason::word`] and the server that was the reason, if any.
    /// `None`: there is no state directory, or no previous run.
    pub fn last_exit(&self, last: Option<(&str, Option<&str>)>) {
        let (reason, server) = last.unwrap_or((touch::NO_LAST_EXIT, None));
        self.inner.series.set(Metric::LastExitInfo, &[reason, server.unwrap_or_default()], 1.0);
    }

    /// Records one fact of one target.
    pub fn record(&self, target: &str, fact: &Fact) {
        record::log(target, fact);
        let max_attempts = lock(&self.inner.budgets).get(target).copied().unwrap_or_default();
        record::count(&self.inner.series, target, max_attempts, fact);
    }

    /// Records one observation that no state machine made.
    pub fn note(&self, note: &Note) {
        notes::log(note);
        notes::count(self, note);
    }

    /// All series in Prometheus' text format. Takes some CPU time with many series: not for a runtime's worker thread.
    #[must_use]
    pub fn render(&self) -> String {
        self.inner.series.render()
    }

    /// Moves observations into their buckets every few seconds, for as long as it is polled. Without it they pile up in
    /// memory until somebody scrapes.
    pub async fn keep_up(&self) {
        let mut ticks = tokio::time::interval(UPKEEP_INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.inner.series.run_upkeep();
        }
    }

    /// Shows one finished operation. What others choose, the tool's name and the error's type, is capped.
    fn operation(&self, server: &str, tool: &str, error_type: Option<&str>, took: Duration) {
        let tool = lock(&self.inner.tools).admit(server, tool);
        let error_type = error_type.map_or("", |error_type| lock(&self.inner.error_types).admit(server, error_type));
        let labels = [server, touch::TOOLS_CALL, tool, error_type];
        self.inner.series.observe(Metric::ClientOperationDuration, &labels, took);
    }
}

impl Default for Telemetry {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Telemetry").finish_non_exhaustive()
    }
}

/// Distinct tools of one server that get series of their own.
const MAX_TOOLS: usize = 100;
/// Distinct error types of one server that get series of their own: our own words are fewer, JSON-RPC codes are endless.
const MAX_ERROR_TYPES: usize = 24;
/// The exporter's own default.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(5);

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Now, in seconds since the Unix epoch.
fn unix_seconds() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}
