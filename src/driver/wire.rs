//! A bidirectional stream of JSON-RPC frames to one server, whatever the transport.

use crate::core::cause::Cause;
use crate::jsonrpc::{Frame, Id};

/// What comes in.
#[derive(Debug)]
pub enum Inbound {
    /// A message of the server.
    Frame(Frame),
    /// The request with this id can't be answered any more, the connection as such lives (HTTP).
    RequestFailed {
        /// Of the request.
        id: Id,
        /// Why.
        failure: RequestFailure,
    },
    /// Nothing will come any more.
    Closed(Cause),
}

/// Why one request has no answer.
#[derive(Clone, Debug)]
pub struct RequestFailure {
    /// Why.
    pub cause: Cause,
    /// Whether the server can't have acted on it (connect refused, session unknown): then it may be sent again.
    pub not_executed: bool,
}
