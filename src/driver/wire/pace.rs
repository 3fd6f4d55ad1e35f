//! How fast a stream that ended is opened again.

use std::time::Duration;

/// The pause before a stream that ended is opened again: at least, whatever the server wants.
pub const SHORTEST_PAUSE: Duration = Duration::from_secs(1);
/// And at most. A stream that lasted this long is a good one: the next pause is the shortest again.
pub const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Pauses that grow as long as streams are short-lived.
#[derive(Debug)]
pub struct Pace {
    next: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self { next: SHORTEST_PAUSE }
    }
}

impl Pace {
    /// The pause after a stream that lasted this long.
    pub fn pause_after(&mut self, lasted: Duration) -> Duration {
        let pause = if lasted >= LONGEST_PAUSE { SHORTEST_PAUSE } else { self.next };
        self.next = (pause * 2).min(LONGEST_PAUSE);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_until_a_stream_lasts() {
        let mut pace = Pace::default();
        let mut seconds = |lasted| pace.pause_after(Duration::from_secs(lasted)).as_secs();
        assert_eq!([0, 0, 2, 2, 0, 29, 0].map(&mut seconds), [1, 2, 4, 8, 16, 30, 30]);
        assert_eq!([300, 0].map(&mut seconds), [1, 2]);
    }
}
