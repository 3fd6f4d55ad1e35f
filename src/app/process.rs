//! The process around the composition root: signals before anything else, records and exit code after everything else.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use super::run;
use crate::cli::ConfigArgs;
use crate::config::{self, Settings};
use crate::exit::record::ExitRecord;
use crate::exit::{self, ExitReason};
use crate::shutdown::Shutdown;
use crate::state_dir::StateDir;
use crate::telemetry::Telemetry;
use crate::telemetry::logs;
use crate::telemetry::note::Note;

/// How long what is left on the runtime may take to notice its end.
const RUNTIME_BOUND: Duration = Duration::from_millis(500);
/// How long the last log lines may take.
const LOG_BOUND: Duration = Duration::from_millis(500);

/// `mcp-sidecar run`, from the signals to the exit code.
#[must_use]
pub fn main(args: &ConfigArgs) -> u8 {
    let shutdown = match Shutdown::with_signals(end_at_once) {
        Ok(shutdown) => shutdown,
        Err(error) => return early(exit::INTERNAL, &format!("cannot register signals: {error}")),
    };
    let settings = match config::load(args) {
        Ok(settings) => settings,
        Err(error) => return early(exit::CONFIG, &error.to_string()),
    };
    let logs = match logs::init(&settings.log) {
        Ok(logs) => logs,
        Err(error) => return early(exit::CONFIG, &error.to_string()),
    };
    let code = supervise(settings, &shutdown);
    logs.flush(LOG_BOUND);
    code
}

/// Before the log is up there is only stderr.
fn early(code: u8, message: &str) -> u8 {
    eprintln!("mcp-sidecar: {message}");
    code
}

/// What is to be done if the process still lives a while after it was told to end at once.
#[expect(clippy::exit, reason = "the runtime does not answer: nothing else ends the process with its exit code")]
fn end_at_once(reason: ExitReason) {
    std::process::exit(i32::from(reason.after_incomplete_stop("the process did not end by itself").code()));
}

fn supervise(settings: Settings, shutdown: &Shutdown) -> u8 {
    let telemetry = Telemetry::new();
    let termination_log = settings.termination_log.clone();
    let state = match settings.state_dir.as_deref().map(StateDir::open).transpose() {
        Ok(state) => state,
        Err(error) => {
            let reason = ExitReason::StateDirUnavailable(error.to_string());
            return end(&reason, None, termination_log, &telemetry);
        }
    };
    if let Some(last) = state.as_ref().and_then(StateDir::last_exit) {
        telemetry.last_exit(Some((&last.reason, last.server.as_deref())));
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            let reason = ExitReason::Internal(format!("no runtime: {error}"));
            return end(&reason, state.as_ref(), termination_log, &telemetry);
        }
    };
    let program = PathBuf::from("/proc/self/exe");
    let reason = runtime.block_on(run(settings, program, shutdown, &telemetry));
    runtime.shutdown_timeout(RUNTIME_BOUND);
    end(&reason, state.as_ref(), termination_log, &telemetry)
}

/// Leaves the records that tell whoever comes next why this run ended.
fn end(reason: &ExitReason, state: Option<&StateDir>, termination_log: Option<PathBuf>, telemetry: &Telemetry) -> u8 {
    let record = ExitRecord::new(reason, SystemTime::now());
    let warn = |what: &str, error: std::io::Error| telemetry.note(&Note::Warning { text: format!("{what}: {error}") });
    if let Some(error) = state.and_then(|state| state.write_last_exit(&record).err()) {
        warn("cannot write the last-exit record", error);
    }
    if let Some(error) = termination_log.and_then(|path| record.write_termination_message(&path).err()) {
        warn("cannot write the termination message", error);
    }
    telemetry.note(&Note::Exiting { code: reason.code(), reason: reason.word(), detail: reason.to_string() });
    reason.code()
}
