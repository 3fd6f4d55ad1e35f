//! What a server writes to stdout that is no message: banners, log lines, debris.

use crate::telemetry::Telemetry;
use crate::telemetry::note::Note;

/// How many pieces of a generation are shown; all are counted.
const SHOWN: u32 = 5;
/// Characters of a piece that are shown.
const PREVIEW: usize = 120;

/// Reports junk.
#[derive(Debug)]
pub struct Junk {
    server: String,
    telemetry: Telemetry,
    shown: u32,
}

impl Junk {
    /// For one generation of one server.
    pub fn new(server: &str, telemetry: Telemetry) -> Self {
        Self { server: server.to_owned(), telemetry, shown: 0 }
    }

    /// Reports one piece.
    pub fn report(&mut self, bytes: &[u8]) {
        let preview = (self.shown < SHOWN).then(|| {
            self.shown += 1;
            preview(bytes)
        });
        self.telemetry.note(&Note::JunkReceived { server: self.server.clone(), preview });
    }
}

/// The beginning as lossy UTF-8 without control characters.
fn preview(bytes: &[u8]) -> String {
    // Four bytes is the longest character: enough bytes for PREVIEW characters, whatever the length of the line.
    let head = bytes.get(..PREVIEW * 4).unwrap_or(bytes);
    let text = String::from_utf8_lossy(head);
    let mut shown: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(PREVIEW).collect();
    if text.chars().nth(PREVIEW).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preview_is_short_and_harmless() {
        assert_eq!(preview(b"Starting\x1b[31m\xff"), "Starting [31m\u{fffd}");
        assert_eq!(preview("é".repeat(PREVIEW).as_bytes()), "é".repeat(PREVIEW));
        assert_eq!(preview("é".repeat(100_000).as_bytes()), format!("{}…", "é".repeat(PREVIEW)));
    }

    #[test]
    fn only_the_first_pieces_are_shown() {
        let mut junk = Junk::new("s", Telemetry::default());
        for _ in 0..20 {
            junk.report(b"x");
        }
        assert_eq!(junk.shown, SHOWN);
    }
}
