//! One way to make a call, measured: alone for latency, many at once for throughput.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::http::{Connection, Era};
use crate::stdio::FixtureOverStdio;

/// How much is measured.
pub struct Plan {
    /// Rounds over all series.
    pub rounds: usize,
    /// Calls in a row, per round.
    pub sequential: usize,
    /// Calls at each concurrency, per round.
    pub concurrent: usize,
    /// Whether latency and memory are judged, which says something only about a release build.
    pub judge: bool,
}

impl Plan {
    /// What the bounds are judged on.
    pub const FULL: Self = Self { rounds: 3, sequential: 2_000, concurrent: 10_000, judge: true };
    /// Whether all of it still works.
    pub const SMOKE: Self = Self { rounds: 1, sequential: 100, concurrent: 500, judge: false };
}

/// How the call is made.
pub enum Caller {
    /// Over the server's pipes.
    Stdio(FixtureOverStdio),
    /// Over HTTP.
    Http { url: String, era: Era, tool: &'static str },
}

/// One way to make the call, and what was measured of it.
pub struct Series {
    pub name: &'static str,
    caller: Caller,
    latencies: Vec<Duration>,
    /// Calls per second at 16 and at 64, of each round.
    throughput: [Vec<f64>; 2],
    /// Calls without their one right answer.
    pub lost: u64,
}

/// How many calls are under way when throughput is measured.
pub const CONCURRENCY: [usize; 2] = [16, 64];

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

impl Series {
    pub fn new(name: &'static str, caller: Caller) -> Self {
        Self { name, caller, latencies: Vec::new(), throughput: [Vec::new(), Vec::new()], lost: 0 }
    }

    /// One round.
    pub async fn measure(&mut self, plan: &Plan) {
        self.alone(plan.sequential / 10).await; // warm-up
        let latencies = self.alone(plan.sequential).await;
        self.latencies.extend(latencies);
        for (at, width) in CONCURRENCY.into_iter().enumerate() {
            let took = self.at_once(width, plan.concurrent / width).await;
            let calls = (plan.concurrent / width * width) as f64;
            self.throughput[at].push(calls / took.as_secs_f64());
        }
    }

    /// The latency that this share of the calls does not exceed.
    pub fn percentile(&self, share: f64) -> Duration {
        let mut sorted = self.latencies.clone();
        sorted.sort_unstable();
        let at = ((sorted.len() as f64 * share).ceil() as usize).clamp(1, sorted.len());
        sorted[at - 1]
    }

    /// Calls per second at 16 and at 64: the middle round.
    pub fn calls_per_second(&self) -> [f64; 2] {
        let middle = |rounds: &Vec<f64>| {
            let mut sorted = rounds.clone();
            sorted.sort_unstable_by(f64::total_cmp);
            sorted[sorted.len() / 2]
        };
        [middle(&self.throughput[0]), middle(&self.throughput[1])]
    }

    async fn alone(&mut self, calls: usize) -> Vec<Duration> {
        let mut taken = Vec::with_capacity(calls);
        let mut connection = match &self.caller {
            Caller::Stdio(_) => None,
            Caller::Http { url, era, .. } => Some(Connection::open(url, *era).await),
        };
        for _ in 0..calls {
            let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
            let text = text_of(id);
            let began = Instant::now();
            let right = match (&self.caller, &mut connection) {
                (Caller::Stdio(server), _) => server.echo(id, &text).await,
                (Caller::Http { tool, .. }, Some(connection)) => connection.echo(tool, id, &text).await,
                (Caller::Http { .. }, None) => false,
            };
            taken.push(began.elapsed());
            self.lost += u64::from(!right);
        }
        taken
    }

    /// `width` callers, each `calls` times; how long all of them took.
    async fn at_once(&mut self, width: usize, calls: usize) -> Duration {
        let lost = Arc::new(AtomicU64::new(0));
        let took = match &self.caller {
            Caller::Stdio(server) => {
                let began = Instant::now();
                let callers = (0..width).map(|_| async {
                    for _ in 0..calls {
                        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
                        let right = server.echo(id, &text_of(id)).await;
                        lost.fetch_add(u64::from(!right), Ordering::Relaxed);
                    }
                });
                futures_util::future::join_all(callers).await;
                began.elapsed()
            }
            Caller::Http { url, era, tool } => {
                let (era, tool) = (*era, *tool);
                let mut connections = Vec::with_capacity(width);
                for _ in 0..width {
                    connections.push(Connection::open(url, era).await);
                }
                let began = Instant::now();
                let callers = connections.into_iter().map(|mut connection| {
                    let lost = Arc::clone(&lost);
                    tokio::spawn(async move {
                        for _ in 0..calls {
                            let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
                            let right = connection.echo(tool, id, &text_of(id)).await;
                            lost.fetch_add(u64::from(!right), Ordering::Relaxed);
                        }
                    })
                });
                for caller in callers.collect::<Vec<_>>() {
                    caller.await.expect("a caller finishes");
                }
                began.elapsed()
            }
        };
        self.lost += lost.load(Ordering::Relaxed);
        took
    }
}

/// The `tools/call` of `echo` under this name; `meta` is more of its `params`.
pub fn call(id: u64, tool: &str, text: &str, meta: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"text":"{text}"}}{meta}}}}}"#
    )
}

/// Whether this is the answer to the call, and no error. `text` has the id in it, so no other answer looks like it.
pub fn is_answer(body: &[u8], id: u64, text: &str) -> bool {
    let body = std::str::from_utf8(body).unwrap_or_default();
    body.contains(&format!("\"id\":{id}"))
        && body.contains(&format!("\"text\":\"{text}\""))
        && body.contains("\"result\"")
}

/// About 100 bytes that no other call has.
fn text_of(id: u64) -> String {
    format!("{id:0>100}")
}
