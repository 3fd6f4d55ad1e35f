//! A real sidecar: this binary once more, as a child process.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use serde::Deserialize;

use super::stage::{Stage, Trouble, insist};
use crate::exit;

/// More than starting or stopping a sidecar takes on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// The ports that a sidecar has by default.
pub const USUAL_PORTS: (u16, u16) = (9900, 9901);

const TRIES: u32 = 5;

/// How many of its last log lines are kept, in case the demo has to say what it saw.
const LOG_LINES: usize = 40;

/// A running sidecar. Killed when dropped, its servers with it.
#[derive(Debug)]
pub struct Sidecar {
    child: Child,
    http: reqwest::Client,
    log: Arc<Mutex<VecDeque<String>>>,
    mcp_port: u16,
    admin_port: u16,
}

/// What `/status` says about one server.
#[derive(Clone, Debug, Deserialize)]
pub struct ServerStatus {
    name: String,
    /// `established`, `waiting`, …
    pub state: String,
    /// Of the current connection.
    pub generation: u64,
    /// Of the child.
    pub pid: Option<i32>,
    /// Spent of the budget.
    pub attempts: u32,
    /// The budget.
    pub max_attempts: u32,
    /// Until the next attempt.
    pub next_attempt_in_ms: Option<u64>,
    last_error: Option<LastError>,
}

impl ServerStatus {
    /// The last failure or ending, in words.
    pub fn last_error(&self) -> &str {
        self.last_error.as_ref().map_or("no cause given", |error| &error.detail)
    }
}

#[derive(Clone, Debug, Deserialize)]
struct LastError {
    detail: String,
}

#[derive(Deserialize)]
struct Status {
    process: ProcessStatus,
    servers: Vec<ServerStatus>,
}

#[derive(Deserialize)]
struct ProcessStatus {
    pid: u32,
}

impl Sidecar {
    /// Starts one with these settings (`key.path=value`) on two ports of 127.0.0.1, `preferred` if they are free, and
    /// waits until it answers.
    ///
    /// # Errors
    /// When the process can't be started or ends at once.
    pub async fn start(
        stage: &Stage,
        http: &reqwest::Client,
        preferred: Option<(u16, u16)>,
        settings: &[String],
    ) -> Result<Self, Trouble> {
        let mut ports = preferred.filter(|(mcp, admin)| is_free(*mcp) && is_free(*admin));
        // Free ports may be taken until the sidecar gets there; then it ends with 69.
        for _ in 0..TRIES {
            let mut sidecar = Self::spawn(http.clone(), ports.take().map_or_else(free_ports, Ok)?, settings)?;
            let ended = stage
                .wait_for("the sidecar answers", PATIENCE, async || {
                    if let Some(status) = sidecar.exited()? {
                        return Ok(Some(Some(status)));
                    }
                    let pid = sidecar.status().await?.map(|status| status.process.pid);
                    Ok((pid == Some(sidecar.pid())).then_some(None))
                })
                .await?;
            match ended {
                None => return Ok(sidecar),
                Some(status) if status.code() == Some(i32::from(exit::UNAVAILABLE)) => {}
                Some(status) => return Err(Trouble::unexpected(sidecar.with_log(&format!("it ended with {status}")))),
            }
        }
        Err(Trouble::unexpected(format!("{TRIES} pairs of free ports were taken before the sidecar got there")))
    }

