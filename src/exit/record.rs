//! The end of a run as others read it: the next start, and whoever reads the termination message.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::ExitReason;

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExitRecord {
    /// [`ExitReason::word`], or [`ExitRecord::UNCLEAN`].
    pub reason: String,
    /// The exit code; absent if the run was killed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<u8>,
    /// RFC 3339, UTC.
    pub time: String,
    /// The server that was the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Attempts that it spent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// How long it had been down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outage_seconds: Option<f64>,
    /// A sentence: the last failure, or what else went wrong. Last, because it is what gets cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
}

impl ExitRecord {
    /// The reason of a run that could not write why it ended: killed, or the power went.
    pub const UNCLEAN: &'static str = "unclean";

    /// The record of a run that ends for this reason at `time`.
    #[must_use]
    pub fn new(reason: &ExitReason, time: SystemTime) -> Self {
        let mut record = Self {
            reason: reason.word().to_owned(),
            code: Some(reason.code()),
            time: humantime::format_rfc3339_millis(time).to_string(),
            server: reason.server().map(str::to_owned),
            attempts: None,
            outage_seconds: None,
            last_error: None,
        };
        match reason {
            ExitReason::Signal => {}
            ExitReason::BudgetExhausted(exhaustion) => {
                record.attempts = Some(exhaustion.attempts);
                record.outage_seconds = Some(exhaustion.outage_seconds);
                record.last_error = Some(exhaustion.last_error.clone());
            }
            ExitReason::StartupFailed { server: _, error } => record.last_error = Some(error.clone()),
            ExitReason::AddressUnavailable(detail)
            | ExitReason::StateDirUnavailable(detail)
            | ExitReason::Internal(detail)
            | ExitReason::Panic(detail)
            | ExitReason::StopIncomplete(detail)
            | ExitReason::Config(detail) => record.last_error = Some(detail.clone()),
        }
        record
    }

    /// What a run that starts at `time` leaves behind until it knows better.
    #[must_use]
    pub fn unclean(time: SystemTime) -> Self {
        Self {
            reason: Self::UNCLEAN.to_owned(),
            code: None,
            time: humantime::format_rfc3339_millis(time).to_string(),
            server: None,
            attempts: None,
            outage_seconds: None,
            last_error: None,
        }
    }

    /// One line of JSON with at most [`MESSAGE_LIMIT`] bytes. What is too long is cut from the end of `last_error`.
    #[must_use]
    pub fn termination_message(&self) -> String {
        let mut record = self.clone();
        loop {
            let message = serde_json::to_string(&record).unwrap_or_default();
            let excess = message.len().saturating_sub(MESSAGE_LIMIT);
            let Some(error) = record.last_error.as_mut().filter(|error| excess > 0 && !error.is_empty()) else {
                return message;
            };
            // An escape is up to six bytes long and one character short: what is cut now may be too little, then it is cut again.
            let keep = error.len().saturating_sub(excess.div_ceil(6));
            error.truncate(error.floor_char_boundary(keep));
        }
    }

    /// Writes the termination message to Kubernetes' file, or wherever the operator wants it.
    ///
    /// # Errors
    /// The file can't be opened without waiting, or written.
    pub fn write_termination_message(&self, path: &Path) -> io::Result<()> {
        // In place, because Kubernetes mounts the file itself; without waiting, because a pipe may have no reader.
        let nonblock = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).custom_flags(nonblock).open(path)?;
        file.write_all(self.termination_message().as_bytes())
    }
}

/// What Kubernetes keeps of a container's termination message, in bytes.
pub const MESSAGE_LIMIT: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exhaustion;

    fn record(last_error: String) -> ExitRecord {
        let exhaustion = Exhaustion { server: "github".to_owned(), attempts: 10, outage_seconds: 151.5, last_error };
        ExitRecord::new(&ExitReason::BudgetExhausted(exhaustion), SystemTime::UNIX_EPOCH)
    }

    #[test]
    fn the_termination_message_tells_server_attempts_and_error_in_one_line() {
        let message = record("exit code 3\nand more".to_owned()).termination_message();
        assert_eq!(
            message,
            r#"{"reason":"budget_exhausted","code":1,"time":"1970-01-01T00:00:00.000Z","server":"github","attempts":10,"outage_seconds":151.5,"last_error":"exit code 3\nand more"}"#
        );
    }

    #[test]
    fn the_termination_message_never_exceeds_what_kubernetes_keeps_and_stays_json() {
        for error in ["x".repeat(10_000), "ü\u{1}\"".repeat(5_000), "\u{1}".repeat(4_096), "🦀".repeat(1_100)] {
            let message = record(error).termination_message();
            assert!(message.len() <= MESSAGE_LIMIT, "{}", message.len());
            assert!(message.len() > MESSAGE_LIMIT - 16, "cut too much: {}", message.len());
            let back: ExitRecord = serde_json::from_str(&message).unwrap();
            assert_eq!(back.server.as_deref(), Some("github"));
        }
    }

    #[test]
    fn a_termination_log_that_nobody_reads_holds_up_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        record(String::new()).write_termination_message(&pipe).unwrap_err();
    }

    #[test]
    fn a_shorter_message_replaces_a_longer_one_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("termination-log");
        std::fs::write(&path, "y".repeat(4000)).unwrap();
        let record = record("short".to_owned());
        record.write_termination_message(&path).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), record.termination_message());
    }
}
