//! A bidirectional stream of JSON-RPC frames to one server, whatever the transport.
//!
//! A wire understands envelopes and nothing more: payloads pass as the same JSON text in both directions.

pub mod http;
pub(crate) mod pace;
pub mod sse;
pub mod stdio;

use std::fmt;
use std::sync::Arc;

use crate::core::cause::Cause;
use crate::jsonrpc::{Frame, Id};

/// The longest message that is taken from a server: a line of stdout, an HTTP body, an event of a stream. 16 MiB.
/// One that is longer ends the generation (stdio) or fails its request (HTTP), so that memory stays bounded.
pub const MESSAGE_LIMIT: usize = 16 * 1024 * 1024;

/// An opened connection to a server that nobody listens to yet.
#[derive(Debug)]
pub struct Wire(Kind);

#[derive(Debug)]
enum Kind {
    Stdio(stdio::Opened),
    Http(http::Opened),
    Sse(sse::Opened),
}

impl Wire {
    /// Starts to take in what the server says. `inlet` gets it in the order in which it came.
    pub fn start(self, inlet: Arc<dyn Inlet>) -> Outlet {
        match self.0 {
            Kind::Stdio(opened) => Outlet::Stdio(opened.start(inlet)),
            Kind::Http(opened) => Outlet::Http(opened.start(inlet)),
            Kind::Sse(opened) => Outlet::Sse(opened.start(inlet)),
        }
    }

    /// Whether this transport is older than the modern era.
    #[must_use]
    pub fn is_legacy(&self) -> bool {
        matches!(self.0, Kind::Sse(_))
    }
}

/// Takes what comes in. Called from the wire's own tasks: must not block.
pub trait Inlet: Send + Sync + 'static {
    /// Takes one item. After `Closed` none follows.
    fn accept(&self, inbound: Inbound);
}

/// What comes in.
#[derive(Debug)]
pub enum Inbound {
    /// A message of the server.
    Frame(Frame),
    /// The request with this id can't be answered any more.
    RequestFailed {
        /// Of the request.
        id: Id,
        /// Why.
        failure: RequestFailure,
    },
    /// The server's own event stream is open, for the first time or again: until now notifications were missed.
    Listening,
    /// Nothing will come any more.
    Closed(Cause),
}

/// Why one request has no answer.
#[derive(Clone, Debug)]
pub enum RequestFailure {
    /// The generation ends, but the server can't have acted on this request (connect refused, session unknown): it may
    /// be sent to another generation.
    NotExecuted(Cause),
    /// Only this request failed (an HTTP error, an answer that is none), the connection as such lives.
    Failed(Cause),
}

impl RequestFailure {
    /// Why.
    #[must_use]
    pub fn cause(&self) -> &Cause {
        let (Self::NotExecuted(cause) | Self::Failed(cause)) = self;
        cause
    }
}

/// What goes out: one frame as JSON text, with what a transport has to know about it.
#[derive(Debug)]
pub struct Outgoing {
    /// Of a request; responses and notifications have none here.
    pub id: Option<Id>,
    /// Of a request or notification.
    pub method: Option<String>,
    /// In revision 2026-07-28: what HTTP has to repeat in headers. `None` = a frame of an earlier revision.
    pub modern: Option<Mirrored>,
    /// The whole frame on one line, without a newline.
    pub text: Vec<u8>,
}

/// What revision 2026-07-28 wants repeated in HTTP headers besides version and method, as plain text.
#[derive(Clone, Debug, Default)]
pub struct Mirrored {
    /// `Mcp-Name`: of the tool.
    pub name: Option<String>,
    /// `Mcp-Param-…`: the arguments that the tool's schema marks with `x-mcp-header`, by the name it gives.
    pub arguments: Vec<(String, String)>,
}

/// Where frames to the server go. Cheap to clone.
#[derive(Clone, Debug)]
pub enum Outlet {
    /// A child's stdin.
    Stdio(Arc<stdio::Outlet>),
    /// An HTTP endpoint.
    Http(Arc<http::Outlet>),
    /// An HTTP+SSE endpoint.
    Sse(Arc<sse::Outlet>),
}

impl Outlet {
    /// Sends a frame. Once this future has finished, the frame is on its way as a whole; where it is dropped before, the
    /// stream stays intact and the frame may still arrive.
    ///
    /// # Errors
    /// The frame can't have reached the server.
    pub async fn send(&self, outgoing: Outgoing) -> Result<(), Cause> {
        match self {
            Self::Stdio(outlet) => outlet.send(outgoing.text).await,
            Self::Http(outlet) => outlet.send(outgoing).await,
            Self::Sse(outlet) => outlet.send(outgoing).await,
        }
    }

    /// Stops waiting for the answer to a request. Whether the server has to be told by a notification as well.
    #[must_use]
    pub fn forget(&self, id: &Id) -> bool {
        match self {
            Self::Stdio(_) => true,
            Self::Http(outlet) => outlet.forget(id),
            Self::Sse(outlet) => outlet.forget(id),
        }
    }

    /// Tells the transport which revision the handshake agreed on.
    pub fn agreed(&self, version: &str) {
        match self {
            Self::Stdio(_) | Self::Sse(_) => {}
            Self::Http(outlet) => outlet.agreed(version),
        }
    }

    /// Whether a server that does not understand a message may well exit because of it.
    #[must_use]
    pub fn is_fragile(&self) -> bool {
        match self {
            Self::Stdio(_) => true,
            Self::Http(_) | Self::Sse(_) => false,
        }
    }

    /// Says goodbye, bounded by a second, and sends nothing more.
    pub async fn close(&self) {
        match self {
            Self::Stdio(outlet) => outlet.close().await,
            Self::Http(outlet) => outlet.close().await,
            Self::Sse(outlet) => outlet.abandon(),
        }
    }
}

impl Outlet {
    /// Drops the connection at once.
    pub fn abandon(&self) {
        match self {
            Self::Stdio(outlet) => outlet.abandon(),
            Self::Http(outlet) => outlet.abandon(),
            Self::Sse(outlet) => outlet.abandon(),
        }
    }
}

impl fmt::Debug for dyn Inlet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Inlet")
    }
}
