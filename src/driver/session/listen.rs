//! `subscriptions/listen`: the only way to hear from a modern server that its tools changed.

use std::num::NonZeroUsize;
use std::sync::Arc;

use rmcp::model::SubscriptionFilter;
use rmcp::{Peer, RoleClient};
use tokio::time::Instant;

use super::news::News;
use crate::driver::wire::pace::Pace;

/// Notifications that may wait for us.
const BACKLOG: NonZeroUsize = NonZeroUsize::new(1024).expect("not zero");
/// Keeps a subscription open until cancelled. That it ends is no outage.
pub async fn keep_listening(peer: Peer<RoleClient>, news: Arc<News>) {
    let filter = SubscriptionFilter::builder().tools_list_changed().build();
    let mut pace = Pace::default();
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
        tokio::time::sleep(pace.pause_after(begin.elapsed())).await;
    }
}
