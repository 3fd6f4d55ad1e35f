//! One session over the pipes of a real process.

use std::time::{Duration, Instant};

use mcp_sidecar::config::settings::ProtocolChoice;
use mcp_sidecar::core::cause::CauseKind;
use mcp_sidecar::driver::session::{CallError, Era, SessionOptions, Signal};
use mcp_sidecar::jsonrpc::Reply;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::support::upstream::{Process, call, definition, journaled, legacy, open_with, options, text};
use crate::support::wait::{wait_for, wait_until};

const SOON: Duration = Duration::from_secs(10);

#[tokio::test]
async fn definitions_and_results_are_the_bytes_that_the_server_sent() {
    let (_process, session, _) = legacy(&[]).await;
    let tools = session.list_tools().await.expect("tools");
    let echo = definition(&tools, "echo");
    assert!(echo.starts_with(r#"{"xVendor":{"zeta":1,"alpha":[1.10,12345678901234567890123],"mid":"#), "{echo}");
    assert!(echo.ends_with(r#""execution":{"taskSupport":"forbidden"}}"#), "{echo}");
    assert!(tools.iter().any(|tool| tool.name == "echo" && tool.read_only && !tool.idempotent));
    let arguments = r#"{"text":"ż 漢 🦀","z":1.10,"a":[12345678901234567890123,1E+2],"n":null}"#;
    let Ok(Reply::Result(result)) = call(&session, "echo", arguments).await else { panic!("no result") };
    let expected = format!(
        r#"{{"xResult":{{"z":1.10,"a":12345678901234567890123}},"content":[{{"xContent":1,"type":"text","text":"ż 漢 🦀"}}],"structuredContent":{arguments},"_meta":{{"example.com/z":1,"example.com/a":2}}}}"#
    );
    assert_eq!(result.get(), expected);
}

#[tokio::test]
async fn junk_on_stdout_hinders_nobody() {
    for flag in ["--banner", "--invalid-utf8"] {
        let (_process, session, _) = legacy(&[flag]).await;
        assert_eq!(text(call(&session, "echo", r#"{"text":"hi"}"#).await), "hi", "{flag}");
    }
}

#[tokio::test]
async fn characters_split_over_writes_stay_intact() {
    let (_process, session, _) = legacy(&["--byte-by-byte"]).await;
    let tools = session.list_tools().await.expect("tools");
    assert!(definition(&tools, "echo").contains("żółć 漢字 included"));
    assert!(definition(&tools, "echo").contains("Echo – 🦀"));
}

#[tokio::test]
async fn an_endless_line_ends_the_generation_with_a_reason() {
    let (_process, session, _) = legacy(&["--endless-line", "stdout"]).await;
    session.list_tools().await.expect("tools");
    let cause = tokio::time::timeout(SOON, session.ended()).await.expect("it ends");
    assert_eq!(cause.kind, CauseKind::ProtocolViolation, "{cause}");
    assert!(cause.detail.contains("16777216"), "{cause}");
}

#[tokio::test]
async fn a_cursor_that_says_nothing_ends_the_list() {
    for style in ["null", "empty"] {
        let (_process, session, _) = legacy(&["--next-cursor", style]).await;
        assert!(session.list_tools().await.expect("tools").len() > 10, "{style}");
    }
}

#[tokio::test]
async fn all_pages_of_a_list_make_one_list() {
    let (_process, session, _) = legacy(&["--tools", "50", "--next-cursor", "pages:7"]).await;
    let tools = session.list_tools().await.expect("tools");
    assert!(tools.iter().any(|tool| tool.name == "tool_49"));
    assert!(tools.iter().any(|tool| tool.name == "echo"));
}

#[tokio::test]
async fn a_list_that_never_ends_fails() {
    let (_process, session, _) = legacy(&["--next-cursor", "endless"]).await;
    assert_eq!(session.list_tools().await.expect_err("no list").kind, CauseKind::ListFailed);
    assert_eq!(text(call(&session, "echo", r#"{"text":"alive"}"#).await), "alive");
}

#[tokio::test]
async fn a_list_that_is_not_answered_fails_in_time() {
    let mut process = Process::start(&["--hang-in-list"]);
    let options = SessionOptions { list: Duration::from_millis(200), ..options() };
    let (session, _) = open_with(process.wire(), options).await.expect("a session");
    assert_eq!(session.list_tools().await.expect_err("no list").kind, CauseKind::ListFailed);
}

#[tokio::test]
async fn a_change_announced_before_initialize_is_answered_hinders_nobody() {
    let (_process, session, _) = legacy(&["--early-list-changed"]).await;
    assert!(session.list_tools().await.is_ok());
}

#[tokio::test]
async fn an_older_version_is_fine() {
    let (_process, session, _) = legacy(&["--protocol", "2024-11-05"]).await;
    assert_eq!(session.era(), Era::Legacy);
    assert!(session.list_tools().await.is_ok());
}

#[tokio::test]
async fn ids_that_come_back_as_strings_are_recognized() {
    let mut process = Process::start(&["--string-ids"]);
    let (session, _) = open_with(process.wire(), options()).await.expect("a session");
    assert!(session.list_tools().await.is_ok());
    assert_eq!(text(call(&session, "echo", r#"{"text":"hi"}"#).await), "hi");
}

#[tokio::test]
async fn a_server_without_tools_says_so() {
    let (_process, session, _) = legacy(&["--no-tools"]).await;
    assert!(!session.tools_offered());
    session.probe(SOON).await.expect("alive");
}

#[tokio::test]
async fn what_a_server_asks_of_us_is_refused_at_once() {
    let (_process, session, _) = legacy(&["--ask-roots"]).await;
    let begin = Instant::now();
    let told = text(call(&session, "echo", r#"{"text":"hi"}"#).await);
    // The fixture's echo keeps its bytes; another tool tells what it got.
    assert_eq!(told, "hi");
    let told = text(call(&session, "pid", "{}").await);
    assert!(told.contains("-32601"), "{told}");
    assert!(begin.elapsed() < Duration::from_secs(3));
}

#[tokio::test]
async fn a_kill_during_a_call_is_told_at_once() {
    let (mut process, session, _) = legacy(&[]).await;
    let calls: Vec<_> = (0..100)
        .map(|_| {
            let session = session.clone();
            tokio::spawn(async move { call(&session, "sleep", r#"{"ms":60000}"#).await })
        })
        .collect();
    call(&session, "pid", "{}").await.expect("it works");
    process.kill();
    let killed = Instant::now();
    for call in calls {
        let error = call.await.expect("no panic").expect_err("no reply");
        assert!(matches!(error, CallError::OutcomeUnknown(_)), "{error:?}");
    }
    assert!(killed.elapsed() < Duration::from_secs(1), "{:?}", killed.elapsed());
    assert_eq!(session.ended().await.kind, CauseKind::TransportClosed);
    let late = call(&session, "pid", "{}").await.expect_err("no reply");
    assert!(matches!(late, CallError::NotExecuted(_)), "{late:?}");
}

#[tokio::test]
async fn a_write_that_died_unanswered_is_not_repeated() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let (_process, session, _) = legacy(&[]).await;
    let arguments = json!({"file": file.path(), "line": "once"}).to_string();
    let error = call(&session, "append_then_die", &arguments).await.expect_err("no reply");
    assert!(matches!(error, CallError::OutcomeUnknown(_)), "{error:?}");
    assert_eq!(std::fs::read_to_string(file.path()).expect("text"), "once\n");
}

#[tokio::test]
async fn progress_comes_before_the_reply_and_extends_the_deadline() {
    let mut process = Process::start(&[]);
    let options = SessionOptions { call: Duration::from_millis(700), ..options() };
    let (session, _) = open_with(process.wire(), options).await.expect("a session");
    let (sender, mut progress) = mpsc::channel(1000);
    let arguments = RawValue::from_string(r#"{"ms":2000}"#.to_owned()).expect("JSON");
    let cancel = CancellationToken::new();
    let reply = session.call("sleep", Some(&arguments), &Map::new(), Some(sender), &cancel).await;
    assert_eq!(text(reply), "slept 2000 ms");
    let first = progress.try_recv().expect("progress came first");
    let first: Value = serde_json::from_str(first.get()).expect("JSON");
    assert_eq!(first["message"], "asleep");
    assert!(progress.len() > 5);
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_cancelled_at_the_server_and_its_late_answer_is_nobodys() {
    let journal = tempfile::NamedTempFile::new().expect("a file");
    let mut process = Process::start(&["--journal", journal.path().to_str().expect("UTF-8")]);
    let options = SessionOptions { call: Duration::from_millis(200), ..options() };
    let (session, _) = open_with(process.wire(), options).await.expect("a session");
    let error = call(&session, "hang", "{}").await.expect_err("no reply");
    assert!(matches!(error, CallError::Timeout(_)), "{error:?}");
    wait_until("the server hears of it", SOON, async || {
        std::fs::read_to_string(journal.path()).expect("text").contains("cancelled 10000000")
    })
    .await;
    assert_eq!(text(call(&session, "echo", r#"{"text":"alive"}"#).await), "alive");
}

#[tokio::test]
async fn cancelling_a_call_and_dropping_one_both_tell_the_server() {
    let journal = tempfile::NamedTempFile::new().expect("a file");
    let (_process, session, _) = legacy(&["--journal", journal.path().to_str().expect("UTF-8")]).await;
    let cancelled = || {
        let text = std::fs::read_to_string(journal.path()).expect("text");
        text.lines().filter(|line| line.contains(" cancelled ")).count()
    };
    let cancel = CancellationToken::new();
    let meta = Map::new();
    let (reply, ()) = tokio::join!(session.call("hang", None, &meta, None, &cancel), async { cancel.cancel() });
    assert!(matches!(reply, Err(CallError::Cancelled)), "{reply:?}");
    wait_until("the first is cancelled", SOON, async || cancelled() == 1).await;
    let dropped = tokio::time::timeout(Duration::from_millis(100), call(&session, "hang", "{}")).await;
    assert!(dropped.is_err());
    wait_until("the second is cancelled", SOON, async || cancelled() == 2).await;
}

#[tokio::test]
async fn changes_and_signs_of_life_are_told_to_the_driver() {
    let (_process, session, mut signals) = legacy(&[]).await;
    call(&session, "mutate_tools", "{}").await.expect("a reply");
    let mut seen = Vec::new();
    wait_for("both signals", SOON, async || {
        seen.extend(signals.try_recv().ok());
        (seen.contains(&Signal::ToolsChanged) && seen.contains(&Signal::ProofOfLife)).then_some(())
    })
    .await;
    assert!(session.list_tools().await.expect("tools").iter().any(|tool| tool.name == "extra_0"));
}

#[tokio::test]
async fn a_storm_of_changes_does_not_hold_up_calls() {
    let (_process, session, mut signals) = legacy(&["--list-changed-storm", "200000"]).await;
    let counting = tokio::spawn(async move {
        let mut changes = 0;
        while let Some(signal) = signals.recv().await {
            changes += u32::from(signal == Signal::ToolsChanged);
        }
        changes
    });
    for _ in 0..20 {
        let begin = Instant::now();
        call(&session, "pid", "{}").await.expect("a reply");
        assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    }
    drop(session);
    assert!(counting.await.expect("no panic") > 0);
}

#[tokio::test]
async fn a_modern_server_is_found_out_and_told_who_we_are() {
    let mut process = Process::start(&["--modern"]);
    let (session, mut signals) = open_with(process.wire(), options()).await.expect("a session");
    assert_eq!(session.era(), Era::Modern);
    session.probe(SOON).await.expect("alive");
    assert!(session.list_tools().await.expect("tools").len() > 10);
    let Ok(Reply::Result(result)) = call(&session, "echo", r#"{"text":"hi"}"#).await else { panic!("no result") };
    assert!(result.get().contains(r#""resultType":"complete""#), "{result}");
    wait_for("a subscription that tells of changes", SOON, async || {
        call(&session, "mutate_tools", "{}").await.expect("a reply");
        std::iter::from_fn(|| signals.try_recv().ok()).find(|signal| *signal == Signal::ToolsChanged)
    })
    .await;
}

#[tokio::test]
async fn a_remembered_era_that_is_no_longer_right_is_found_out_again() {
    for (flags, remembered, right) in
        [(&["--modern"][..], Era::Legacy, Era::Modern), (&[][..], Era::Modern, Era::Legacy)]
    {
        let mut process = Process::start(flags);
        let options = SessionOptions { remembered: Some(remembered), ..options() };
        let (session, _) = open_with(process.wire(), options).await.expect("a session");
        assert_eq!(session.era(), right);
    }
}

#[tokio::test]
async fn a_server_that_is_mute_about_the_modern_era_costs_two_seconds() {
    let journal = tempfile::NamedTempFile::new().expect("a file");
    let begin = Instant::now();
    let mut process = Process::start(&["--modern-silent", "--journal", journal.path().to_str().expect("UTF-8")]);
    let (session, _) = open_with(process.wire(), options()).await.expect("a session");
    assert_eq!(session.era(), Era::Legacy);
    assert!(begin.elapsed() >= Duration::from_secs(2) && begin.elapsed() < Duration::from_secs(8));
    // A notification before `initialize` is what some servers stumble over.
    call(&session, "pid", "{}").await.expect("a reply");
    assert_eq!(journaled(journal.path(), "cancelled"), 0);
}

#[tokio::test]
async fn a_child_that_dies_of_the_modern_probe_is_told_apart() {
    let mut process = Process::start(&["--modern-dies"]);
    let error = open_with(process.wire(), options()).await.expect_err("no session");
    assert!(error.probe_killed_it);
    let mut process = Process::start(&["--exit-at-start", "1"]);
    let options = SessionOptions { protocol: ProtocolChoice::Legacy, ..options() };
    let error = open_with(process.wire(), options).await.expect_err("no session");
    assert!(!error.probe_killed_it);
}

#[tokio::test]
async fn a_handshake_that_is_not_answered_ends_in_time() {
    let mut process = Process::start(&["--hang-in-initialize"]);
    let options = SessionOptions { start: Duration::from_millis(300), ..options() };
    let error = open_with(process.wire(), options).await.expect_err("no session");
    assert_eq!(error.cause.kind, CauseKind::StartTimeout, "{:?}", error.cause);
    assert!(!error.probe_killed_it);
}

#[tokio::test]
async fn closing_lets_the_server_end_by_itself_and_answers_calls() {
    let (process, session, _) = legacy(&[]).await;
    let hanging = tokio::spawn({
        let session = session.clone();
        async move { call(&session, "hang", "{}").await }
    });
    call(&session, "pid", "{}").await.expect("a reply");
    session.close().await;
    assert!(matches!(hanging.await.expect("no panic"), Err(CallError::OutcomeUnknown(_))));
    let pid = process.pid();
    wait_until("the server ends at the end of its stdin", SOON, async || {
        std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") Z "))
    })
    .await;
}

#[tokio::test]
async fn the_last_clone_takes_the_connection_with_it() {
    let (process, session, _) = legacy(&[]).await;
    let pid = process.pid();
    drop(session);
    wait_until("the server ends", SOON, async || {
        std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") Z "))
    })
    .await;
}
