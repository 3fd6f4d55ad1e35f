//! The server's own stream of the legacy era: its end is no outage.

use std::time::{Duration, Instant};

use mcp_sidecar::driver::session::Signal;

use crate::support::upstream::{call, journaled, over_http, text};
use crate::support::wait::{wait_for, wait_until};

#[tokio::test]
async fn a_server_without_a_stream_is_asked_once() {
    let journal = tempfile::NamedTempFile::new().expect("a file");
    let (_process, session, _) =
        over_http(&["--no-stream", "--journal", journal.path().to_str().expect("UTF-8")]).await;
    wait_until("it is asked", Duration::from_secs(5), async || journaled(journal.path(), "GET") == 1).await;
    // Longer than the shortest pause before another try.
    let until = Instant::now() + Duration::from_millis(1500);
    while Instant::now() < until {
        assert_eq!(text(call(&session, "echo", r#"{"text":"hi"}"#).await), "hi");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(journaled(journal.path(), "GET"), 1);
}

#[tokio::test]
async fn a_stream_that_ends_now_and_then_is_opened_again_and_calls_go_on() {
    let journal = tempfile::NamedTempFile::new().expect("a file");
    let path = journal.path().to_str().expect("UTF-8");
    let (_process, session, mut signals) = over_http(&["--close-stream-after", "200", "--journal", path]).await;
    session.list_tools().await.expect("tools");
    wait_until("the stream is opened twice", Duration::from_secs(10), async || {
        assert_eq!(text(call(&session, "echo", r#"{"text":"hi"}"#).await), "hi");
        journaled(journal.path(), "GET") >= 2
    })
    .await;
    assert!(tokio::time::timeout(Duration::from_millis(10), session.ended()).await.is_err());
    // Nobody announced what changed in between.
    wait_for("the list is read again", Duration::from_secs(5), async || {
        signals.try_recv().ok().filter(|signal| *signal == Signal::ToolsChanged)
    })
    .await;
}

#[tokio::test]
async fn a_stream_that_ends_at_once_is_opened_ever_more_rarely_whatever_the_server_wants() {
    let journal = tempfile::NamedTempFile::new().expect("a file");
    let path = journal.path().to_str().expect("UTF-8");
    let (_process, session, _) = over_http(&["--stream-loop", "--journal", path]).await;
    let begin = Instant::now();
    wait_until("three openings", Duration::from_secs(15), async || journaled(journal.path(), "GET") >= 3).await;
    // 1 s after the first, 2 s after the second; the server asked for 50 ms.
    assert!(begin.elapsed() > Duration::from_millis(2500), "{:?}", begin.elapsed());
    assert_eq!(journaled(journal.path(), "GET"), 3);
    assert_eq!(text(call(&session, "echo", r#"{"text":"hi"}"#).await), "hi");
}
