//! One session with a scripted peer at the other end of its pipes: what no decent server does.

use std::time::Duration;

use mcp_sidecar::config::settings::ProtocolChoice;
use mcp_sidecar::core::cause::CauseKind;
use mcp_sidecar::driver::session::{CallError, Era, Session, SessionOptions, Signal};
use mcp_sidecar::driver::wire::{Wire, stdio};
use mcp_sidecar::jsonrpc::Reply;
use mcp_sidecar::telemetry::Telemetry;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::support::upstream::{call, open_with, options, text};

const SOON: Duration = Duration::from_secs(10);

/// The peer.
struct Script {
    incoming: Lines<BufReader<DuplexStream>>,
    outgoing: DuplexStream,
}

impl Script {
    /// The peer and the wire to it.
    fn new() -> (Self, Wire) {
        let (stdin, incoming) = tokio::io::duplex(1 << 20);
        let (stdout, outgoing) = tokio::io::duplex(1 << 20);
        let wire = stdio::open("script", stdout, stdin, Telemetry::default());
        (Self { incoming: BufReader::new(incoming).lines(), outgoing }, wire)
    }

    /// The next message to the peer.
    async fn hear(&mut self) -> Value {
        let line = tokio::time::timeout(SOON, self.incoming.next_line()).await.expect("in time").expect("readable");
        serde_json::from_str(&line.expect("not the end")).expect("JSON")
    }

    /// As `hear`; it has to be this method's.
    async fn expect(&mut self, method: &str) -> Value {
        let heard = self.hear().await;
        assert_eq!(heard["method"], method, "{heard}");
        heard
    }

    /// Sends a message.
    async fn say(&mut self, message: Value) {
        self.outgoing.write_all(format!("{message}\n").as_bytes()).await.expect("writable");
    }

    /// Answers a request.
    async fn answer(&mut self, request: &Value, result: Value) {
        self.say(json!({"jsonrpc": "2.0", "id": request["id"], "result": result})).await;
    }

    /// Answers a legacy handshake.
    async fn shake_hands(&mut self) {
        let request = self.expect("initialize").await;
        self.answer(&request, initialized()).await;
        self.expect("notifications/initialized").await;
    }
}

fn initialized() -> Value {
    json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {"listChanged": true}},
        "serverInfo": {"name": "script", "version": "1"},
    })
}

fn legacy() -> SessionOptions {
    SessionOptions { protocol: ProtocolChoice::Legacy, ..options() }
}

/// An open session and its peer.
async fn session(options: SessionOptions) -> (Script, Session, mpsc::Receiver<Signal>) {
    let (mut script, wire) = Script::new();
    let (opened, ()) = tokio::join!(open_with(wire, options), script.shake_hands());
    let (session, signals) = opened.expect("a session");
    (script, session, signals)
}

#[tokio::test]
async fn what_a_server_asks_before_the_handshake_is_done_is_answered_at_once() {
    let (mut script, wire) = Script::new();
    let talk = async {
        let request = script.expect("initialize").await;
        script.say(json!({"jsonrpc": "2.0", "id": "early", "method": "roots/list"})).await;
        let refusal = script.hear().await;
        assert_eq!((&refusal["id"], &refusal["error"]["code"]), (&json!("early"), &json!(-32601)));
        script.say(json!({"jsonrpc": "2.0", "id": 0, "method": "ping"})).await;
        let pong = script.hear().await;
        assert_eq!((&pong["id"], &pong["result"]), (&json!(0), &json!({})));
        script.answer(&request, initialized()).await;
        script.expect("notifications/initialized").await;
    };
    let (opened, ()) = tokio::join!(open_with(wire, legacy()), talk);
    opened.expect("a session");
}

#[tokio::test]
async fn answers_find_their_calls_in_any_order_and_late_or_second_ones_are_nobodys() {
    let (mut script, session, _) = session(SessionOptions { call: Duration::from_millis(300), ..legacy() }).await;
    let answer = |name: &str| json!({"content": [{"type": "text", "text": name}]});
    let talk = async {
        let [a, b] = [script.expect("tools/call").await, script.expect("tools/call").await];
        for request in [&b, &b, &a] {
            script.answer(request, answer(request["params"]["name"].as_str().expect("a name"))).await;
        }
        let late = script.expect("tools/call").await;
        let mut rest = [script.hear().await, script.hear().await];
        rest.sort_by_key(|message| message["method"].to_string());
        let [cancelled, next] = rest;
        assert_eq!(cancelled["params"]["requestId"], late["id"]);
        assert_eq!(next["method"], "tools/call");
        script.answer(&late, answer("late")).await;
        script.answer(&next, answer("next")).await;
    };
    let calls = async {
        let (a, b) = tokio::join!(call(&session, "a", "{}"), call(&session, "b", "{}"));
        assert_eq!((text(a), text(b)), ("a".to_owned(), "b".to_owned()));
        assert!(matches!(call(&session, "late", "{}").await, Err(CallError::Timeout(_))));
        assert_eq!(text(call(&session, "next", "{}").await), "next");
    };
    tokio::join!(talk, calls);
}

#[tokio::test]
async fn a_server_that_gives_answers_in_batches_is_understood() {
    let (mut script, session, _) = session(legacy()).await;
    let talk = async {
        let [a, b] = [script.expect("tools/call").await, script.expect("tools/call").await];
        let answer = |request: &Value| json!({"id": request["id"], "result": {"content": [{"text": "x"}]}});
        script.say(json!([answer(&a), answer(&b)])).await;
    };
    let ((a, b), ()) = tokio::join!(async { tokio::join!(call(&session, "a", "{}"), call(&session, "b", "{}")) }, talk);
    assert!(a.is_ok() && b.is_ok());
}

