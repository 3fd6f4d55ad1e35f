//! The real binary, as a child process of the test.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use super::client::{Client, http_client};
use super::ports::free_port;
use super::procfs;
use super::wait::{wait_for, wait_until};

/// More than any start, stop or recovery of these tests takes on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// What will be started.
pub struct Builder {
    config: String,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
}

/// A running (or finished) sidecar. Dropping it kills it and all of its descendants.
pub struct Sidecar {
    child: Child,
    directory: tempfile::TempDir,
    mcp_port: u16,
    admin_port: u16,
    http: reqwest::Client,
}

/// The misbehaving MCP server.
pub fn fixture() -> PathBuf {
    let path = Path::new(env!("CARGO_BIN_EXE_mcp-sidecar")).with_file_name("examples").join("fixture");
    assert!(path.exists(), "{} is missing: cargo build --example fixture", path.display());
    path
}

impl Builder {
    /// A command-line argument after `run`.
    pub fn argument(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// An environment variable of the sidecar.
    pub fn environment(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.environment.push((key.into(), value.into()));
        self
    }

    /// Starts it and waits until both listeners answer.
    pub async fn start(self) -> Sidecar {
        let mut sidecar = self.spawn();
        wait_until("the sidecar is up", PATIENCE, async || {
            if let Some(status) = sidecar.child.try_wait().expect("the child can be waited for") {
                panic!("the sidecar ended with {status} before it was up:\n{}", sidecar.log());
            }
            sidecar.admin("/livez").await.is_some()
        })
        .await;
        sidecar
    }

    /// Starts it and waits for nothing: for a sidecar that is expected to fail.
    pub fn spawn(self) -> Sidecar {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let (mcp_port, admin_port) = (free_port(), free_port());
        let config = directory.path().join("sidecar.toml");
        std::fs::write(&config, &self.config).expect("the configuration is written");
        let log = std::fs::File::create(directory.path().join("log")).expect("a log file");
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-sidecar"));
        command.arg("run").arg("--config").arg(&config);
        command.arg("--listen").arg(format!("127.0.0.1:{mcp_port}"));
        command.arg("--admin").arg(format!("127.0.0.1:{admin_port}"));
        command.args(&self.arguments).envs(self.environment.iter().map(|(key, value)| (key, value)));
        command.stdin(Stdio::null()).stdout(log.try_clone().expect("a second handle")).stderr(log);
        let child = command.spawn().expect("the binary starts");
        Sidecar { child, directory, mcp_port, admin_port, http: http_client() }
    }
}

impl Sidecar {
    /// A sidecar with this TOML configuration, on ports of its own.
    pub fn with(config: impl Into<String>) -> Builder {
        Builder { config: config.into(), arguments: Vec::new(), environment: Vec::new() }
    }

    /// Its process id.
    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("a pid")
    }

    /// A directory of its own that goes away with it; the configuration is `sidecar.toml` in it.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Where clients connect.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.mcp_port)
    }

    /// An address on the admin listener.
    pub fn admin_url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.admin_port)
    }

    /// A connected client of the era up to 2025-11-25.
    pub async fn client(&self) -> Client {
        Client::legacy(&self.url()).await
    }

    /// HTTP status and body of a path of the admin listener; `None` if nobody answers.
    pub async fn admin(&self, path: &str) -> Option<(u16, String)> {
        let response = self.http.get(self.admin_url(path)).timeout(PATIENCE).send().await.ok()?;
        let status = response.status().as_u16();
        Some((status, response.text().await.ok()?))
    }

    /// Waits until each required server's first connect finished, well or badly.
    pub async fn startup_finished(&self) {
        wait_until("start-up is finished", PATIENCE, async || {
            self.admin("/startupz").await.is_some_and(|(status, _)| status == 200)
        })
        .await;
    }

    /// `/status`.
    pub async fn status(&self) -> Value {
        let (_, body) = self.admin("/status").await.unwrap_or_else(|| panic!("no /status\n{}", self.log()));
        serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error} in /status: {body}"))
    }

    /// What `/status` says about one server.
    pub async fn server(&self, name: &str) -> Value {
        let status = self.status().await;
        let servers = status["servers"].as_array().unwrap_or_else(|| panic!("no servers: {status}"));
        servers.iter().find(|server| server["name"] == name).unwrap_or_else(|| panic!("no {name}: {status}")).clone()
    }

    /// Waits until `/status` shows a server in this state; returns what it shows.
    pub async fn wait_for_state(&self, name: &str, state: &str) -> Value {
        self.wait_for_server(name, &format!("in state {state}"), |server| server["state"] == state).await
    }

    /// Waits until `/status` shows a server that is as `condition` says; returns what it shows.
    pub async fn wait_for_server(&self, name: &str, what: &str, condition: impl Fn(&Value) -> bool) -> Value {
        wait_for(&format!("server {name} is {what}\n{}", self.log()), PATIENCE, async || {
            let server = self.server(name).await;
            condition(&server).then_some(server)
        })
        .await
    }

    /// The value of a series of `/metrics`, written as there (`name{label="value"}`).
    pub async fn metric(&self, series: &str) -> Option<f64> {
        let (_, text) = self.admin("/metrics").await?;
        let line = text.lines().find(|line| line.strip_prefix(series).is_some_and(|rest| rest.starts_with(' ')))?;
        line.rsplit_once(' ')?.1.parse().ok()
    }

    /// Everything it wrote to stdout and stderr so far.
    pub fn log(&self) -> String {
        let bytes = std::fs::read(self.directory.path().join("log")).expect("the log is readable");
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        procfs::signal(self.pid(), signal);
    }

    /// Waits for its end; panics after `deadline`.
    pub async fn wait_exit(&mut self, deadline: Duration) -> ExitStatus {
        let log = self.directory.path().join("log");
        let child = &mut self.child;
        let until = std::time::Instant::now() + deadline;
        loop {
            if let Some(status) = child.try_wait().expect("the child can be waited for") {
                return status;
            }
            let text = || std::fs::read_to_string(&log).unwrap_or_default();
            assert!(std::time::Instant::now() < until, "still running after {deadline:?}\n{}", text());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Stops it gracefully and returns its exit code.
    pub async fn stop(&mut self) -> Option<i32> {
        self.signal(Signal::TERM);
        self.wait_exit(Duration::from_secs(30)).await.code()
    }
}

impl Drop for Sidecar {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- log of sidecar {} ---\n{}", self.child.id(), self.log());
        }
        if matches!(self.child.try_wait(), Ok(None)) {
            let family = procfs::descendants(self.pid());
            let _ = self.child.kill();
            for process in family {
                procfs::signal(process.pid, Signal::KILL);
            }
        }
        let _ = self.child.wait();
    }
}
