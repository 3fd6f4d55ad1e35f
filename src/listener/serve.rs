//! Serving HTTP/1.1 on a listener: bounded in connections, in patience, and at its end.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::bind::Listener;

/// How much a listener puts up with.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at a time; one more gets 503 and is closed. Default 1024.
    pub connections: usize,
    /// How long a new connection may take to deliver the head of its first request. Default 10 s.
    pub first_request: Duration,
    /// How long a connection may be without a request, or deliver a later request's head. Default 120 s: longer than
    /// the idle limits of clients' pools, because a server that closes first loses requests.
    pub idle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connections: 1024, first_request: Duration::from_secs(10), idle: Duration::from_secs(120) }
    }
}

/// Serves `router` until `shutdown`, then accepts nothing more, lets each connection finish the response it is at for
/// at most `grace`, and drops the rest. Returns how many were dropped.
pub async fn serve(
    listener: Listener,
    router: axum::Router,
    limits: Limits,
    shutdown: CancellationToken,
    grace: Duration,
) -> usize {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = shutdown.cancelled() => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            accepted = accept(&listener) => {
                let full = connections.len() >= limits.connections;
                match accepted {
                    Ok(Accepted::Tcp(stream)) if full => refuse(|text| stream.try_write(text)),
                    Ok(Accepted::Unix(stream)) if full => refuse(|text| stream.try_write(text)),
                    Ok(Accepted::Tcp(stream)) => {
                        connections.spawn(connection(stream, router.clone(), limits, shutdown.clone()));
                    }
                    Ok(Accepted::Unix(stream)) => {
                        connections.spawn(connection(stream, router.clone(), limits, shutdown.clone()));
                    }
                    Err(error) => pause_after(&error).await,
                }
            }
        }
    }
    drop(listener);
    let drained = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(grace, drained).await;
    let dropped = connections.len();
    connections.shutdown().await;
    dropped
}

enum Accepted {
    Tcp(tokio::net::TcpStream),
    Unix(tokio::net::UnixStream),
}

async fn accept(listener: &Listener) -> io::Result<Accepted> {
    match listener {
        Listener::Tcp(tcp) => {
            let (stream, _) = tcp.accept().await?;
            // Else each small event waits for the delayed ACK of the one before: 40 ms.
            let _ = stream.set_nodelay(true);
            Ok(Accepted::Tcp(stream))
        }
        Listener::Unix(unix, _) => Ok(Accepted::Unix(unix.accept().await?.0)),
    }
}

