//! The series that scrapes show, addressed by the catalogue's rows.

use std::sync::Arc;
use std::time::Duration;

use metrics::{Key, Label, Level, Metadata, Recorder};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder};

use super::catalog::{Kind, Metric, Unit};

/// Recorder and renderer. Each instance has series of its own, so that several can live in one process.
///
/// Label values are given in the order of the catalogue's label names.
#[derive(Clone)]
pub struct Series {
    recorder: Arc<PrometheusRecorder>,
    handle: PrometheusHandle,
}

impl Series {
    /// No series yet.
    pub fn new() -> Self {
        let mut builder = PrometheusBuilder::new();
        for row in Metric::ALL.map(Metric::describe) {
            if let Kind::Histogram(buckets) = row.kind {
                builder = with_buckets(builder, row.name, buckets);
            }
        }
        let recorder = builder.build_recorder();
        for row in Metric::ALL.map(Metric::describe) {
            let unit = match row.unit {
                Unit::None => None,
                Unit::Seconds => Some(metrics::Unit::Seconds),
            };
            match row.kind {
                Kind::Counter => recorder.describe_counter(row.name.into(), unit, row.help.into()),
                Kind::Gauge => recorder.describe_gauge(row.name.into(), unit, row.help.into()),
                Kind::Histogram(_) => recorder.describe_histogram(row.name.into(), unit, row.help.into()),
            }
        }
        let handle = recorder.handle();
        Self { recorder: Arc::new(recorder), handle }
    }

    /// Makes the series exist, at 0 if it is new.
    pub fn touch(&self, metric: Metric, labels: &[&str]) {
        match metric.describe().kind {
            Kind::Counter => self.add(metric, labels, 0),
            Kind::Gauge => self.recorder.register_gauge(&key(metric, labels), &METADATA).increment(0.0),
            Kind::Histogram(_) => drop(self.recorder.register_histogram(&key(metric, labels), &METADATA)),
        }
    }

    /// Adds to a counter.
    pub fn add(&self, metric: Metric, labels: &[&str], count: u64) {
        debug_assert_eq!(metric.describe().kind, Kind::Counter, "{metric:?}");
        self.recorder.register_counter(&key(metric, labels), &METADATA).increment(count);
    }

    /// Sets a gauge.
    pub fn set(&self, metric: Metric, labels: &[&str], value: f64) {
        debug_assert_eq!(metric.describe().kind, Kind::Gauge, "{metric:?}");
        self.recorder.register_gauge(&key(metric, labels), &METADATA).set(value);
    }

    /// Puts a duration into a histogram.
    pub fn observe(&self, metric: Metric, labels: &[&str], value: Duration) {
        debug_assert!(matches!(metric.describe().kind, Kind::Histogram(_)), "{metric:?}");
        self.recorder.register_histogram(&key(metric, labels), &METADATA).record(value.as_secs_f64());
    }

    /// All series in Prometheus' text format 0.0.4.
    pub fn render(&self) -> String {
        self.handle.render()
    }

    /// Moves observations into their buckets. Without it they pile up until somebody scrapes.
    pub fn run_upkeep(&self) {
        self.handle.run_upkeep();
    }
}

#[expect(clippy::expect_used, reason = "refused are only empty buckets, and a test proves that the table has none")]
fn with_buckets(builder: PrometheusBuilder, name: &str, buckets: &[f64]) -> PrometheusBuilder {
    builder.set_buckets_for_metric(Matcher::Full(name.to_owned()), buckets).expect("buckets are not empty")
}

/// The recorder ignores it, and its interface asks for it.
static METADATA: Metadata<'static> = Metadata::new("mcp_sidecar", Level::INFO, None);

fn key(metric: Metric, values: &[&str]) -> Key {
    let row = metric.describe();
    debug_assert_eq!(row.labels.len(), values.len(), "labels of {}", row.name);
    let labels: Vec<Label> =
        row.labels.iter().zip(values).map(|(name, value)| Label::new(*name, (*value).to_owned())).collect();
    Key::from_parts(row.name, labels)
}
