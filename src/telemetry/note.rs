//! Observations of the driver and the gateway that are no facts of a state machine.

use std::time::Duration;

use crate::core::cause::Cause;
use crate::core::generation::Generation;

/// One observation. Text in it is free of secrets: whoever builds a note redacts first.
#[derive(Clone, Debug, PartialEq)]
pub enum Note {
    /// A line a child wrote to stderr, truncated.
    StderrLine {
        /// The server.
        server: String,
        /// Whose.
        generation: Generation,
        /// Lossy UTF-8, without control characters.
        line: String,
    },
    /// Lines of stderr that the rate limit kept out of the log.
    StderrSuppressed {
        /// The server.
        server: String,
        /// Since the last such note.
        lines: u64,
    },
    /// Something on stdout that is no JSON-RPC message.
    JunkReceived {
        /// The server.
        server: String,
        /// Truncated; `None` once enough were shown.
        preview: Option<String>,
    },
    /// The catalogue sync of a server finished.
    SyncFinished {
        /// The server.
        server: String,
        /// Whose.
        generation: Generation,
        /// Tools that are served.
        tools: usize,
        /// Whether anything changed for clients.
        changed: bool,
        /// How long the listing took.
        took: Duration,
    },
    /// The target's tools were taken out of the catalogue.
    ToolsWithdrawn {
        /// The server.
        server: String,
    },
    /// A re-sync failed; the last good catalogue stays.
    SyncFailed {
        /// The server.
        server: String,
        /// Whose.
        generation: Generation,
        /// Why.
        cause: Cause,
    },
    /// A tool is not served, or under another name than clients might expect.
    ToolRejected {
        /// The server.
        server: String,
        /// Its name, truncated.
        tool: String,
        /// Why.
        reason: String,
    },
    /// The server's event stream was opened again; no outage.
    StreamReopened {
        /// The server.
        server: String,
    },
    /// A call was answered, failed or refused.
    CallFinished {
        /// The server.
        server: String,
        /// Public name.
        tool: String,
        /// From its arrival to its answer.
        took: Duration,
        /// `None` = result without `isError`; else a bounded word (`tool_error`, a JSON-RPC code, a refusal's reason).
        error_type: Option<String>,
    },
    /// A process of an earlier supervisor was found.
    LeftoverFound {
        /// The server.
        server: String,
        /// Its pid.
        pid: u32,
        /// Whether it was ended (`false`: it can't be, and its server is refused).
        ended: bool,
    },
    /// A listener is up.
    Listening {
        /// `mcp` or `admin`.
        what: &'static str,
        /// Its address or path.
        address: String,
    },
    /// Something an operator should know although nothing failed.
    Warning {
        /// A sentence.
        text: String,
    },
    /// A task of ours panicked and was contained.
    TaskPanicked {
        /// Which.
        task: &'static str,
        /// The panic's message.
        message: String,
    },
    /// The process ends, and this is the last that is heard of it.
    Exiting {
        /// Its exit code.
        code: u8,
        /// The word for why.
        reason: &'static str,
        /// A sentence for why.
        detail: String,
    },
}