/// Out of file descriptors or memory: accepting again at once would only spin.
async fn pause_after(error: &io::Error) {
    let peer_gave_up = matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionRefused
    );
    if !peer_gave_up {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

fn refuse(write: impl FnOnce(&[u8]) -> io::Result<usize>) {
    let _ = write(b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
}

async fn connection<S>(stream: S, router: axum::Router, limits: Limits, shutdown: CancellationToken)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let spoke = Arc::new(AtomicBool::new(false));
    let service = {
        let (spoke, inner) = (Arc::clone(&spoke), TowerToHyperService::new(router));
        hyper::service::service_fn(move |request| {
            spoke.store(true, Ordering::Relaxed);
            hyper::service::Service::call(&inner, request)
        })
    };
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits.idle).max_buf_size(64 * 1024).half_close(false);
    let mut serving = pin!(http.serve_connection(TokioIo::new(stream), service));

    tokio::select! {
        _ = &mut serving => return,
        () = tokio::time::sleep(limits.first_request), if !spoke.load(Ordering::Relaxed) => {
            if !spoke.load(Ordering::Relaxed) {
                return;
            }
        }
        () = shutdown.cancelled() => {}
    }
    if !shutdown.is_cancelled() {
        tokio::select! {
            _ = &mut serving => return,
            () = shutdown.cancelled() => {}
        }
    }
    serving.as_mut().graceful_shutdown();
    let _ = serving.await;
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::time::Instant;

    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;
    use tokio::sync::Notify;
    use tokio::task::JoinHandle;

    use super::super::{SocketAccess, bind};
    use super::*;
    use crate::config::settings::ListenAddress;

    struct Running {
        address: SocketAddr,
        shutdown: CancellationToken,
        ended: JoinHandle<usize>,
        /// Told when `/slow` was entered.
        entered: Arc<Notify>,
    }

    async fn start(limits: Limits, grace: Duration) -> Running {
        let entered = Arc::new(Notify::new());
        let told = Arc::clone(&entered);
        let slow = async move || {
            told.notify_one();
            tokio::time::sleep(Duration::from_millis(300)).await;
            "late"
        };
        let router = axum::Router::new().route("/", get(async || "hello")).route("/slow", get(slow));
        let address = ListenAddress::Tcp(([127, 0, 0, 1], 0).into());
        let listener = bind(&address, &SocketAccess::default()).await.unwrap();
        let (address, shutdown) = (listener.tcp_address().unwrap(), CancellationToken::new());
        let ended = tokio::spawn(serve(listener, router, limits, shutdown.clone(), grace));
        Running { address, shutdown, ended, entered }
    }

    async fn send(address: SocketAddr, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        stream
    }

    async fn read_to_end(mut stream: TcpStream) -> String {
        let mut text = String::new();
        let reading = stream.read_to_string(&mut text);
        let _ = tokio::time::timeout(Duration::from_secs(5), reading).await.expect("the server closes");
        text
    }

    #[tokio::test]
    async fn small_answers_do_not_wait_for_the_delayed_ack_of_others() {
        let address = ListenAddress::Tcp(([127, 0, 0, 1], 0).into());
        let listener = bind(&address, &SocketAccess::default()).await.unwrap();
        let _client = TcpStream::connect(listener.tcp_address().unwrap()).await.unwrap();
        let Accepted::Tcp(stream) = accept(&listener).await.unwrap() else { panic!("a TCP listener") };
        assert!(stream.nodelay().unwrap());
    }

    #[tokio::test]
    async fn a_client_that_trickles_its_first_head_is_cut_off() {
        let limits = Limits { first_request: Duration::from_millis(200), ..Limits::default() };
        let server = start(limits, Duration::ZERO).await;
        let began = Instant::now();
        let answer = read_to_end(send(server.address, "GET / HTTP/1.1\r\nhost: loc").await).await;
        assert_eq!(answer, "");
        assert!(began.elapsed() < Duration::from_secs(2));
    }

    #[tokio::test]
    async fn a_later_head_is_bounded_by_the_idle_limit() {
        let limits = Limits { idle: Duration::from_millis(300), ..Limits::default() };
        let server = start(limits, Duration::ZERO).await;
        let began = Instant::now();
        let request = "GET / HTTP/1.1\r\nhost: localhost\r\n\r\nGET / HTTP/1.1\r\nhost: loc";
        let answer = read_to_end(send(server.address, request).await).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(began.elapsed() < Duration::from_secs(3));
    }

    #[tokio::test]
    async fn a_connection_too_many_is_told_so_and_others_go_on() {
        let limits = Limits { connections: 1, ..Limits::default() };
        let server = start(limits, Duration::ZERO).await;
        let mut first = send(server.address, "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
        assert!(first.read(&mut [0; 512]).await.unwrap() > 0);
        let second = TcpStream::connect(server.address).await.unwrap();
        assert!(read_to_end(second).await.starts_with("HTTP/1.1 503"));
        first.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
        assert!(first.read(&mut [0; 512]).await.unwrap() > 0);
    }

    #[tokio::test]
    async fn a_stop_lets_the_response_in_progress_finish_and_ends_idle_connections() {
        let server = start(Limits::default(), Duration::from_secs(5)).await;
        let idle = TcpStream::connect(server.address).await.unwrap();
        let mut kept = send(server.address, "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
        assert!(kept.read(&mut [0; 512]).await.unwrap() > 0);
        let busy = send(server.address, "GET /slow HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
        server.entered.notified().await;
        server.shutdown.cancel();
        assert!(read_to_end(busy).await.ends_with("late"));
        read_to_end(idle).await;
        assert_eq!(server.ended.await.unwrap(), 0);
        assert!(TcpStream::connect(server.address).await.is_err());
    }

    #[tokio::test]
    async fn a_stop_is_bounded_by_the_grace_and_counts_what_it_dropped() {
        let server = start(Limits::default(), Duration::from_millis(50)).await;
        let busy = send(server.address, "GET /slow HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
        server.entered.notified().await;
        server.shutdown.cancel();
        assert_eq!(server.ended.await.unwrap(), 1);
        assert_eq!(read_to_end(busy).await, "");
    }
}
