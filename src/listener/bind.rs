//! Binding: the step of start-up that can fail for reasons outside the program.

use std::io;
use std::net::SocketAddr;

use tokio::net::{TcpListener, UnixListener};

use super::socket::{self, SocketAccess, SocketFile};
use crate::config::settings::ListenAddress;

/// A bound listener. Dropping it closes it, and removes the UNIX socket's file if that is still ours.
#[derive(Debug)]
pub enum Listener {
    /// Bound to a TCP address.
    Tcp(TcpListener),
    /// Bound to a path.
    Unix(UnixListener, SocketFile),
}

/// Why a listener could not be bound. Names the address; meant for exit code 69.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}: {source}")]
pub struct BindError {
    /// As configured.
    pub address: String,
    /// What the system said, or whom it would have displaced.
    #[source]
    pub source: io::Error,
}

/// Binds `address`. `access` concerns UNIX sockets only.
///
/// # Errors
/// The address is in use (a UNIX socket's: by a process that answers), may not be used, or does not exist.
pub async fn bind(address: &ListenAddress, access: &SocketAccess) -> Result<Listener, BindError> {
    match address {
        ListenAddress::Tcp(tcp) => TcpListener::bind(tcp).await.map(Listener::Tcp),
        ListenAddress::Unix(path) => socket::bind(path, access).map(|(socket, file)| Listener::Unix(socket, file)),
    }
    .map_err(|source| BindError { address: display(address), source })
}

impl Listener {
    /// Where it listens, as an operator would write it: `127.0.0.1:9900` (the real port where 0 was asked for) or
    /// `unix:/run/mcp.sock`.
    #[must_use]
    pub fn address(&self) -> String {
        match self {
            Self::Tcp(tcp) => tcp.local_addr().map_or_else(|error| error.to_string(), |address| address.to_string()),
            Self::Unix(_, file) => format!("unix:{}", file.path().display()),
        }
    }

    /// The TCP address, if it has one.
    #[must_use]
    pub fn tcp_address(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(tcp) => tcp.local_addr().ok(),
            Self::Unix(..) => None,
        }
    }

    /// Whether only processes of this machine with access to a file can connect; no browser can.
    #[must_use]
    pub const fn is_unix(&self) -> bool {
        matches!(self, Self::Unix(..))
    }
}

fn display(address: &ListenAddress) -> String {
    match address {
        ListenAddress::Tcp(tcp) => tcp.to_string(),
        ListenAddress::Unix(path) => format!("unix:{}", path.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_address_in_use_is_named() {
        let access = SocketAccess::default();
        let first = bind(&ListenAddress::Tcp(([127, 0, 0, 1], 0).into()), &access).await.unwrap();
        let taken = first.tcp_address().unwrap();
        let error = bind(&ListenAddress::Tcp(taken), &access).await.unwrap_err();
        assert_eq!(error.source.kind(), io::ErrorKind::AddrInUse);
        assert!(error.to_string().contains(&taken.to_string()), "{error}");
    }
}
