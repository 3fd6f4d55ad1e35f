//! Lines into a pipe, whole even if their writers give up in the middle.

use std::io;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// Writes lines from many tasks, each in its writer's own task: no queue, no hop.
#[derive(Debug)]
pub struct Pen<W> {
    state: Mutex<State<W>>,
    closed: CancellationToken,
}

#[derive(Debug)]
struct State<W> {
    /// `None` once closed.
    sink: Option<W>,
    /// Not yet written: what a writer that gave up in the middle of its line left behind, then the current line.
    ink: Vec<u8>,
    written: usize,
}

impl<W: AsyncWrite + Unpin> Pen<W> {
    /// Writes to `sink`.
    pub fn new(sink: W) -> Self {
        let state = Mutex::new(State { sink: Some(sink), ink: Vec::new(), written: 0 });
        Self { state, closed: CancellationToken::new() }
    }

    /// Writes a line and its newline. If this future is dropped while it waits for room, the rest of the line is written
    /// before the next one.
    pub async fn write_line(&self, mut line: Vec<u8>) -> io::Result<()> {
        let state = &mut *self.state.lock().await;
        let Some(sink) = state.sink.as_mut().filter(|_| !self.closed.is_cancelled()) else {
            return Err(closed());
        };
        line.push(b'\n');
        if state.ink.is_empty() {
            state.ink = line;
        } else {
            state.ink.append(&mut line);
        }
        while let Some(rest) = state.ink.get(state.written..).filter(|rest| !rest.is_empty()) {
            let written = tokio::select! {
                biased;
                written = sink.write(rest) => written?,
                () = self.closed.cancelled() => return Err(closed()),
            };
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            state.written += written;
        }
        state.ink = Vec::new();
        state.written = 0;
        sink.flush().await
    }

    /// Closes the pipe, also under a writer that waits for room in it.
    pub async fn close(&self) {
        self.closed.cancel();
        self.state.lock().await.sink = None;
    }
}

impl<W> Pen<W> {
    /// As `close`, from where nothing can be awaited; a writer that is at it right now ends the pipe itself.
    pub fn abandon(&self) {
        self.closed.cancel();
        if let Ok(mut state) = self.state.try_lock() {
            state.sink = None;
        }
    }
}

fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "closed by us")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    #[tokio::test]
    async fn a_writer_that_gives_up_leaves_whole_lines() {
        let (mut far, near) = tokio::io::duplex(4);
        let pen = Pen::new(near);
        let gave_up =
            tokio::time::timeout(std::time::Duration::from_millis(20), pen.write_line(b"first line".to_vec())).await;
        assert!(gave_up.is_err());
        let reading = tokio::spawn(async move {
            let mut text = String::new();
            far.read_to_string(&mut text).await.unwrap();
            text
        });
        pen.write_line(b"second".to_vec()).await.unwrap();
        pen.close().await;
        assert_eq!(reading.await.unwrap(), "first line\nsecond\n");
    }

    #[tokio::test]
    async fn nothing_is_written_after_the_close() {
        let (_far, near) = tokio::io::duplex(64);
        let pen = Pen::new(near);
        pen.close().await;
        assert_eq!(pen.write_line(b"late".to_vec()).await.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[tokio::test]
    async fn a_close_does_not_wait_for_a_writer_that_is_stuck() {
        let (_far, near) = tokio::io::duplex(4);
        let pen = std::sync::Arc::new(Pen::new(near));
        let stuck = tokio::spawn({
            let pen = pen.clone();
            async move { pen.write_line(b"longer than the pipe".to_vec()).await }
        });
        tokio::task::yield_now().await;
        tokio::time::timeout(std::time::Duration::from_secs(5), pen.close()).await.unwrap();
        assert_eq!(stuck.await.unwrap().unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
