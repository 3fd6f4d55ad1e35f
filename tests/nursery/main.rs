//! A program around [`Nursery`] and nothing else, driven by JSON lines on stdin: `{"id", "op", …}`, answered on stdout with
//! the same id. A nursery owns every child of its process, so it needs one to itself.

#![expect(clippy::unwrap_used, reason = "a test program may stop where it finds itself broken")]

use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mcp_sidecar::config::settings::StdioSettings;
use mcp_sidecar::core::generation::Generation;
use mcp_sidecar::driver::child::{Child, Nursery, NurseryOptions, Pipes, Stdin, guardian, guardian_main};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe;

fn main() {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some(guardian::SUBCOMMAND) {
        std::process::exit(guardian_main(arguments).into());
    }
    let options = NurseryOptions { program: "/proc/self/exe".into(), telemetry: Default::default() };
    let host = Host { nursery: Nursery::open(options).unwrap(), servers: Arc::default() };
    let mut runtime = Some(tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap());
    for line in std::io::stdin().lock().lines() {
        let order: Value = serde_json::from_str(&line.unwrap()).unwrap();
        match order["op"].as_str().unwrap() {
            "exit" => std::process::exit(0),
            "end-runtime" => {
                runtime.take().unwrap().shutdown_timeout(Duration::from_secs(5));
                answer(&order, json!({}));
            }
            _ => drop(runtime.as_ref().unwrap().spawn(host.clone().obey(order))),
        }
    }
}

#[derive(Clone)]
struct Host {
    nursery: Nursery,
    servers: Arc<Mutex<HashMap<String, Server>>>,
}

struct Server {
    child: Child,
    pipes: Option<Pair>,
}

struct Pair {
    stdin: Stdin,
    stdout: BufReader<pipe::Receiver>,
}

impl Host {
    async fn obey(self, order: Value) {
        let name = order["server"].as_str().unwrap_or_default().to_owned();
        let result = match order["op"].as_str().unwrap() {
            "spawn" => self.spawn(&name, &order).await,
            "abandon" => {
                let limit = Duration::from_micros(order["micros"].as_u64().unwrap());
                let given_up = tokio::time::timeout(limit, self.spawn(&name, &order)).await.is_err();
                json!({"given_up": given_up})
            }
            "ask" => self.ask(&name, order["line"].as_str().unwrap()).await,
            "exited" => json!({"exit": self.child(&name).exited().await.to_string()}),
            "tail" => json!({"tail": self.child(&name).stderr_tail()}),
            "close" => self.close(&name, &order).await,
            "drop" => {
                self.servers.lock().unwrap().remove(&name);
                json!({})
            }
            "leftovers" => {
                let left = self.nursery.end_leftovers(millis(&order["bound"])).await;
                json!({"left": left.iter().map(|l| json!({"server": l.server, "pid": l.pid})).collect::<Vec<_>>()})
            }
            "shutdown" => json!({"left": self.nursery.shutdown().await}),
            other => panic!("unknown op {other}"),
        };
        answer(&order, result);
    }

    async fn spawn(&self, name: &str, order: &Value) -> Value {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let settings = StdioSettings {
            command: text(&order["command"]),
            args: order["args"].as_array().unwrap().iter().map(|argument| text(argument).into()).collect(),
            env: Default::default(),
            environment: [("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned().into())].into(),
            cwd: order["cwd"].as_str().map(PathBuf::from),
        };
        let generation = Generation::new(order["generation"].as_u64().unwrap_or(1));
        match self.nursery.spawn(name, generation, &settings).await {
            Ok((child, Pipes { stdin, stdout })) => {
                let pid = child.pid();
                let pipes = Some(Pair { stdin, stdout: BufReader::new(stdout) });
                self.servers.lock().unwrap().insert(name.to_owned(), Server { child, pipes });
                json!({"pid": pid})
            }
            Err(cause) => json!({"kind": cause.kind.label(), "detail": cause.detail}),
        }
    }

    async fn ask(&self, name: &str, line: &str) -> Value {
        let mut pipes = self.servers.lock().unwrap().get_mut(name).unwrap().pipes.take().unwrap();
        let sent = pipes.stdin.write_all(format!("{line}\n").as_bytes()).await;
        let mut reply = String::new();
        let read = pipes.stdout.read_line(&mut reply).await;
        self.servers.lock().unwrap().get_mut(name).unwrap().pipes = Some(pipes);
        json!({"line": reply, "ok": sent.is_ok() && read.is_ok_and(|length| length > 0)})
    }

    async fn close(&self, name: &str, order: &Value) -> Value {
        let child = self.child(name);
        self.servers.lock().unwrap().get_mut(name).unwrap().pipes = None;
        let begin = Instant::now();
        let proved = tokio::time::timeout(millis(&order["within"]), child.close(millis(&order["bound"]))).await.is_ok();
        json!({"proved": proved, "ms": u64::try_from(begin.elapsed().as_millis()).unwrap()})
    }

    fn child(&self, name: &str) -> Child {
        self.servers.lock().unwrap()[name].child.clone()
    }
}

fn millis(value: &Value) -> Duration {
    Duration::from_millis(value.as_u64().unwrap())
}

fn answer(order: &Value, mut result: Value) {
    result["id"] = order["id"].clone();
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{result}").unwrap();
    stdout.flush().unwrap();
}
