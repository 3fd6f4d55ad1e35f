//! Log lines on their way to a file that may not be read: a full pipe must never hold up a supervisor.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use tracing_subscriber::fmt::MakeWriter;

/// The producers' end. What doesn't fit is dropped, counted, and told as soon as there is room again.
#[derive(Clone, Debug)]
pub struct LineQueue {
    sender: SyncSender<Item>,
    dropped: Arc<AtomicU64>,
}

#[derive(Debug)]
enum Item {
    Line(Vec<u8>),
    /// Answered once everything before it is written.
    Flush(SyncSender<()>),
}

impl LineQueue {
    /// A queue whose lines a thread of its own writes to `out`. The thread ends with the last clone.
    pub fn start(out: impl Write + Send + 'static) -> io::Result<Self> {
        let (sender, receiver) = sync_channel(CAPACITY);
        let dropped = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&dropped);
        thread::Builder::new().name("log".to_owned()).spawn(move || drain(&receiver, &counter, out))?;
        Ok(Self { sender, dropped })
    }

    /// Waits until all lines so far are written, at most for `bound`. Returns whether they are.
    pub fn flush(&self, bound: Duration) -> bool {
        let deadline = Instant::now() + bound;
        let (done, written) = sync_channel(1);
        let mut item = Item::Flush(done);
        loop {
            item = match self.sender.try_send(item) {
                Ok(()) => return written.recv_timeout(deadline.saturating_duration_since(Instant::now())).is_ok(),
                Err(TrySendError::Full(item)) if Instant::now() < deadline => item,
                Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => return false,
            };
            thread::sleep(Duration::from_millis(1));
        }
    }
}

impl<'a> MakeWriter<'a> for LineQueue {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl Write for LineQueue {
    /// Takes one whole line: that is how `tracing_subscriber` writes.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.sender.try_send(Item::Line(line.to_vec())).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Lines that wait at most. A burst of everything a restart of many servers says fits.
const CAPACITY: usize = 1024;

/// Errors of `out` are ignored: there is nowhere to tell them.
fn drain(items: &Receiver<Item>, dropped: &AtomicU64, mut out: impl Write) {
    for item in items {
        match item {
            Item::Line(line) => {
                let _ = out.write_all(&line);
                let lost = dropped.swap(0, Ordering::Relaxed);
                if lost > 0 {
                    let _ = writeln!(out, "{lost} log lines dropped: they came faster than they could be written");
                }
            }
            Item::Flush(done) => {
                let _ = out.flush();
                let _ = done.try_send(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use super::*;

    /// Blocks each write until the test lets it through.
    struct Gate {
        open: Receiver<()>,
        written: Sender<String>,
    }

    impl Write for Gate {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.open.recv();
            let _ = self.written.send(String::from_utf8_lossy(bytes).into_owned());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_are_dropped_and_counted_while_nobody_reads_and_nothing_waits() {
        let (let_through, open) = channel();
        let (written, lines) = channel();
        let mut queue = LineQueue::start(Gate { open, written }).unwrap();
        let started = Instant::now();
        for number in 0..CAPACITY + 50 {
            queue.write_all(format!("{number}\n").as_bytes()).unwrap();
        }
        assert!(!LineQueue::flush(&queue, Duration::from_millis(20)), "nothing can be flushed into a blocked pipe");
        assert!(started.elapsed() < Duration::from_secs(5));

        drop(let_through);
        assert!(LineQueue::flush(&queue, Duration::from_secs(10)));
        let text: String = lines.try_iter().collect();
        assert!(text.starts_with("0\n"), "{}", text.escape_debug());
        // One line may have left the queue before it was full.
        assert!(text.contains("50 log lines dropped") || text.contains("49 log lines dropped"), "{}", text.len());
    }

    #[test]
    fn a_flush_returns_after_everything_before_it_is_written() {
        let (let_through, open) = channel();
        let (written, lines) = channel();
        let mut queue = LineQueue::start(Gate { open, written }).unwrap();
        queue.write_all(b"last words\n").unwrap();
        drop(let_through);
        assert!(LineQueue::flush(&queue, Duration::from_secs(10)));
        assert_eq!(lines.try_iter().collect::<String>(), "last words\n");
    }
}
