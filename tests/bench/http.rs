//! As lean an HTTP client as can be: one kept-alive connection, one request at a time, nothing interpreted twice.

use std::process::{Child, Command, Stdio};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::ports::free_port;
use crate::support::sidecar::{PATIENCE, fixture};
use crate::support::wait::wait_until;

/// The half of MCP's history that the client speaks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// 2025-11-25: a session.
    Legacy,
    /// 2026-07-28: none.
    Modern,
}

/// One connection, with a session of its own where the era has sessions.
pub struct Connection {
    stream: TcpStream,
    received: Vec<u8>,
    path: String,
    headers: String,
    era: Era,
}

impl Connection {
    /// Connects and shakes hands.
    pub async fn open(url: &str, era: Era) -> Self {
        let (host, path) = url.strip_prefix("http://").and_then(|rest| rest.split_once('/')).expect("http://host/path");
        let stream = TcpStream::connect(host).await.expect("the endpoint accepts");
        stream.set_nodelay(true).expect("TCP_NODELAY");
        let mut headers = format!("host: {host}\r\ncontent-type: application/json\r\n");
        headers.push_str("accept: application/json, text/event-stream\r\n");
        let mut connection = Self { stream, received: Vec::new(), path: format!("/{path}"), headers, era };
        match era {
            Era::Legacy => connection.initialize().await,
            Era::Modern => {
                connection.headers.push_str("mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\n")
            }
        }
        connection
    }

    /// Calls `tool` with `text`; whether the one answer is the right one.
    pub async fn echo(&mut self, tool: &str, id: u64, text: &str) -> bool {
        let meta = match self.era {
            Era::Legacy => String::new(),
            Era::Modern => format!(
                r#","_meta":{{{p}/protocolVersion":"2026-07-28",{p}/clientCapabilities":{{}}}}"#,
                p = r#""io.modelcontextprotocol"#
            ),
        };
        let name = if self.era == Era::Modern { format!("mcp-name: {tool}\r\n") } else { String::new() };
        let (_, body) = self.post(&name, &crate::measure::call(id, tool, text, &meta)).await;
        crate::measure::is_answer(&body, id, text)
    }

    async fn initialize(&mut self) {
        let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;
        let (head, _) = self.post("", hello).await;
        self.headers.push_str("mcp-protocol-version: 2025-11-25\r\n");
        if let Some(session) = header(&head, "mcp-session-id") {
            self.headers.push_str(&format!("mcp-session-id: {session}\r\n"));
        }
        self.post("", r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    }

    /// Head and body of the response.
    async fn post(&mut self, extra_headers: &str, body: &str) -> (String, Vec<u8>) {
        let (path, headers, length) = (&self.path, &self.headers, body.len());
        let request = format!("POST {path} HTTP/1.1\r\n{headers}{extra_headers}content-length: {length}\r\n\r\n{body}");
        self.stream.write_all(request.as_bytes()).await.expect("the endpoint reads");
        let head = self.take_through(b"\r\n\r\n").await;
        let head = String::from_utf8(head).expect("a head in UTF-8").to_ascii_lowercase();
        if header(&head, "transfer-encoding").is_some() {
            let mut body = Vec::new();
            loop {
                let size = self.take_through(b"\r\n").await;
                let size = std::str::from_utf8(&size).expect("a chunk size").trim();
                let size = usize::from_str_radix(size, 16).expect("a chunk size");
                let chunk = self.take(size + 2).await;
                if size == 0 {
                    return (head, body);
                }
                body.extend_from_slice(&chunk[..size]);
            }
        }
        let length = header(&head, "content-length").map_or(0, |length| length.parse().expect("a length"));
        let body = self.take(length).await;
        (head, body)
    }

    async fn take_through(&mut self, end: &[u8]) -> Vec<u8> {
        loop {
            if let Some(at) = self.received.windows(end.len()).position(|window| window == end) {
                return self.take(at + end.len()).await;
            }
            self.receive().await;
        }
    }

    async fn take(&mut self, length: usize) -> Vec<u8> {
        while self.received.len() < length {
            self.receive().await;
        }
        self.received.drain(..length).collect()
    }

    async fn receive(&mut self) {
        let read = self.stream.read_buf(&mut self.received).await.expect("the endpoint answers");
        assert!(read > 0, "the endpoint closed the connection");
    }
}

/// The tests' server, serving HTTP.
pub struct FixtureOverHttp {
    child: Child,
    port: u16,
}

impl FixtureOverHttp {
    /// Starts it and waits until it accepts.
    pub async fn start() -> Self {
        let port = free_port();
        let mut command = Command::new(fixture());
        command
            .args(["--http", "--http-json", "--no-sessions", "--http-port", &port.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        let child = command.spawn().expect("the fixture starts");
        wait_until("the fixture listens", PATIENCE, async || TcpStream::connect(("127.0.0.1", port)).await.is_ok())
            .await;
        Self { child, port }
    }

    /// Its endpoint.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }
}

impl Drop for FixtureOverHttp {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| line.split_once(':').filter(|(key, _)| *key == name)).map(|(_, value)| value.trim())
}