    fn spawn(http: reqwest::Client, ports: (u16, u16), settings: &[String]) -> Result<Self, Trouble> {
        let (mcp_port, admin_port) = ports;
        let mut command = Command::new(this_binary()?);
        command.arg("run").arg("--listen").arg(format!("127.0.0.1:{mcp_port}"));
        command.arg("--admin").arg(format!("127.0.0.1:{admin_port}"));
        for setting in settings {
            command.arg("--set").arg(setting);
        }
        // Whatever is set for the user's own sidecar is not meant for this one; and Ctrl-C goes to the demo, which
        // stops it properly.
        command.env_clear().process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| Trouble::unexpected(format!("starting a sidecar: {error}")))?;
        let log = Arc::new(Mutex::new(VecDeque::new()));
        if let Some(stderr) = child.stderr.take() {
            keep_log(stderr, Arc::clone(&log));
        }
        Ok(Self { child, http, log, mcp_port, admin_port })
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Where agents connect.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.mcp_port)
    }

    /// Where it says how it is.
    pub fn status_url(&self) -> String {
        format!("http://127.0.0.1:{}/status", self.admin_port)
    }

    /// What it says about one server; `None` while its listener is not up or no longer is.
    ///
    /// # Errors
    /// When the answer can't be read.
    pub async fn server(&self, name: &str) -> Result<Option<ServerStatus>, Trouble> {
        let status = self.status().await?;
        Ok(status.and_then(|status| status.servers.into_iter().find(|server| server.name == name)))
    }

    async fn status(&self) -> Result<Option<Status>, Trouble> {
        let Ok(response) = self.http.get(self.status_url()).timeout(PATIENCE).send().await else { return Ok(None) };
        let Ok(body) = response.text().await else { return Ok(None) };
        let status = serde_json::from_str(&body);
        status.map(Some).map_err(|error| Trouble::unexpected(format!("/status: {error} in {body}")))
    }

    /// Waits until a server is in this state.
    ///
    /// # Errors
    /// When it isn't in time, or the sidecar ended.
    pub async fn wait_for_state(&mut self, stage: &Stage, name: &str, state: &str) -> Result<ServerStatus, Trouble> {
        let what = format!("server {name} is {state}");
        stage
            .wait_for(&what, PATIENCE, async || {
                if let Some(status) = self.exited()? {
                    return Err(Trouble::unexpected(format!("the sidecar ended: {status}")));
                }
                Ok(self.server(name).await?.filter(|server| server.state == state))
            })
            .await
    }

    /// How it ended, if it did.
    ///
    /// # Errors
    /// When the process can't be waited for.
    pub fn exited(&mut self) -> Result<Option<ExitStatus>, Trouble> {
        self.child.try_wait().map_err(|error| Trouble::unexpected(format!("waiting for a sidecar: {error}")))
    }

    /// Stops it gracefully; returns how it ended.
    ///
    /// # Errors
    /// When it doesn't end in time.
    pub async fn stop(&mut self) -> Result<ExitStatus, Trouble> {
        let _ = rustix::process::kill_process(Pid::from_child(&self.child), Signal::TERM);
        insist("the sidecar stops", PATIENCE, async || self.exited()).await
    }

    /// `what`, and its last log lines as evidence.
    pub fn with_log(&self, what: &str) -> String {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let lines: String = log.iter().map(|line| format!("\n  {line}")).collect();
        format!("{what}\nlast log lines of sidecar {}:{lines}", self.pid())
    }
}

impl Drop for Sidecar {
    fn drop(&mut self) {
        // Both fail where it already ended, which is what is wanted. Its guardian ends its servers.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The settings (`key.path=value`) of a server called `name` that this binary plays.
///
/// # Errors
/// When this binary doesn't know where it is.
pub fn server_settings(name: &str, flags: &[&str]) -> Result<Vec<String>, Trouble> {
    let binary = this_binary()?;
    // A JSON string is a TOML string, and so is the array.
    let arguments = serde_json::json!([&["__demo-server"], flags].concat());
    Ok(vec![
        format!("servers.{name}.command={}", serde_json::json!(binary.to_string_lossy())),
        format!("servers.{name}.args={arguments}"),
    ])
}

fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

fn free_ports() -> Result<(u16, u16), Trouble> {
    let listen = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let ports = || -> std::io::Result<(u16, u16)> {
        let (one, other) = (listen()?, listen()?);
        Ok((one.local_addr()?.port(), other.local_addr()?.port()))
    };
    ports().map_err(|error| Trouble::unexpected(format!("no free port: {error}")))
}

fn this_binary() -> Result<std::path::PathBuf, Trouble> {
    std::env::current_exe().map_err(|error| Trouble::unexpected(format!("where am I? {error}")))
}

fn keep_log(stderr: ChildStderr, log: Arc<Mutex<VecDeque<String>>>) {
    // A thread, because it reads a blocking pipe; it ends with the pipe.
    std::thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
            if log.len() == LOG_LINES {
                log.pop_front();
            }
            log.push_back(line);
        }
    });
}
