//! Re-syncs after `list_changed`: at most one running and one pending, however many notifications come.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::live::Live;
use super::target::Message;
use crate::telemetry::Telemetry;
use crate::telemetry::note::Note;

/// Rest between two listings of one server: a server that announces changes all the time is not listed all the time.
const REST: Duration = Duration::from_millis(250);
/// Pause before a failed re-sync is tried again.
const RETRY_PAUSE: Duration = Duration::from_secs(5);
/// How often a failed re-sync is tried again before the next announcement has to ask for it.
const RETRIES: u32 = 3;

/// The queue of one target.
#[derive(Debug)]
pub struct SyncQueue {
    inbox: mpsc::UnboundedSender<Message>,
    telemetry: Telemetry,
    current: Option<Worker>,
}

/// The worker of one generation.
#[derive(Debug)]
struct Worker {
    /// Set while a listing is asked for that has not begun.
    pending: Arc<AtomicBool>,
    running: Arc<AtomicBool>,
    cancel: CancellationToken,
}

impl SyncQueue {
    /// A queue whose results go to `inbox`.
    #[must_use]
    pub fn new(inbox: mpsc::UnboundedSender<Message>, telemetry: Telemetry) -> Self {
        Self { inbox, telemetry, current: None }
    }

    /// Asks for a listing. Requests that come while one is pending are the same request.
    pub fn request(&mut self, live: Arc<Live>) {
        let worker = self.current.get_or_insert_with(|| Worker {
            pending: Arc::default(),
            running: Arc::default(),
            cancel: CancellationToken::new(),
        });
        worker.pending.store(true, Ordering::SeqCst);
        if !worker.running.swap(true, Ordering::SeqCst) {
            let job = Job {
                live,
                pending: Arc::clone(&worker.pending),
                running: Arc::clone(&worker.running),
                inbox: self.inbox.clone(),
                telemetry: self.telemetry.clone(),
            };
            let cancel = worker.cancel.clone();
            tokio::spawn(async move { cancel.run_until_cancelled_owned(job.work()).await });
        }
    }

    /// The generation is over: what runs for it is dropped, what it asked for is forgotten.
    pub fn cancel(&mut self) {
        if let Some(worker) = self.current.take() {
            worker.cancel.cancel();
        }
    }
}

struct Job {
    live: Arc<Live>,
    pending: Arc<AtomicBool>,
    running: Arc<AtomicBool>,
    inbox: mpsc::UnboundedSender<Message>,
    telemetry: Telemetry,
}

impl Job {
    async fn work(self) {
        loop {
            while self.pending.swap(false, Ordering::SeqCst) {
                self.list().await;
                tokio::time::sleep(REST).await;
            }
            self.running.store(false, Ordering::SeqCst);
            // A request between the last look and the line above found `running` set and left the work to us.
            if !self.pending.load(Ordering::SeqCst) || self.running.swap(true, Ordering::SeqCst) {
                return;
            }
        }
    }

    async fn list(&self) {
        for retry in 0..=RETRIES {
            let started = Instant::now();
            match self.live.session.list_tools().await {
                Ok(tools) => {
                    let (generation, took) = (self.live.generation, started.elapsed());
                    let _ = self.inbox.send(Message::Synced { generation, tools, took });
                    return;
                }
                Err(cause) => {
                    let (server, generation) = (self.live.server.to_string(), self.live.generation);
                    self.telemetry.note(&Note::SyncFailed { server, generation, cause });
                }
            }
            if retry < RETRIES {
                tokio::time::sleep(RETRY_PAUSE).await;
            }
        }
    }
}
