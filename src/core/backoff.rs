//! How long to wait before an attempt.

use std::time::Duration;

/// `min(initial * 2^(attempt-1), max)`. `attempt` counts from 1 and includes the attempt that is waited for; no number
/// overflows.
#[must_use]
pub fn delay(initial: Duration, max: Duration, attempt: u32) -> Duration {
    let doublings = attempt.saturating_sub(1);
    // Compared from the other side, because the product may not fit.
    let largest_uncapped = max.as_nanos().checked_shr(doublings).unwrap_or(0);
    if initial.as_nanos() > largest_uncapped {
        return max;
    }
    initial.as_nanos().checked_shl(doublings).map_or(Duration::ZERO, Duration::from_nanos_u128)
}

/// `delay`, moved by at most a tenth either way. `noise` is a random number in `[0, 1)`; 0.5 moves nothing.
///
/// Jitter comes after the cap, so that targets which are all at the cap don't march in step: a capped delay may exceed
/// `max_delay` by up to 10 %. Nothing is truncated to a coarser unit than nanoseconds.
#[must_use]
pub fn jittered(delay: Duration, noise: f64) -> Duration {
    let noise = if noise.is_nan() { 0.5 } else { noise.clamp(0.0, 1.0) };
    let tenth = delay / 10;
    (delay - tenth) + (tenth * 2).mul_f64(noise)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const INITIAL: Duration = Duration::from_millis(500);
    const MAX: Duration = Duration::from_secs(30);

    #[test]
    fn the_server_defaults_wait_about_two_and_a_half_minutes_in_all() {
        let delays: Vec<f64> = (1..=10).map(|attempt| delay(INITIAL, MAX, attempt).as_secs_f64()).collect();
        assert_eq!(delays, [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0, 30.0]);
        assert_eq!(delays.iter().sum::<f64>(), 151.5);
    }

    #[test]
    fn the_backend_defaults_wait_about_ninety_five_minutes_in_all() {
        let total: Duration =
            (1..=100).map(|attempt| delay(Duration::from_secs(1), Duration::from_secs(60), attempt)).sum();
        assert_eq!(total, Duration::from_secs(1 + 2 + 4 + 8 + 16 + 32 + 94 * 60));
    }

    #[test]
    fn no_attempt_number_overflows() {
        for attempt in [31, 32, 33, 64, 65, 94, 127, 128, 129, 500, u32::MAX] {
            assert_eq!(delay(INITIAL, MAX, attempt), MAX, "attempt {attempt}");
            assert_eq!(delay(Duration::MAX, Duration::MAX, attempt), Duration::MAX, "attempt {attempt}");
            assert_eq!(delay(Duration::ZERO, MAX, attempt), Duration::ZERO, "attempt {attempt}");
        }
        let tiny = Duration::from_nanos(1);
        assert_eq!(delay(tiny, Duration::MAX, 65), Duration::from_nanos_u128(1 << 64));
    }

    #[test]
    fn the_cap_is_reached_exactly_when_the_product_passes_it() {
        let initial = Duration::from_nanos(3);
        assert_eq!(delay(initial, Duration::from_nanos(12), 3), Duration::from_nanos(12));
        assert_eq!(delay(initial, Duration::from_nanos(11), 3), Duration::from_nanos(11));
        assert_eq!(delay(initial, Duration::from_nanos(13), 3), Duration::from_nanos(12));
    }

    #[test]
    fn jitter_fills_the_whole_band_and_never_leaves_it() {
        for base in [Duration::from_millis(500), Duration::from_secs(1), Duration::from_secs(30)] {
            let mut below = 0;
            let mut distinct = BTreeSet::new();
            for step in 0..1000_u32 {
                let moved = jittered(base, f64::from(step) / 1000.0);
                assert!(moved.abs_diff(base) <= base / 10, "{base:?} moved to {moved:?}");
                below += u32::from(moved < base);
                distinct.insert(moved);
            }
            assert_eq!(below, 500, "{base:?}: as often shorter as longer");
            assert_eq!(distinct.len(), 1000, "{base:?}: no two delays are rounded together");
            assert_eq!(jittered(base, 0.5), base);
        }
    }

    #[test]
    fn a_broken_random_number_moves_no_delay_out_of_the_band() {
        let base = Duration::from_secs(1);
        for noise in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -3.0, 7.0, 1.0] {
            assert!(jittered(base, noise).abs_diff(base) <= base / 10, "noise {noise}");
        }
    }
}