#[tokio::test]
async fn a_reader_of_progress_that_is_slow_holds_up_nobody_else_and_gets_its_reply() {
    let (mut script, session, _) = session(legacy()).await;
    let (sender, mut progress) = mpsc::channel(1);
    let cancel = CancellationToken::new();
    let meta = Map::new();
    let slow = session.call("slow", None, &meta, Some(sender), &cancel);
    let talk = async {
        let request = script.expect("tools/call").await;
        let token = &request["params"]["_meta"]["progressToken"];
        for n in 0..1000 {
            let params = json!({"progressToken": token, "progress": n});
            script.say(json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})).await;
        }
        script.answer(&request, json!({"content": []})).await;
        let request = script.expect("tools/call").await;
        script.answer(&request, json!({"content": [{"text": "other"}]})).await;
    };
    let others = async {
        assert_eq!(text(call(&session, "other", "{}").await), "other");
        // Only now is the progress read.
        let mut read = 0;
        while progress.recv().await.is_some() {
            read += 1;
        }
        assert!((1..200).contains(&read), "{read}");
    };
    let (reply, (), ()) = tokio::join!(slow, talk, others);
    assert!(matches!(reply, Ok(Reply::Result(_))), "{reply:?}");
}

#[tokio::test]
async fn progress_extends_a_call_up_to_its_longest_time_only() {
    let (call, call_max) = (Duration::from_millis(200), Duration::from_millis(600));
    let (mut script, session, _) = session(SessionOptions { call, call_max, ..legacy() }).await;
    let talk = async {
        let request = script.expect("tools/call").await;
        let params = json!({"progressToken": request["params"]["_meta"]["progressToken"], "progress": 1});
        loop {
            script.say(json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})).await;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let begin = std::time::Instant::now();
    let reply = tokio::select! {
        () = talk => unreachable!(),
        reply = super::support::upstream::call(&session, "slow", "{}") => reply,
    };
    assert!(matches!(reply, Err(CallError::Timeout(_))), "{reply:?}");
    assert!((call_max..SOON).contains(&begin.elapsed()), "{:?}", begin.elapsed());
}

#[tokio::test]
async fn a_server_that_stops_reading_is_over_even_if_it_goes_on_talking() {
    let (script, session, _) = session(legacy()).await;
    let Script { incoming, outgoing: _still_talking } = script;
    drop(incoming);
    let error = call(&session, "a", "{}").await.expect_err("no reply");
    assert!(matches!(error, CallError::NotExecuted(_)), "{error:?}");
    let cause = tokio::time::timeout(SOON, session.ended()).await.expect("it ends");
    assert_eq!(cause.kind, CauseKind::TransportClosed);
}

#[tokio::test]
async fn an_answer_to_initialize_that_is_none_fails_the_handshake_in_words() {
    for result in [json!({}), json!("hello"), json!(null), json!({"protocolVersion": 7})] {
        let (mut script, wire) = Script::new();
        let talk = async {
            let request = script.expect("initialize").await;
            script.answer(&request, result.clone()).await;
        };
        let (opened, ()) = tokio::join!(open_with(wire, legacy()), talk);
        let cause = opened.expect_err("no session").cause;
        assert_eq!(cause.kind, CauseKind::HandshakeFailed, "{result}: {cause}");
        assert!(cause.detail.contains("initialize"), "{result}: {cause}");
    }
}

#[tokio::test]
async fn a_server_that_answers_everything_is_not_taken_for_a_modern_one() {
    let (mut script, wire) = Script::new();
    let talk = async {
        let probe = script.expect("server/discover").await;
        script.answer(&probe, json!({})).await;
        script.shake_hands().await;
    };
    let (opened, ()) = tokio::join!(open_with(wire, options()), talk);
    assert_eq!(opened.expect("a session").0.era(), Era::Legacy);
}

#[tokio::test]
async fn a_probe_is_answered_by_any_answer() {
    let (mut script, session, _) = session(legacy()).await;
    let talk = async {
        let ping = script.expect("ping").await;
        let error = json!({"code": -32601, "message": "no ping"});
        script.say(json!({"jsonrpc": "2.0", "id": ping["id"], "error": error})).await;
        let ping = script.expect("ping").await;
        script.answer(&ping, json!(null)).await;
        script.expect("ping").await;
    };
    let probes = async {
        session.probe(SOON).await.expect("alive");
        session.probe(SOON).await.expect("alive");
        let cause = session.probe(Duration::from_millis(100)).await.expect_err("silent");
        assert_eq!(cause.kind, CauseKind::LivenessFailed);
    };
    tokio::join!(talk, probes);
}

#[tokio::test]
async fn one_bad_tool_never_hides_the_others() {
    let (mut script, session, _) = session(legacy()).await;
    let talk = async {
        let request = script.expect("tools/list").await;
        let good = json!({"name": "good", "inputSchema": {"type": "object"}});
        script.answer(&request, json!({"tools": [{"name": "bad"}, 42, good]})).await;
    };
    let (tools, ()) = tokio::join!(session.list_tools(), talk);
    let tools = tools.expect("tools");
    assert_eq!(tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["good"]);
}
