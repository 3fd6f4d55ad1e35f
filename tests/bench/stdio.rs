//! The tests' server as a child of the benchmark, with nothing in between.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe;
use tokio::sync::oneshot;

use crate::support::sidecar::fixture;

type Pending = Arc<Mutex<HashMap<u64, oneshot::Sender<Vec<u8>>>>>;

/// A handshaken server. Many calls may be under way.
pub struct FixtureOverStdio {
    child: Child,
    stdin: Arc<tokio::sync::Mutex<pipe::Sender>>,
    pending: Pending,
}

impl FixtureOverStdio {
    /// Starts it and shakes hands.
    pub async fn start() -> Self {
        let mut command = Command::new(fixture());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the fixture starts");
        let stdin = OwnedFd::from(child.stdin.take().expect("stdin is piped"));
        let stdout = OwnedFd::from(child.stdout.take().expect("stdout is piped"));
        let stdin = pipe::Sender::from_owned_fd(stdin).expect("a pipe");
        let stdout = pipe::Receiver::from_owned_fd(stdout).expect("a pipe");
        let pending = Pending::default();
        tokio::spawn(deliver(stdout, Arc::clone(&pending)));
        let server = Self { child, stdin: Arc::new(tokio::sync::Mutex::new(stdin)), pending };
        server.request(0, r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#).await;
        server.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        server
    }

    /// Calls `echo` with `text`; whether the one answer is the right one.
    pub async fn echo(&self, id: u64, text: &str) -> bool {
        let answer = self.request(id, &crate::measure::call(id, "echo", text, "")).await;
        crate::measure::is_answer(&answer, id, text)
    }

    async fn request(&self, id: u64, message: &str) -> Vec<u8> {
        let (sender, answer) = oneshot::channel();
        self.pending.lock().expect("not poisoned").insert(id, sender);
        self.send(message).await;
        answer.await.expect("the server answers")
    }

    async fn send(&self, message: &str) {
        let line = format!("{message}\n");
        self.stdin.lock().await.write_all(line.as_bytes()).await.expect("the server reads");
    }
}

impl Drop for FixtureOverStdio {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn deliver(stdout: pipe::Receiver, pending: Pending) {
    #[derive(serde::Deserialize)]
    struct Answer {
        id: u64,
    }
    let mut lines = BufReader::new(stdout);
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line).await.is_ok_and(|read| read > 0) {
        if let Ok(answer) = serde_json::from_slice::<Answer>(&line) {
            let waiting = pending.lock().expect("not poisoned").remove(&answer.id);
            let _ = waiting.map(|waiting| waiting.send(std::mem::take(&mut line)));
        }
        line.clear();
    }
}
