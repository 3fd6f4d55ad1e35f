//! From the text of a message to its frames.

use super::Frame;

/// What one message (a line, a body, an event) holds.
#[derive(Debug)]
pub enum Message {
    /// One frame.
    One(Frame),
    /// A batch, which MCP 2025-03-26 let servers send.
    Batch(Vec<Frame>),
}

/// Reads one message; `None` if it is no JSON-RPC.
#[must_use]
pub fn decode(text: &[u8]) -> Option<Message> {
    if text.trim_ascii_start().first() == Some(&b'[') {
        let frames: Vec<Frame> = serde_json::from_slice(text).ok()?;
        return (!frames.is_empty() && frames.iter().all(is_message)).then_some(Message::Batch(frames));
    }
    let frame: Frame = serde_json::from_slice(text).ok()?;
    is_message(&frame).then_some(Message::One(frame))
}

fn is_message(frame: &Frame) -> bool {
    frame.method.is_some() || frame.result.is_some() || frame.error.is_some()
}

#[cfg(test)]
mod tests {
    use super::super::{Id, Reply};
    use super::*;

    #[test]
    fn junk_is_no_message() {
        for junk in ["Starting…", "{not json}", "[1,2]", "[]", "42", "null", "{}", r#"{"level":"info"}"#, r#"{"id":1}"#]
        {
            assert!(decode(junk.as_bytes()).is_none(), "{junk}");
        }
        assert!(decode(b"caf\xe9 {}").is_none());
        assert!(decode(b"{\"method\":\"caf\xe9\"}").is_none());
    }

    #[test]
    fn payloads_stay_the_same_text() {
        let result = r#"{"z":1.10, "a":12345678901234567890123,"nested":{"b":null}}"#;
        let text = format!(r#"{{"xTop":1,"result":{result},"id":"5","jsonrpc":"2.0"}}"#);
        let Some(Message::One(frame)) = decode(text.as_bytes()) else { panic!("no frame") };
        assert_eq!(frame.id.as_ref().and_then(Id::as_number), Some(5));
        assert!(matches!(frame.into_reply(), Some(Reply::Result(raw)) if raw.get() == result));
    }

    #[test]
    fn a_null_result_is_an_answer_and_a_null_error_is_none() {
        for text in [r#"{"id":1,"result":null}"#, r#"{"id":1,"result":null,"error":null}"#] {
            let Some(Message::One(frame)) = decode(text.as_bytes()) else { panic!("no frame: {text}") };
            assert!(matches!(frame.into_reply(), Some(Reply::Result(raw)) if raw.get() == "null"), "{text}");
        }
    }

    #[test]
    fn a_batch_is_all_its_frames() {
        let text = br#" [{"id":1,"result":{}},{"method":"notifications/message"}]"#;
        assert!(matches!(decode(text), Some(Message::Batch(frames)) if frames.len() == 2));
    }
}
