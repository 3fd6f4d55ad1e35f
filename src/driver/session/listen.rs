//! `subscriptions/listen`: the only way to hear from a modern server that its tools changed.

use std::num::NonZeroUsize;
use std::sync::Arc;

use rmcp::model::{ErrorCode, SubscriptionFilter};
use rmcp::{Peer, RoleClient, ServiceError};
use tokio::time::Instant;

use super::news::News;
use crate::driver::wire::pace::Pace;

/// Notifications that may wait for us.
const BACKLOG: NonZeroUsize = NonZeroUsize::new(1024).expect("not zero");

/// Keeps a subscription open until cancelled. That it ends is no outage.
pub async fn keep_listening(peer: Peer<RoleClient>, news: Arc<News>) {
    let filter = SubscriptionFilter::builder().tools_list_changed().build();
    let mut pace = Pace::default();
    loop {
        let begin = Instant::now();
        match peer.listen_with_capacity(filter.clone(), BACKLOG).await {
            Ok(mut subscription) => {
                news.listening();
                while let Ok(Some(_)) = subscription.next().await {
                    news.tools_changed().await;
                }
            }
            // It announces changes and has no way to hear of them: nothing to be had.
            Err(ServiceError::McpError(error)) if error.code == ErrorCode::METHOD_NOT_FOUND => return,
            Err(_) => {}
        }
        tokio::time::sleep(pace.pause_after(begin.elapsed())).await;
    }
}
