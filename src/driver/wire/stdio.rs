//! A child's stdin and stdout: one frame per line.

mod junk;
mod lines;
mod pen;

use std::fmt;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::task::AbortOnDropHandle;

use super::{Inbound, Inlet, Kind, MESSAGE_LIMIT, Wire};
use crate::core::cause::{Cause, CauseKind};
use crate::jsonrpc::{self, Message};
use crate::telemetry::Telemetry;
use junk::Junk;
use lines::{Lines, NoLine};
use pen::Pen;

/// Opens a wire over a child's pipes: `stdout` is what it writes, `stdin` what it reads.
pub fn open(
    server: &str,
    stdout: impl AsyncRead + Send + Unpin + 'static,
    stdin: impl AsyncWrite + Send + Unpin + 'static,
    telemetry: Telemetry,
) -> Wire {
    let junk = Junk::new(server, telemetry);
    Wire(Kind::Stdio(Opened {
        lines: Lines::new(Box::new(stdout), MESSAGE_LIMIT),
        pen: Pen::new(Box::new(stdin)),
        junk,
    }))
}

/// Pipes that nobody listens to yet.
pub struct Opened {
    lines: Lines<Box<dyn AsyncRead + Send + Unpin>>,
    pen: Pen<Box<dyn AsyncWrite + Send + Unpin>>,
    junk: Junk,
}

impl Opened {
    pub(super) fn start(self, inlet: Arc<dyn Inlet>) -> Arc<Outlet> {
        let Self { lines, pen, junk } = self;
        let reading = tokio::spawn(async move {
            let cause = read(lines, junk, &*inlet).await;
            inlet.accept(Inbound::Closed(cause));
        });
        Arc::new(Outlet { pen, reading: AbortOnDropHandle::new(reading) })
    }
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("stdio::Opened")
    }
}

/// A child's stdin. Its stdout is read until this is dropped.
pub struct Outlet {
    pen: Pen<Box<dyn AsyncWrite + Send + Unpin>>,
    reading: AbortOnDropHandle<()>,
}

impl Outlet {
    pub(super) async fn send(&self, text: Vec<u8>) -> Result<(), Cause> {
        self.pen.write_line(text).await.map_err(|error| {
            Cause::new(CauseKind::TransportClosed, format!("could not write to the server's standard input: {error}"))
        })
    }

    /// Closes stdin, which asks the server to end. What it still says is read, so that no full pipe keeps it from
    /// ending.
    pub(super) async fn close(&self) {
        self.pen.close().await;
    }

    /// Closes both pipes at once.
    pub(super) fn abandon(&self) {
        self.pen.abandon();
        self.reading.abort();
    }
}

impl fmt::Debug for Outlet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("stdio::Outlet")
    }
}

/// Hands in frames until there are no more.
async fn read(mut lines: Lines<Box<dyn AsyncRead + Send + Unpin>>, mut junk: Junk, inlet: &dyn Inlet) -> Cause {
    loop {
        let line = match lines.next().await {
            Ok(line) => line,
            Err(NoLine::End) => {
                return Cause::new(CauseKind::TransportClosed, "the server closed its standard output");
            }
            Err(NoLine::Broken(error)) => {
                let detail = format!("could not read the server's standard output: {error}");
                return Cause::new(CauseKind::TransportClosed, detail);
            }
            Err(NoLine::TooLong) => {
                let detail = format!("a line on the server's standard output is longer than {MESSAGE_LIMIT} bytes");
                return Cause::new(CauseKind::ProtocolViolation, detail);
            }
        };
        match jsonrpc::decode(line) {
            Some(Message::One(frame)) => inlet.accept(Inbound::Frame(frame)),
            Some(Message::Batch(frames)) => frames.into_iter().for_each(|frame| inlet.accept(Inbound::Frame(frame))),
            None if line.trim_ascii().is_empty() => {}
            None => junk.report(line),
        }
    }
}
