//! What a child writes to stderr: always read, so that it never blocks; kept within bounds whatever it writes.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::redact::Redactor;
use crate::core::generation::Generation;
use crate::telemetry::note::Note;

/// How much of the end is kept for the cause of an ending, in bytes.
const TAIL: usize = 8 << 10;
/// How much of a line is looked at, in bytes; the rest of it is skipped.
const LINE_READ: usize = 4 << 10;
/// How much of a line is shown, in characters.
const LINE_SHOWN: usize = 1000;
/// Lines per second that are logged in the long run, and how many at once.
const RATE: f64 = 20.0;
const BURST: f64 = 100.0;
/// How often lines that were left out are counted in the log.
const SUPPRESSED_EVERY: Duration = Duration::from_secs(10);

/// The last lines, shared with whoever explains an ending.
#[derive(Clone, Default)]
pub struct Tail(Arc<Mutex<Lines>>);

#[derive(Default)]
struct Lines {
    lines: VecDeque<String>,
    /// Of all lines with their newlines, in bytes.
    size: usize,
}

impl Tail {
    /// At most 8 KiB, oldest line first.
    pub fn text(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.lines.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }

    fn push(&self, line: String) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.size += line.len() + 1;
        kept.lines.push_back(line);
        while kept.size > TAIL {
            let Some(oldest) = kept.lines.pop_front() else { break };
            kept.size -= oldest.len() + 1;
        }
    }
}

/// Turns bytes into notes and a tail.
pub struct StderrLog<N> {
    server: String,
    generation: Generation,
    redactor: Redactor,
    tail: Tail,
    note: N,
    line: Vec<u8>,
    /// The rest of the current line is skipped.
    skipping: bool,
    allowance: f64,
    refilled: Instant,
    suppressed: u64,
    counted: Instant,
}

impl<N: FnMut(&Note)> StderrLog<N> {
    /// Reports to `note` and `tail`.
    pub fn new(server: &str, generation: Generation, redactor: Redactor, tail: Tail, now: Instant, note: N) -> Self {
        Self {
            server: server.to_owned(),
            generation,
            redactor,
            tail,
            note,
            line: Vec::new(),
            skipping: false,
            allowance: BURST,
            refilled: now,
            suppressed: 0,
            counted: now,
        }
    }

    /// Takes what was read.
    pub fn feed(&mut self, bytes: &[u8], now: Instant) {
        let mut left = bytes.len();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            left -= piece.len();
            let (content, ends) = piece.strip_suffix(b"\n").map_or((piece, false), |content| (content, true));
            if !self.skipping {
                let room = LINE_READ - self.line.len();
                self.line.extend_from_slice(&content[..content.len().min(room)]);
                if content.len() > room {
                    // Said now: the end of an endless line never comes.
                    self.finish_line(true, now);
                    self.skipping = true;
                }
            }
            if ends {
                if left > TAIL && self.allowance < 1.0 && !self.skipping {
                    // Neither will it be said nor will the tail keep it: a flood must not cost more than this.
                    self.line.clear();
                    self.suppressed += 1;
                } else if !self.skipping {
                    self.finish_line(false, now);
                }
                self.skipping = false;
            }
        }
    }

    /// Says what is left unsaid: a last line without its newline, and how many were left out.
    pub fn flush(&mut self, now: Instant) {
        if !self.line.is_empty() {
            self.finish_line(false, now);
            self.skipping = true;
        }
        self.count_suppressed(now);
    }

    fn finish_line(&mut self, cut: bool, now: Instant) {
        let raw = std::mem::take(&mut self.line);
        let mut text = self.redactor.redact(readable(&raw));
        if cut {
            // What is left of a secret that was cut in two is no longer recognised.
            let end = text.len().saturating_sub(self.redactor.longest());
            text.truncate(text.floor_char_boundary(end));
        }
        if let Some((end, _)) = text.char_indices().nth(LINE_SHOWN) {
            text.truncate(end);
            text.push('…');
        }
        if text.trim().is_empty() {
            return;
        }
        self.tail.push(text.clone());
        self.say(text, now);
    }

    fn say(&mut self, line: String, now: Instant) {
        let refill = now.saturating_duration_since(self.refilled).as_secs_f64() * RATE;
        self.allowance = (self.allowance + refill).min(BURST);
        self.refilled = now;
        if self.allowance >= 1.0 {
            self.allowance -= 1.0;
            (self.note)(&Note::StderrLine { server: self.server.clone(), generation: self.generation, line });
        } else {
            self.suppressed += 1;
        }
        if now.saturating_duration_since(self.counted) >= SUPPRESSED_EVERY {
            self.count_suppressed(now);
        }
    }

    fn count_suppressed(&mut self, now: Instant) {
        self.counted = now;
        let lines = std::mem::take(&mut self.suppressed);
        if lines > 0 {
            (self.note)(&Note::StderrSuppressed { server: self.server.clone(), lines });
        }
    }
}

