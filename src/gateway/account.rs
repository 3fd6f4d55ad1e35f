//! What telemetry hears of a call: once, however it ends.

use std::time::Instant;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::answer;
use super::upstream::Answer;
use crate::catalogue::snapshot::Snapshot;
use crate::jsonrpc::code;
use crate::telemetry::Telemetry;
use crate::telemetry::note::Note;

/// What stands for a tool that nobody has: names that clients make up must not become label values.
const UNKNOWN: &str = "unknown";

/// The account of one call. Dropped without having been closed, the call was cancelled.
#[derive(Debug)]
pub struct Account {
    telemetry: Telemetry,
    requested: String,
    server: Option<String>,
    began: Instant,
    closed: bool,
}

impl Account {
    /// A call of `tool` that begins now.
    #[must_use]
    pub fn open(telemetry: &Telemetry, snapshot: &Snapshot, tool: String) -> Self {
        let server = snapshot.find(&tool).map(|tool| tool.server.to_string());
        Self { telemetry: telemetry.clone(), requested: tool, server, began: Instant::now(), closed: false }
    }

    /// The name that the client asked for.
    #[must_use]
    pub fn requested(&self) -> &str {
        &self.requested
    }

    /// The server that has the tool.
    #[must_use]
    pub fn server(&self) -> &str {
        self.server.as_deref().unwrap_or(UNKNOWN)
    }

    /// The upstream answered.
    pub fn close_with(&mut self, answer: &Answer) {
        self.close(match answer {
            Answer::Result(raw) => answer::is_tool_error(raw).then(|| "tool_error".to_owned()),
            Answer::Error(raw) => Some(error_code(raw).to_string()),
            Answer::UnknownTool => Some(code::INVALID_PARAMS.to_string()),
            Answer::Refused(refusal) => Some(refusal.reason.to_owned()),
        });
    }

    /// The call ended; `None` = well.
    pub fn close(&mut self, error_type: Option<String>) {
        if std::mem::replace(&mut self.closed, true) {
            return;
        }
        let tool = if self.server.is_some() { &self.requested } else { UNKNOWN };
        self.telemetry.note(&Note::CallFinished {
            server: self.server().to_owned(),
            tool: tool.to_owned(),
            took: self.began.elapsed(),
            error_type,
        });
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.close(Some("cancelled".to_owned()));
    }
}

/// The `code` of a JSON-RPC error.
pub fn error_code(error: &RawValue) -> i64 {
    #[derive(Deserialize)]
    struct Code {
        code: i64,
    }
    serde_json::from_str(error.get()).map_or(code::INTERNAL_ERROR, |Code { code }| code)
}
