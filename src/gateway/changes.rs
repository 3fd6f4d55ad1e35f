//! Streams that tell clients of changes, each change once; changes in quick succession are one.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::{Stream, stream};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::sessions::Occupied;
use super::sse;
use crate::catalogue::snapshot::Snapshot;

/// One stream.
#[derive(Debug)]
pub struct Changes {
    /// What is watched.
    pub catalogue: watch::Receiver<Arc<Snapshot>>,
    /// Whom it is for.
    pub audience: Audience,
    /// Sent first.
    pub first: Option<Bytes>,
    /// Sent when the tools changed; `None` if the client asked for none of it.
    pub changed: Option<Bytes>,
    /// Sent last, when the sidecar stops.
    pub last: Option<Bytes>,
    /// The sidecar stops.
    pub shutdown: CancellationToken,
}

/// Who has to be told once.
#[derive(Debug)]
pub enum Audience {
    /// A session, over any one of its streams.
    Session(Occupied),
    /// This stream; the version it last told of.
    Stream(u64),
}

impl Changes {
    /// The events, until the sidecar stops, the session ends or the client goes.
    pub fn into_events(self) -> impl Stream<Item = Bytes> + Send {
        stream::unfold(Some(self), async |changes| {
            let mut changes = changes?;
            match changes.next().await {
                Next::Event(event) => Some((event, Some(changes))),
                Next::Last(event) => event.map(|event| (event, None)),
            }
        })
    }

    async fn next(&mut self) -> Next {
        if let Some(first) = self.first.take() {
            return Next::Event(first);
        }
        loop {
            let version = self.catalogue.borrow_and_update().version();
            if let Some(changed) = &self.changed
                && self.audience.is_news(version)
            {
                return Next::Event(changed.clone());
            }
            tokio::select! {
                biased;
                () = self.shutdown.cancelled() => return Next::Last(self.last.take()),
                () = self.audience.left() => return Next::Last(None),
                changed = self.catalogue.changed() => if changed.is_err() {
                    return Next::Last(self.last.take());
                },
                () = tokio::time::sleep(sse::KEEP_ALIVE) => return Next::Event(sse::COMMENT),
            }
        }
    }
}

enum Next {
    Event(Bytes),
    Last(Option<Bytes>),
}

impl Audience {
    fn is_news(&mut self, version: u64) -> bool {
        match self {
            Self::Session(occupied) => occupied.session().is_news(version),
            Self::Stream(told) => std::mem::replace(told, version) != version,
        }
    }

    async fn left(&self) {
        match self {
            Self::Session(occupied) => occupied.session().ended.cancelled().await,
            Self::Stream(_) => std::future::pending().await,
        }
    }
}
