//! `subscriptions/listen`: the only way to hear from a modern server that its tools changed.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::SubscriptionFilter;
use rmcp::{Peer, RoleClient};
use tokio::time::Instant;

use super::news::News;

/// Notifications that may wait for us.
const BACKLOG: NonZeroUsize = NonZeroUsize::new(1024).expect("not zero");
/// Pause before a subscription that ended is opened again: at least.
pub const SHORTEST_PAUSE: Duration = Duration::from_secs(1);
/// And at most. A subscription that lasted this long is a good one: the next pause is the shortest again.
pub const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Keeps a subscription open until cancelled. That it ends is no outage.
pub async fn keep_listening(peer: Peer<RoleClient>, news: Arc<News>) {
    let filter = SubscriptionFilter::builder().tools_list_changed().build();
    let mut pause = SHORTEST_PAUSE;
    let mut first = true;
    loop {
        let begin = Instant::now();
        if let Ok(mut subscription) = peer.listen_with_capacity(filter.clone(), BACKLOG).await {
            if !std::mem::take(&mut first) {
                // What changed meanwhile was announced to nobody.
                news.tools_changed().await;
            }
            while let Ok(Some(_)) = subscription.next().await {
                news.tools_changed().await;
            }
        }
        if begin.elapsed() >= LONGEST_PAUSE {
            pause = SHORTEST_PAUSE;
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}
