//! A nursery in a process of its own (`tests/nursery`): it owns every child of its process, so a test can't host it.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::procfs::{self, Process};
use super::sidecar::{PATIENCE, fixture};
use super::wait::wait_until;

/// A running host. Dropping it kills it, and whatever of its servers is left.
pub struct Host {
    process: Child,
    stdin: ChildStdin,
    answers: mpsc::UnboundedReceiver<Value>,
    last_id: u64,
    tag: String,
    /// What servers are started from.
    pub fixture: PathBuf,
}

/// The program.
pub fn program() -> PathBuf {
    fixture().with_file_name("nursery")
}

impl Host {
    /// Starts one.
    pub fn start() -> Self {
        Self::start_by(&mut Command::new(program()))
    }

    /// Starts one by a command that ends up executing it.
    pub fn start_by(command: &mut Command) -> Self {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let tag = format!("tag-{}-{}", std::process::id(), STARTED.fetch_add(1, Ordering::Relaxed));
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the host starts");
        let stdin = process.stdin.take().expect("a pipe");
        let stdout = BufReader::new(process.stdout.take().expect("a pipe"));
        let (sender, answers) = mpsc::unbounded_channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let _ = sender.send(serde_json::from_str(&line).expect("an answer"));
            }
        });
        Self { process, stdin, answers, last_id: 0, tag, fixture: fixture() }
    }

    /// Its process id; of the command it was started by, as long as that is an `exec` of it.
    pub fn pid(&self) -> i32 {
        self.process.id().cast_signed()
    }

    /// One order, one answer.
    pub async fn ask(&mut self, order: Value) -> Value {
        self.ask_all(vec![order]).await.remove(0)
    }

    /// Orders carried out at the same time; their answers in the same order.
    pub async fn ask_all(&mut self, orders: Vec<Value>) -> Vec<Value> {
        let first = self.last_id + 1;
        for mut order in orders {
            self.last_id += 1;
            order["id"] = json!(self.last_id);
            writeln!(self.stdin, "{order}").expect("the host listens");
        }
        let mut answers = HashMap::new();
        while !(first..=self.last_id).all(|id| answers.contains_key(&id)) {
            let answer = tokio::time::timeout(PATIENCE, self.answers.recv()).await;
            let answer = answer.expect("the host answers in time").expect("the host lives");
            answers.insert(answer["id"].as_u64().expect("an id"), answer);
        }
        (first..=self.last_id).map(|id| answers.remove(&id).expect("all are there")).collect()
    }

    /// An order that has no answer.
    pub fn tell(&mut self, order: &Value) {
        writeln!(self.stdin, "{order}").expect("the host listens");
    }

    /// Starts a fixture, findable by [`Host::family`]. Its process id.
    pub async fn spawn(&mut self, server: &str, arguments: &[&str]) -> i32 {
        let order = self.order(server, arguments);
        pid_in(&self.ask(order).await)
    }

    /// Starts a fixture by a shell script that names it `$FIXTURE`.
    pub async fn spawn_script(&mut self, server: &str, script: &str) -> i32 {
        let fixture = format!("{} --name {}", self.fixture.display(), self.tag);
        let script = script.replace("$FIXTURE", &fixture);
        let order = json!({"op": "spawn", "server": server, "command": "sh", "args": ["-c", script]});
        pid_in(&self.ask(order).await)
    }

    /// The order to start a fixture.
    pub fn order(&self, server: &str, arguments: &[&str]) -> Value {
        let arguments: Vec<&str> = ["--name", &self.tag].into_iter().chain(arguments.iter().copied()).collect();
        json!({"op": "spawn", "server": server, "command": self.fixture.to_str(), "args": arguments})
    }

    /// Calls a tool of a fixture; the text of its result.
    pub async fn call(&mut self, server: &str, tool: &str) -> String {
        let line = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool}}).to_string();
        let answer = self.ask(json!({"op": "ask", "server": server, "line": line})).await;
        let reply: Value = serde_json::from_str(answer["line"].as_str().expect("a line")).expect("a message");
        reply["result"]["content"][0]["text"].as_str().expect("a text").to_owned()
    }

    /// Closes a server: whether its end was proved in time, and how long that took.
    pub async fn close(&mut self, server: &str, bound: Duration, within: Duration) -> (bool, Duration) {
        let answer = self.ask(close_order(server, bound, within)).await;
        (answer["proved"] == json!(true), Duration::from_millis(answer["ms"].as_u64().expect("a number")))
    }

    /// How a server's process ended, and what it said last.
    pub async fn last_words(&mut self, server: &str) -> (String, String) {
        let exit = self.ask(json!({"op": "exited", "server": server})).await;
        let tail = self.ask(json!({"op": "tail", "server": server})).await;
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        (text(&exit["exit"]), text(&tail["tail"]))
    }

    /// Everything that still runs of the fixtures this host started, wherever it hides.
    pub fn family(&self) -> Vec<Process> {
        procfs::living_with_argument(&self.tag)
    }

    /// Waits until nothing of it is left.
    pub async fn wait_for_no_family(&self, deadline: Duration) {
        wait_until("no process is left", deadline, async || self.family().is_empty()).await;
    }

    /// The guardian, if it runs.
    pub fn guardian(&self) -> Option<i32> {
        let guardians = procfs::living_with_argument("__guardian");
        guardians.iter().find(|process| process.parent == self.pid()).map(|process| process.pid)
    }

    /// Kills the host, and waits for its end only.
    pub fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.kill();
        for survivor in self.family() {
            procfs::signal(survivor.pid, Signal::KILL);
        }
    }
}

/// The order to close a server.
pub fn close_order(server: &str, bound: Duration, within: Duration) -> Value {
    json!({"op": "close", "server": server, "bound": millis(bound), "within": millis(within)})
}

/// Whether this test may do what only root can; says so where it may not.
pub fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        eprintln!("skipped: needs root");
    }
    root
}

/// A copy of a program, readable by everyone.
pub fn copy_for_everyone(program: &Path, directory: &Path, mode: u32) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let copy = directory.join(program.file_name().expect("a name"));
    std::fs::copy(program, &copy).expect("a copy");
    std::fs::set_permissions(directory, PermissionsExt::from_mode(0o755)).expect("our directory");
    std::fs::set_permissions(&copy, PermissionsExt::from_mode(mode)).expect("our file");
    copy
}

fn pid_in(answer: &Value) -> i32 {
    let pid = answer["pid"].as_i64().unwrap_or_else(|| panic!("not started: {answer}"));
    i32::try_from(pid).expect("a process id")
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).expect("short")
}
