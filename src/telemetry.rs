//! The only door through which a fact becomes a log line or a metric.

pub mod note;

use crate::core::fact::Fact;
use note::Note;

/// Records facts and notes. Cheap to clone; never blocks, never fails, never decides.
#[derive(Clone, Debug, Default)]
pub struct Telemetry {}

impl Telemetry {
    /// Records one fact of one target.
    pub fn record(&self, _target: &str, _fact: &Fact) {}

    /// Records one observation that no state machine made.
    pub fn note(&self, _note: &Note) {}
}