/// Lossy UTF-8 without control characters and the escape sequences of terminals.
fn readable(raw: &[u8]) -> String {
    let lossy = String::from_utf8_lossy(raw);
    let mut text = String::with_capacity(lossy.len());
    let mut characters = lossy.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' if characters.next_if_eq(&'[').is_some() => {
                // Parameters until a final byte (ECMA-48, 5.4).
                for character in characters.by_ref() {
                    if ('@'..='~').contains(&character) {
                        break;
                    }
                }
            }
            '\t' => text.push(' '),
            character if character.is_control() => {}
            character => text.push(character),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::settings::StdioSettings;

    /// What was noted: lines as they are, suppressed ones as `+count`.
    fn read(secret: &str, feed: impl FnOnce(&mut dyn FnMut(&[u8], Duration))) -> (Vec<String>, String) {
        let settings = StdioSettings {
            command: String::new(),
            args: Vec::new(),
            env: [("S".to_owned(), secret.to_owned().into())].into(),
            environment: Default::default(),
            cwd: None,
        };
        let (mut said, tail, start) = (Vec::new(), Tail::default(), Instant::now());
        let note = |note: &Note| match note {
            Note::StderrLine { line, .. } => said.push(line.clone()),
            Note::StderrSuppressed { lines, .. } => said.push(format!("+{lines}")),
            other => panic!("{other:?}"),
        };
        let mut log = StderrLog::new("s", Generation::new(1), Redactor::new(&settings), tail.clone(), start, note);
        let mut last = start;
        feed(&mut |bytes, after| {
            last = start + after;
            log.feed(bytes, last);
        });
        log.flush(last);
        drop(log);
        (said, tail.text())
    }

    #[test]
    fn lines_are_put_together_from_any_chunks_and_cleaned() {
        let (said, tail) = read("", |feed| {
            for byte in "caf\u{e9}\n\u{1b}[31mred\u{1b}[0m\ttab\r\n\n\0bye".bytes() {
                feed(&[byte], Duration::ZERO);
            }
            feed(b"\xff", Duration::ZERO);
        });
        assert_eq!(said, ["café", "red tab", "bye\u{fffd}"]);
        assert_eq!(tail, "café\nred tab\nbye\u{fffd}");
    }

    #[test]
    fn an_endless_line_is_said_once_and_takes_no_memory() {
        let (said, tail) = read("", |feed| {
            for _ in 0..64 {
                feed(&vec![b'a'; 1 << 20], Duration::ZERO);
            }
            feed(b"a\nnext\n", Duration::ZERO);
        });
        assert_eq!(said, [format!("{}…", "a".repeat(LINE_SHOWN)), "next".to_owned()]);
        assert!(tail.ends_with("…\nnext"));
    }

    #[test]
    fn a_flood_is_counted_instead_of_logged() {
        let (said, _) = read("", |feed| {
            feed(&b"line\n".repeat(1000), Duration::ZERO);
            feed(&b"line\n".repeat(1000), Duration::from_secs(1));
        });
        assert_eq!(said.iter().filter(|line| *line == "line").count(), 120);
        assert_eq!(said.last().map(String::as_str), Some("+1880"));
    }

    #[test]
    fn the_tail_is_the_end_within_its_bound() {
        let (_, tail) = read("", |feed| {
            for number in 0..5000 {
                feed(format!("line {number}\n").as_bytes(), Duration::ZERO);
            }
        });
        assert!(tail.len() <= TAIL && tail.len() > TAIL - 20, "{}", tail.len());
        assert!(tail.ends_with("line 4998\nline 4999"));
    }

    #[test]
    fn no_part_of_a_secret_is_said_even_where_a_line_is_cut() {
        let secret = "canary".repeat(100);
        let (said, tail) = read(&secret, |feed| {
            feed(format!("{}{secret}\n", "a".repeat(900)).as_bytes(), Duration::ZERO);
            feed(format!("{secret}{secret}{secret}{secret}{secret}{secret}{secret}").as_bytes(), Duration::ZERO);
        });
        assert!(!said.concat().contains("canary") && !tail.contains("canary"), "{said:?}");
    }
}
