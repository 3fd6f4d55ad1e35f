//! Proof that the supervising loops turn. What `/livez` and systemd's watchdog look at.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How old a loop's last beat may be: ten times what it promised.
pub const LIMIT: Duration = Duration::from_secs(10);

/// All loops that promised to beat. Cheap to clone; all clones are the same.
#[derive(Clone, Debug)]
pub struct Heartbeats {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    base: Instant,
    limit: Duration,
    loops: Mutex<BTreeMap<u64, Loop>>,
    next_id: AtomicU64,
}

#[derive(Debug)]
struct Loop {
    name: String,
    beat: Arc<AtomicU64>,
}

/// One loop's promise to [`Heartbeat::beat`] at least every second. Dropping it withdraws the promise, unless a panic drops it:
/// that loop stays missing.
#[derive(Debug)]
pub struct Heartbeat {
    id: u64,
    beat: Arc<AtomicU64>,
    all: Heartbeats,
}

impl Heartbeats {
    /// No loop yet, and [`LIMIT`].
    #[must_use]
    pub fn new() -> Self {
        Self::with_limit(LIMIT)
    }

    /// No loop yet, and a last beat may be this old.
    #[must_use]
    pub fn with_limit(limit: Duration) -> Self {
        let inner = Inner { base: Instant::now(), limit, loops: Mutex::default(), next_id: AtomicU64::new(0) };
        Self { inner: Arc::new(inner) }
    }

    /// Adds a loop, which has just beaten. The name is for people.
    #[must_use]
    pub fn register(&self, name: impl Into<String>) -> Heartbeat {
        let beat = Arc::new(AtomicU64::new(self.millis(Instant::now())));
        let id = self.inner.next_id.fetch_add(1, Ordering::Relaxed);
        self.loops().insert(id, Loop { name: name.into(), beat: Arc::clone(&beat) });
        Heartbeat { id, beat, all: self.clone() }
    }

    /// The names of the loops whose last beat is older than the limit at `now`, in the order in which they were registered.
    #[must_use]
    pub fn stale(&self, now: Instant) -> Vec<String> {
        let now = self.millis(now);
        let limit = as_millis(self.inner.limit);
        let is_stale = |beat: &AtomicU64| now.saturating_sub(beat.load(Ordering::Relaxed)) > limit;
        self.loops().values().filter(|each| is_stale(&each.beat)).map(|each| each.name.clone()).collect()
    }

    fn loops(&self) -> MutexGuard<'_, BTreeMap<u64, Loop>> {
        self.inner.loops.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn millis(&self, at: Instant) -> u64 {
        as_millis(at.saturating_duration_since(self.inner.base))
    }
}

impl Default for Heartbeats {
    fn default() -> Self {
        Self::new()
    }
}

impl Heartbeat {
    /// The loop turned. Costs a clock reading and a store.
    pub fn beat(&self) {
        self.beat.store(self.all.millis(Instant::now()), Ordering::Relaxed);
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        if !thread::panicking() {
            self.all.loops().remove(&self.id);
        }
    }
}

fn as_millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_that_stands_still_is_named_and_one_that_turns_is_not() {
        let beats = Heartbeats::new();
        let _hangs = beats.register("supervisor github");
        let later = Instant::now() + LIMIT + Duration::from_secs(1);
        assert_eq!(beats.stale(Instant::now()), Vec::<String>::new());
        assert_eq!(beats.stale(later), ["supervisor github"]);

        let turns = beats.register("supervisor docs");
        turns.beat.store(beats.millis(later), Ordering::Relaxed);
        assert_eq!(beats.stale(later), ["supervisor github"]);
    }

    #[test]
    fn a_beat_makes_a_stale_loop_alive_again() {
        let beats = Heartbeats::new();
        let beat = beats.register("loop");
        beat.beat.store(0, Ordering::Relaxed);
        let now = beats.inner.base + LIMIT + Duration::from_secs(1);
        assert_eq!(beats.stale(now), ["loop"]);
        beat.beat();
        assert_eq!(beats.stale(Instant::now()), Vec::<String>::new());
    }

    #[test]
    fn a_loop_that_ended_is_not_missed_and_one_that_panicked_is() {
        let beats = Heartbeats::new();
        drop(beats.register("ended"));
        let panics = beats.register("panicked");
        thread::spawn(move || {
            let _held = panics;
            panic!("on purpose");
        })
        .join()
        .unwrap_err();
        assert_eq!(beats.stale(Instant::now() + 2 * LIMIT), ["panicked"]);
    }
}
