//! One MCP session with one server, for the length of one generation.

use crate::core::cause::Cause;

/// Which of the two incompatible halves of MCP's history a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// `initialize` and sessions: revisions up to 2025-11-25.
    Legacy,
    /// Stateless: 2026-07-28.
    Modern,
}

/// What a session tells its driver besides its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// `notifications/tools/list_changed`.
    ToolsChanged,
    /// An answered call, or a call's progress.
    ProofOfLife,
}

/// Why a call has no reply of the server.
#[derive(Clone, Debug)]
pub enum CallError {
    /// The generation ended with the call in flight; the server may have acted on it.
    OutcomeUnknown(Cause),
    /// The server can't have acted on it: it may be sent to another generation.
    NotExecuted(Cause),
    /// Our deadline passed; `notifications/cancelled` was sent.
    Timeout(std::time::Duration),
    /// The client cancelled; `notifications/cancelled` was sent.
    Cancelled,
}
