//! Our end of a server's stdin.

use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::AsyncWrite;
use tokio::net::unix::pipe;

use super::kin::Kin;

/// Our end of a server's stdin. Dropping it is what asks a server to end; right before, its descendants are noted:
/// those of a server that obeys are nobody's a moment later.
pub struct Stdin {
    pipe: pipe::Sender,
    kin: Arc<Kin>,
}

impl Stdin {
    pub(super) fn new(pipe: OwnedFd, kin: Arc<Kin>) -> io::Result<Self> {
        Ok(Self { pipe: pipe::Sender::from_owned_fd(pipe)?, kin })
    }
}

impl Drop for Stdin {
    fn drop(&mut self) {
        self.kin.remember();
    }
}

impl std::fmt::Debug for Stdin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.pipe.fmt(f)
    }
}

impl AsyncWrite for Stdin {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.pipe).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.pipe).poll_write_vectored(context, buffers)
    }

    fn is_write_vectored(&self) -> bool {
        self.pipe.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipe).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipe).poll_shutdown(context)
    }
}
