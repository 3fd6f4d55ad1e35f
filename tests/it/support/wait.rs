//! Waiting for a condition to hold, never for time to pass.

use std::time::{Duration, Instant};

/// How often a condition is looked at.
const PACE: Duration = Duration::from_millis(10);

/// Returns what `condition` found as soon as it finds something; panics with `what` after `deadline`.
pub async fn wait_for<T>(what: &str, deadline: Duration, mut condition: impl AsyncFnMut() -> Option<T>) -> T {
    let until = Instant::now() + deadline;
    loop {
        if let Some(found) = condition().await {
            return found;
        }
        assert!(Instant::now() < until, "waited {deadline:?} in vain: {what}");
        tokio::time::sleep(PACE).await;
    }
}

/// Returns as soon as `condition` holds; panics with `what` after `deadline`.
pub async fn wait_until(what: &str, deadline: Duration, mut condition: impl AsyncFnMut() -> bool) {
    wait_for(what, deadline, async || condition().await.then_some(())).await;
}
