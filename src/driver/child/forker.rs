//! Threads that fork, and that live as long as the process: a child's parent-death signal fires when the THREAD that
//! forked it ends, so neither a tokio worker nor a `spawn_blocking` thread may do it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::{io, thread};

type Job = Box<dyn FnOnce() + Send>;

/// Runs jobs on threads that never end. There is one thread, and another one whenever all are busy: an `exec` that hangs
/// on a dead file system delays no other server.
#[derive(Clone)]
pub struct Forker {
    jobs: mpsc::Sender<Job>,
    crew: Arc<Crew>,
}

struct Crew {
    queue: Mutex<mpsc::Receiver<Job>>,
    threads: AtomicUsize,
    /// Jobs queued or running.
    unfinished: AtomicUsize,
}

impl Forker {
    /// Starts the first thread.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start() -> io::Result<Self> {
        let (jobs, queue) = mpsc::channel();
        let crew =
            Arc::new(Crew { queue: Mutex::new(queue), threads: AtomicUsize::new(0), unfinished: AtomicUsize::new(0) });
        crew.enlarge()?;
        Ok(Self { jobs, crew })
    }

    /// Runs a job soon.
    pub fn run(&self, job: impl FnOnce() + Send + 'static) {
        let unfinished = self.crew.unfinished.fetch_add(1, Ordering::SeqCst) + 1;
        if unfinished > self.crew.threads.load(Ordering::SeqCst) {
            // Without another thread the job waits for one of those there are.
            let _ = self.crew.enlarge();
        }
        // The crew holds the receiver for good.
        let _ = self.jobs.send(Box::new(job));
    }
}

impl Crew {
    fn enlarge(self: &Arc<Self>) -> io::Result<()> {
        let crew = self.clone();
        thread::Builder::new().name("forker".to_owned()).stack_size(256 << 10).spawn(move || crew.work())?;
        self.threads.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    fn work(&self) {
        loop {
            let job = self.queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
            match job {
                // A panic must not end the thread: that would kill its children.
                Ok(job) => drop(std::panic::catch_unwind(std::panic::AssertUnwindSafe(job))),
                // The program is going down; the thread stays, so that its children do.
                Err(mpsc::RecvError) => thread::park(),
            }
            self.unfinished.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_hangs_or_panics_delays_no_other() {
        let forker = Forker::start().unwrap();
        let (release, held) = mpsc::channel::<()>();
        forker.run(move || held.recv().unwrap_or_default());
        forker.run(|| panic!("contained"));
        let (sender, done) = mpsc::channel();
        for number in 0..3 {
            let sender = sender.clone();
            forker.run(move || sender.send(number).unwrap());
        }
        let mut finished: Vec<u32> = done.iter().take(3).collect();
        finished.sort_unstable();
        assert_eq!(finished, [0, 1, 2]);
        drop(release);
    }
}
