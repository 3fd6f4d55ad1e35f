//! Server-sent events out of a response, within bounds.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use sse_stream::{Sse, SseByteStream};

use super::endpoint::told;
use crate::core::cause::{Cause, CauseKind};
use crate::driver::wire::MESSAGE_LIMIT;

/// The events of one response.
pub struct Events {
    stream: SseByteStream<Chunks>,
    pending: Arc<AtomicUsize>,
}

/// Why there are no more events.
#[derive(Debug)]
pub enum NoEvent {
    /// The stream ended as it should.
    End,
    /// The connection broke.
    Broken(Cause),
    /// What came is no event, or none that we take.
    Unreadable(Cause),
}

type Chunks = Pin<Box<dyn Stream<Item = Result<Bytes, ChunkError>> + Send>>;

#[derive(Debug, thiserror::Error)]
enum ChunkError {
    #[error("{0}")]
    Broken(String),
    #[error("an event is longer than {MESSAGE_LIMIT} bytes")]
    TooLong,
}

impl Events {
    /// The events of this response's body.
    pub fn of(response: reqwest::Response) -> Self {
        let pending = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&pending);
        let chunks = response.bytes_stream().map(move |chunk| {
            let chunk = chunk.map_err(|error| ChunkError::Broken(told(&error)))?;
            let before = if ends_block(&chunk) { 0 } else { counter.load(Ordering::Relaxed) };
            counter.store(before + chunk.len(), Ordering::Relaxed);
            if before + chunk.len() > MESSAGE_LIMIT { Err(ChunkError::TooLong) } else { Ok(chunk) }
        });
        let chunks: Chunks = Box::pin(chunks);
        Self { stream: SseByteStream::new(chunks), pending }
    }

    /// The next event.
    pub async fn next(&mut self) -> Result<Sse, NoEvent> {
        match self.stream.next().await {
            Some(Ok(event)) => {
                self.pending.store(0, Ordering::Relaxed);
                Ok(event)
            }
            None => Err(NoEvent::End),
            Some(Err(sse_stream::Error::Body(error))) => Err(match error.downcast_ref::<ChunkError>() {
                Some(ChunkError::TooLong) => unreadable(error.to_string()),
                Some(ChunkError::Broken(_)) | None => {
                    NoEvent::Broken(Cause::new(CauseKind::TransportClosed, format!("the stream broke: {error}")))
                }
            }),
            Some(Err(error)) => Err(unreadable(error.to_string())),
        }
    }
}

/// Whether a chunk has an empty line, which ends an event or a comment. The few that are missed (split over chunks, bare
/// carriage returns) only make the bound a little stricter.
fn ends_block(chunk: &[u8]) -> bool {
    memchr::memmem::find(chunk, b"\n\n").is_some() || memchr::memmem::find(chunk, b"\n\r\n").is_some()
}

fn unreadable(detail: String) -> NoEvent {
    NoEvent::Unreadable(Cause::new(CauseKind::ProtocolViolation, format!("the event stream: {detail}")))
}
