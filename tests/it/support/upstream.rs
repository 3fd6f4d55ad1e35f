//! A session with a real fixture process, opened by the library alone.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use mcp_sidecar::catalogue::snapshot::UpstreamTool;
use mcp_sidecar::config::settings::{HttpSettings, ProtocolChoice, ProxySettings};
use mcp_sidecar::driver::session::{CallError, Era, OpenError, Session, SessionOptions, Signal};
use mcp_sidecar::driver::wire::http::{self, HttpClient};
use mcp_sidecar::driver::wire::{Wire, stdio};
use mcp_sidecar::jsonrpc::Reply;
use mcp_sidecar::telemetry::Telemetry;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::net::unix::pipe;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::sidecar::fixture;

/// A fixture process; killed when dropped.
pub struct Process(Child);

impl Process {
    /// Starts the fixture with these flags.
    pub fn start(flags: &[&str]) -> Self {
        let mut command = Command::new(fixture());
        command.args(flags).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        Self(command.spawn().expect("the fixture starts"))
    }

    /// The wire to it.
    pub fn wire(&mut self) -> Wire {
        let stdin = pipe::Sender::from_owned_fd(self.0.stdin.take().expect("stdin is free").into()).expect("a pipe");
        let stdout =
            pipe::Receiver::from_owned_fd(self.0.stdout.take().expect("stdout is free").into()).expect("a pipe");
        stdio::open("fixture", stdout, stdin, Telemetry::default())
    }

    /// The first line on its stdout, for one that tells its address there.
    pub fn first_line(&mut self) -> String {
        let mut line = String::new();
        let stdout = self.0.stdout.take().expect("stdout is free");
        BufReader::new(stdout).read_line(&mut line).expect("a line of text");
        line.trim_end().to_owned()
    }

    /// Its pid.
    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        self.0.kill().expect("it can be killed");
        self.0.wait().expect("it ends");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Options for a test: patient but not for ever.
pub fn options() -> SessionOptions {
    SessionOptions {
        server: "fixture".to_owned(),
        protocol: ProtocolChoice::Auto,
        remembered: None,
        start: Duration::from_secs(20),
        list: Duration::from_secs(20),
        call: Duration::from_secs(20),
        call_max: Duration::from_secs(40),
        telemetry: Telemetry::default(),
    }
}

/// Opens a session; signals go to the channel that comes with it.
pub async fn open_with(wire: Wire, options: SessionOptions) -> Result<(Session, mpsc::Receiver<Signal>), OpenError> {
    let (sender, signals) = mpsc::channel(64);
    Session::open(wire, options, sender).await.map(|session| (session, signals))
}

/// A session with a fixture that has these flags, in the legacy era.
pub async fn legacy(flags: &[&str]) -> (Process, Session, mpsc::Receiver<Signal>) {
    let mut process = Process::start(flags);
    let options = SessionOptions { remembered: Some(Era::Legacy), ..options() };
    let (session, signals) = open_with(process.wire(), options).await.expect("a session");
    (process, session, signals)
}

/// Settings of an HTTP server without headers.
pub fn at(url: &str) -> HttpSettings {
    HttpSettings::new(url.parse().expect("a URL"), "(shown)".to_owned(), BTreeMap::new())
}

/// An HTTP client without proxies.
pub fn client() -> HttpClient {
    HttpClient::new(&ProxySettings::default()).expect("a client")
}

/// The wire to a Streamable HTTP server.
pub fn http_wire(url: &str) -> Wire {
    http::open("fixture", &at(url), &client(), Telemetry::default())
}

/// A fixture that serves HTTP, and its URL.
pub fn http_server(flags: &[&str]) -> (Process, String) {
    let mut process = Process::start(&[&["--http"], flags].concat());
    let url = process.first_line();
    (process, url)
}

/// A session with a fixture that serves HTTP with these flags.
pub async fn over_http(flags: &[&str]) -> (Process, Session, mpsc::Receiver<Signal>) {
    let (process, url) = http_server(flags);
    let (session, signals) = open_with(http_wire(&url), options()).await.expect("a session");
    (process, session, signals)
}

/// Calls a tool with arguments given as JSON text.
pub async fn call(session: &Session, tool: &str, arguments: &str) -> Result<Reply, CallError> {
    let arguments = RawValue::from_string(arguments.to_owned()).expect("JSON");
    session.call(tool, Some(&arguments), &Map::new(), None, &CancellationToken::new()).await
}

/// The text of a call's result.
pub fn text(reply: Result<Reply, CallError>) -> String {
    let Ok(Reply::Result(result)) = reply else { panic!("no result: {reply:?}") };
    let result: Value = serde_json::from_str(result.get()).expect("JSON");
    result["content"][0]["text"].as_str().expect("text").to_owned()
}

/// Lines of a fixture's journal that contain `what`.
pub fn journaled(journal: &Path, what: &str) -> usize {
    let text = std::fs::read_to_string(journal).expect("text");
    text.lines().filter(|line| line.contains(what)).count()
}

/// The definition of a tool as text.
pub fn definition<'a>(tools: &'a [UpstreamTool], name: &str) -> &'a str {
    tools.iter().find(|tool| tool.name == name).expect("the tool is there").definition.get()
}
