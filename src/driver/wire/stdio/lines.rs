//! Lines out of a byte stream, without copying and within bounds.

use std::io;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncReadExt};

/// Room made for each read. Also what stays allocated between large lines.
const CHUNK: usize = 64 * 1024;

/// Reads lines.
#[derive(Debug)]
pub struct Lines<R> {
    source: R,
    buffer: BytesMut,
    /// The line handed out last, newline included: dropped from the buffer by the next call.
    consumed: usize,
    /// Bytes known to hold no newline.
    searched: usize,
    limit: usize,
}

/// Why there is no line.
#[derive(Debug)]
pub enum NoLine {
    /// The stream ended.
    End,
    /// A line is longer than the limit.
    TooLong,
    /// Reading failed.
    Broken(io::Error),
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Lines of at most `limit` bytes.
    pub fn new(source: R, limit: usize) -> Self {
        Self { source, buffer: BytesMut::new(), consumed: 0, searched: 0, limit }
    }

    /// The next line without its newline; the last one may lack it.
    pub async fn next(&mut self) -> Result<&[u8], NoLine> {
        let _ = self.buffer.split_to(std::mem::take(&mut self.consumed));
        if self.buffer.is_empty() && self.buffer.capacity() > CHUNK * 2 {
            self.buffer = BytesMut::new();
        }
        loop {
            let unsearched = self.buffer.get(self.searched..).unwrap_or_default();
            if let Some(at) = memchr::memchr(b'\n', unsearched) {
                return Ok(self.hand_out(self.searched + at, 1));
            }
            self.searched = self.buffer.len();
            if self.searched > self.limit {
                return Err(NoLine::TooLong);
            }
            self.buffer.reserve(CHUNK);
            match self.source.read_buf(&mut self.buffer).await {
                Ok(0) if self.buffer.is_empty() => return Err(NoLine::End),
                Ok(0) => return Ok(self.hand_out(self.searched, 0)),
                Ok(_) => {}
                Err(error) => return Err(NoLine::Broken(error)),
            }
        }
    }

    fn hand_out(&mut self, length: usize, newline: usize) -> &[u8] {
        self.consumed = length + newline;
        self.searched = 0;
        self.buffer.get(..length).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn all(source: &[u8], limit: usize) -> (Vec<String>, NoLine) {
        // One byte per read: every split of every character occurs.
        let mut builder = tokio_test_reader(source);
        let mut lines = Lines::new(&mut builder, limit);
        let mut seen = Vec::new();
        loop {
            match lines.next().await {
                Ok(line) => seen.push(String::from_utf8(line.to_vec()).unwrap()),
                Err(end) => return (seen, end),
            }
        }
    }

    fn tokio_test_reader(source: &[u8]) -> impl AsyncRead + Unpin {
        struct OneByOne(std::collections::VecDeque<u8>);
        impl AsyncRead for OneByOne {
            fn poll_read(
                mut self: std::pin::Pin<&mut Self>,
                _: &mut std::task::Context<'_>,
                buf: &mut tokio::io::ReadBuf<'_>,
            ) -> std::task::Poll<io::Result<()>> {
                if let Some(byte) = self.0.pop_front() {
                    buf.put_slice(&[byte]);
                }
                std::task::Poll::Ready(Ok(()))
            }
        }
        OneByOne(source.iter().copied().collect())
    }

    #[tokio::test]
    async fn characters_split_over_reads_stay_intact() {
        let (lines, end) = all("{\"a\":\"漢字🦀\"}\n\nzażółć\nlast".as_bytes(), 100).await;
        assert_eq!(lines, ["{\"a\":\"漢字🦀\"}", "", "zażółć", "last"]);
        assert!(matches!(end, NoLine::End));
    }

    #[tokio::test]
    async fn an_endless_line_is_cut_off_at_the_limit() {
        let (lines, end) = all(format!("short\n{}", "a".repeat(1000)).as_bytes(), 100).await;
        assert_eq!(lines, ["short"]);
        assert!(matches!(end, NoLine::TooLong));
    }

    #[tokio::test]
    async fn memory_of_a_large_line_is_given_back() {
        let text = format!("{}\nx\n", "a".repeat(4 * 1024 * 1024));
        let mut lines = Lines::new(text.as_bytes(), 5 * 1024 * 1024);
        assert_eq!(lines.next().await.unwrap().len(), 4 * 1024 * 1024);
        assert_eq!(lines.next().await.unwrap(), b"x");
        assert!(matches!(lines.next().await, Err(NoLine::End)));
        assert!(lines.buffer.capacity() <= CHUNK * 2, "{}", lines.buffer.capacity());
    }
}
