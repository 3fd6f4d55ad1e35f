//! Staying up for a moment after exhaustion: a counter that rises right before the exit is seen by nobody.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

/// When `/metrics` was scraped. Cheap to clone; all clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Scrapes {
    history: Arc<Mutex<History>>,
    /// How many there were; wakes whoever lingers.
    count: Arc<watch::Sender<u64>>,
}

/// What has to be remembered of the scrapes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct History {
    last: Option<Instant>,
    /// The youngest pauses between two scrapes.
    pauses: VecDeque<Duration>,
    /// Scrapes since the linger began.
    since_exhaustion: u32,
    lingers: bool,
}

/// What to do at some moment of the linger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// Stay up until then, or until the next scrape.
    StayUntil(Instant),
    /// Whoever wants to see it has seen it, or will not come.
    Leave,
}

impl Scrapes {
    /// `/metrics` is being scraped.
    pub fn observe(&self) {
        let now = Instant::now();
        self.history().observe(now);
        self.count.send_modify(|count| *count += 1);
    }

    fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits, listeners up, until exhaustion has had its chance to be scraped: two scrapes, or twice the scrape interval that was
/// observed so far, at most `bound`; not at all if nobody ever scraped. `signalled` ends it at once.
pub async fn linger(scrapes: &Scrapes, bound: Duration, signalled: impl Future<Output = ()>) {
    let exhausted_at = Instant::now();
    let mut count = scrapes.count.subscribe();
    scrapes.history().begin_linger();
    tokio::pin!(signalled);
    loop {
        let verdict = scrapes.history().judge(exhausted_at, bound, Instant::now());
        let Verdict::StayUntil(deadline) = verdict else { return };
        tokio::select! {
            () = &mut signalled => return,
            () = tokio::time::sleep_until(deadline.into()) => {}
            // Fails only without a sender, and `scrapes` is one.
            _ = count.changed() => {}
        }
    }
}

impl History {
    fn observe(&mut self, now: Instant) {
        if let Some(last) = self.last.replace(now) {
            self.pauses.push_back(now.saturating_duration_since(last));
            if self.pauses.len() > PAUSES {
                self.pauses.pop_front();
            }
        }
        if self.lingers {
            self.since_exhaustion += 1;
        }
    }

    fn begin_linger(&mut self) {
        self.lingers = true;
        self.since_exhaustion = 0;
    }

    fn judge(&self, exhausted_at: Instant, bound: Duration, now: Instant) -> Verdict {
        if self.last.is_none() || self.since_exhaustion >= ENOUGH {
            return Verdict::Leave;
        }
        // Without an observed interval, because there was one scrape only, the bound alone counts.
        let patience = self.interval().map_or(bound, |interval| bound.min(2 * interval));
        let deadline = exhausted_at + patience;
        if now >= deadline { Verdict::Leave } else { Verdict::StayUntil(deadline) }
    }

    /// The longest of the youngest pauses: of two scrapers that share the work unevenly, the slower one counts.
    fn interval(&self) -> Option<Duration> {
        self.pauses.iter().max().copied()
    }
}

/// Scrapes that are enough: one may fail on the way.
const ENOUGH: u32 = 2;
/// Pauses that are remembered: enough for two scrapers, few enough to follow a changed interval.
const PAUSES: usize = 4;

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    const BOUND: Duration = Duration::from_secs(90);

    /// A history of scrapes at these seconds, with exhaustion at second 100.
    fn history(before: &[u64], after: &[u64]) -> (History, Instant) {
        let base = Instant::now();
        let mut history = History::default();
        for second in before {
            history.observe(base + Duration::from_secs(*second));
        }
        history.begin_linger();
        for second in after {
            history.observe(base + Duration::from_secs(*second));
        }
        (history, base)
    }

    fn stay(before: &[u64], after: &[u64], now: u64) -> Option<u64> {
        let (history, base) = history(before, after);
        let at = |second| base + Duration::from_secs(second);
        match history.judge(at(100), BOUND, at(now)) {
            Verdict::Leave => None,
            Verdict::StayUntil(deadline) => Some((deadline - base).as_secs()),
        }
    }

    #[test]
    fn nobody_lingers_for_a_scraper_that_was_never_there() {
        assert_eq!(stay(&[], &[], 100), None);
    }

    #[test]
    fn two_scrapes_after_exhaustion_are_enough_and_one_is_not() {
        assert_eq!(stay(&[71, 86], &[101], 101), Some(130));
        assert_eq!(stay(&[71, 86], &[101, 116], 116), None);
    }

    #[test]
    fn scrapes_before_exhaustion_do_not_count() {
        assert_eq!(stay(&[55, 70, 85, 99], &[], 100), Some(130));
    }

    #[test]
    fn it_lasts_twice_the_observed_interval_at_most() {
        assert_eq!(stay(&[85, 95], &[], 119), Some(120));
        assert_eq!(stay(&[85, 95], &[], 120), None);
    }

    #[test]
    fn it_never_lasts_longer_than_its_bound() {
        assert_eq!(stay(&[0, 60], &[], 189), Some(190));
        assert_eq!(stay(&[0, 60], &[], 190), None);
        assert_eq!(stay(&[60], &[], 189), Some(190), "one scrape tells no interval");
    }

    #[test]
    fn the_slower_of_two_scrapers_counts() {
        assert_eq!(stay(&[60, 61, 90, 91], &[], 100), Some(158));
    }

    #[tokio::test]
    async fn the_second_scrape_ends_it_at_once() {
        let scrapes = Scrapes::default();
        scrapes.observe();
        scrapes.history().pauses.push_back(BOUND);
        let mut lingering = tokio::spawn({
            let scrapes = scrapes.clone();
            async move { linger(&scrapes, BOUND, pending()).await }
        });
        while !scrapes.history().lingers {
            tokio::task::yield_now().await;
        }
        scrapes.observe();
        tokio::time::timeout(Duration::from_millis(20), &mut lingering).await.unwrap_err();
        scrapes.observe();
        tokio::time::timeout(BOUND / 9, lingering).await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_signal_ends_it_at_once_and_silence_at_the_bound() {
        let scrapes = Scrapes::default();
        scrapes.observe();
        tokio::time::timeout(BOUND / 9, linger(&scrapes, BOUND, ready(()))).await.unwrap();
        let began = Instant::now();
        let bound = Duration::from_millis(30);
        linger(&scrapes, bound, pending()).await;
        assert!(began.elapsed() >= bound);
    }
}
