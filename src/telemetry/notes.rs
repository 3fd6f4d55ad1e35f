//! Notes, translated: [`log`] says them, [`count`] counts them.

use super::Telemetry;
use super::catalog::Metric;
use super::note::Note;

/// Writes the note's log line, if it has one.
pub fn log(note: &Note) {
    match note {
        Note::StderrLine { server, generation, line } => {
            tracing::info!(server, generation = generation.number(), line, "stderr");
        }
        Note::StderrSuppressed { server, lines } => {
            tracing::warn!(server, lines, "stderr is written faster than it is logged: lines left out");
        }
        Note::JunkReceived { server, preview: Some(preview) } => {
            tracing::warn!(server, preview, "skipped what is no JSON-RPC message");
        }
        Note::JunkReceived { server, preview: None } => tracing::debug!(server, "skipped what is no JSON-RPC message"),
        Note::SyncFinished { server, generation, tools, changed: true, took } => {
            tracing::info!(
                server,
                generation = generation.number(),
                tools,
                took_seconds = took.as_secs_f64(),
                "tools changed"
            );
        }
        Note::SyncFinished { server, generation, tools, changed: false, took } => {
            tracing::debug!(
                server,
                generation = generation.number(),
                tools,
                took_seconds = took.as_secs_f64(),
                "tools unchanged"
            );
        }
        Note::ToolsWithdrawn { server } => tracing::warn!(server, "tools withdrawn"),
        Note::SyncFailed { server, generation, cause } => {
            tracing::warn!(
                server,
                generation = generation.number(),
                error = %cause,
                error_type = cause.kind.label(),
                "tools could not be listed again: the last good list stays"
            );
        }
        Note::ToolRejected { server, tool, reason } => tracing::warn!(server, tool, reason, "tool rejected"),
        Note::StreamReopened { server } => tracing::debug!(server, "event stream opened again"),
        Note::CallFinished { server, tool, took, error_type } => {
            tracing::debug!(
                server,
                tool,
                took_seconds = took.as_secs_f64(),
                error_type = error_type.as_deref(),
                "call finished"
            );
        }
        Note::LeftoverFound { server, pid, ended: true } => {
            tracing::warn!(server, pid, "ended a process that an earlier supervisor left behind");
        }
        Note::LeftoverFound { server, pid, ended: false } => {
            tracing::error!(
                server,
                pid,
                "a process that an earlier supervisor left behind can't be ended: the server is refused"
            );
        }
        Note::Listening { what, address } => tracing::info!(what, address, "listening"),
        Note::Warning { text } => tracing::warn!("{text}"),
        Note::Exiting { code: 0, reason, detail } => tracing::info!(code = 0, reason, detail, "exiting"),
        Note::Exiting { code, reason, detail } => tracing::error!(code, reason, detail, "exiting"),
        Note::TaskPanicked { task, message } => tracing::error!(task, error = message, "a task panicked"),
    }
}

/// Moves the note's series.
pub fn count(telemetry: &Telemetry, note: &Note) {
    let series = &telemetry.inner.series;
    match note {
        Note::StderrLine { server, generation: _, line: _ } => series.add(Metric::ChildStderrLines, &[server], 1),
        Note::StderrSuppressed { server, lines } => series.add(Metric::ChildStderrLines, &[server], *lines),
        Note::JunkReceived { server, preview: _ } => series.add(Metric::JunkMessages, &[server], 1),
        Note::SyncFinished { server, generation: _, tools, changed: _, took: _ } => {
            series.set(Metric::Tools, &[server], *tools as f64);
        }
        Note::ToolsWithdrawn { server } => series.set(Metric::Tools, &[server], 0.0),
        Note::StreamReopened { server } => series.add(Metric::StreamReopens, &[server], 1),
        Note::CallFinished { server, tool, took, error_type } => {
            telemetry.operation(server, tool, error_type.as_deref(), *took);
        }
        Note::TaskPanicked { task: _, message: _ } => series.add(Metric::TaskPanics, &[], 1),
        Note::SyncFailed { server: _, generation: _, cause: _ }
        | Note::ToolRejected { server: _, tool: _, reason: _ }
        | Note::LeftoverFound { server: _, pid: _, ended: _ }
        | Note::Listening { what: _, address: _ }
        | Note::Exiting { code: _, reason: _, detail: _ }
        | Note::Warning { text: _ } => {}
    }
}
