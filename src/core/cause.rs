//! Why a connect failed or a generation ended.

use std::fmt;

/// A bounded kind (a metric label) and a sentence for the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// What policy and metrics look at.
    pub kind: CauseKind,
    /// What a log line and `/status` show. Free of secrets: whoever builds a cause redacts first.
    pub detail: String,
}

impl Cause {
    /// A cause of this kind, told in `detail`.
    pub fn new(kind: CauseKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into() }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

/// Every way a connect can fail or a generation can end. Bounded, because it is a metric label (`error_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CauseKind {
    /// The command does not exist (`ENOENT`), or its working directory doesn't.
    CommandNotFound,
    /// The process could not be started for another reason (`EACCES`, `EAGAIN`, …).
    SpawnFailed,
    /// A process of an earlier supervisor's generation of this server is still alive and can't be ended.
    Leftover,
    /// The server's process exited, whatever its exit code.
    ProcessExited,
    /// The server's process lives, its pipes or its connection closed.
    TransportClosed,
    /// TCP connect refused, unreachable, or no address.
    ConnectRefused,
    /// A deadline of connecting or of the handshake passed.
    StartTimeout,
    /// The handshake was answered with an error, or with something that is no MCP.
    HandshakeFailed,
    /// `tools/list` failed or its walk never ended.
    ListFailed,
    /// The peer broke the protocol in a way that can't be recovered within the generation (an endless line, for example).
    ProtocolViolation,
    /// HTTP 5xx, repeatedly.
    ServerError,
    /// The server does not know our session any more.
    SessionLost,
    /// 401 or 403: credentials are missing or refused.
    AuthRequired,
    /// As many liveness probes in a row as `liveness.failures` allows went unanswered.
    LivenessFailed,
    /// Planned: the target's endpoint moved.
    EndpointMoved,
    /// Planned: the target's settings changed.
    SettingsChanged,
    /// Planned: an operator asked for a restart.
    OperatorRestart,
    /// Planned: the target is stopped for good.
    Stopped,
    /// A task of ours panicked. Contained, counted, never silent.
    Internal,
}

impl CauseKind {
    /// All of them.
    pub const ALL: [Self; 18] = [
        Self::CommandNotFound,
        Self::SpawnFailed,
        Self::Leftover,
        Self::ProcessExited,
        Self::TransportClosed,
        Self::ConnectRefused,
        Self::StartTimeout,
        Self::HandshakeFailed,
        Self::ListFailed,
        Self::ProtocolViolation,
        Self::ServerError,
        Self::SessionLost,
        Self::AuthRequired,
        Self::LivenessFailed,
        Self::EndpointMoved,
        Self::SettingsChanged,
        Self::OperatorRestart,
        Self::Internal,
    ];

    /// The value of the metric label `error_type`.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::CommandNotFound => "command_not_found",
            Self::SpawnFailed => "spawn_failed",
            Self::Leftover => "leftover",
            Self::ProcessExited => "process_exited",
            Self::TransportClosed => "transport_closed",
            Self::ConnectRefused => "connect_refused",
            Self::StartTimeout => "start_timeout",
            Self::HandshakeFailed => "handshake_failed",
            Self::ListFailed => "list_failed",
            Self::ProtocolViolation => "protocol_violation",
            Self::ServerError => "server_error",
            Self::SessionLost => "session_lost",
            Self::AuthRequired => "auth_required",
            Self::LivenessFailed => "liveness_failed",
            Self::EndpointMoved => "endpoint_moved",
            Self::SettingsChanged => "settings_changed",
            Self::OperatorRestart => "operator_restart",
            Self::Stopped => "stopped",
            Self::Internal => "internal",
        }
    }
}
