//! Sessions on disk: most legacy clients can't begin a new one when the gateway forgot theirs, so it must not, not even
//! when it is restarted.
//!
//! One line per event, `+id` or `-id`; written anew, with what is left, at each start and when it has grown.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::telemetry::Telemetry;
use crate::telemetry::note::Note;

/// Events after which the file is written anew.
const COMPACT_AFTER: usize = 20_000;

/// More than any file of ours has: 20,000 events and as many sessions.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// The file. After the first failure, which is reported, nothing more is written.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    file: Option<File>,
    events: usize,
    telemetry: Telemetry,
}

impl Store {
    /// Opens `path`, creating it if need be. Returns the ids of the sessions that it knows, oldest first; at most the
    /// newest `limit` of them. Never fails: without a usable file sessions only live as long as the process.
    #[must_use]
    pub fn open(path: PathBuf, limit: usize, telemetry: Telemetry) -> (Self, Vec<String>) {
        let mut store = Self { path, file: None, events: 0, telemetry };
        let mut ids = match read(&store.path) {
            Ok(text) => replay(&text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => {
                store.give_up(&error);
                return (store, Vec::new());
            }
        };
        ids.drain(..ids.len().saturating_sub(limit));
        store.rewrite(ids.iter().map(String::as_str));
        (store, ids)
    }

    /// A session began.
    pub fn begun(&mut self, id: &str) {
        self.append('+', id);
    }

    /// A session ended.
    pub fn ended(&mut self, id: &str) {
        self.append('-', id);
    }

    /// Whether it is time to [`Store::rewrite`].
    #[must_use]
    pub const fn has_grown(&self) -> bool {
        self.events >= COMPACT_AFTER
    }

    /// Leaves only `ids` in the file. What is there before stays until the new one is complete.
    pub fn rewrite<'i>(&mut self, ids: impl Iterator<Item = &'i str>) {
        let text: String = ids.flat_map(|id| ["+", id, "\n"]).collect();
        let fresh = self.path.with_extension("new");
        let written = create(&fresh).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            fs::rename(&fresh, &self.path)?;
            Ok(file)
        });
        self.events = 0;
        match written {
            Ok(file) => self.file = Some(file),
            Err(error) => self.give_up(&error),
        }
    }

    fn append(&mut self, sign: char, id: &str) {
        self.events += 1;
        if let Some(file) = &mut self.file
            && let Err(error) = file.write_all(format!("{sign}{id}\n").as_bytes())
        {
            self.give_up(&error);
        }
    }

    fn give_up(&mut self, error: &io::Error) {
        self.file = None;
        let path = self.path.display();
        let text = format!("client sessions will not survive a restart: {path}: {error}");
        self.telemetry.note(&Note::Warning { text });
    }
}

fn create(path: &Path) -> io::Result<File> {
    // Whoever knows an id can use the session.
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600).custom_flags(libc::O_NOFOLLOW).open(path)
}

fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(MAX_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

/// What a file says. A line that was cut off by a crash, or is none of ours, is left out.
fn replay(text: &str) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    let complete = text.rsplit_once('\n').map_or("", |(complete, _)| complete);
    let mut ended = std::collections::HashSet::new();
    for line in complete.lines().rev() {
        match (line.split_at_checked(1), line.len() == 33) {
            (Some(("-", id)), true) => {
                ended.insert(id);
            }
            (Some(("+", id)), true) if id.bytes().all(|byte| byte.is_ascii_hexdigit()) && ended.insert(id) => {
                ids.push(id.to_owned());
            }
            (Some(_) | None, _) => {}
        }
    }
    ids.reverse();
    ids
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn id(n: u32) -> String {
        format!("{n:032x}")
    }

    fn open(path: &Path, limit: usize) -> (Store, Vec<String>) {
        Store::open(path.to_owned(), limit, Telemetry::new())
    }

    #[test]
    fn what_began_and_did_not_end_is_known_after_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sessions");
        let (mut store, known) = open(&path, 10);
        assert!(known.is_empty());
        for n in 1..=4 {
            store.begun(&id(n));
        }
        store.ended(&id(2));
        drop(store);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let (mut store, known) = open(&path, 10);
        assert_eq!(known, [id(1), id(3), id(4)]);
        store.ended(&id(1));
        assert_eq!(open(&path, 10).1, [id(3), id(4)]);
        assert_eq!(open(&path, 1).1, [id(4)], "the newest ones, if there are too many");
    }

    #[test]
    fn a_torn_or_foreign_line_costs_nothing_but_itself() {
        let text = format!("+{}\nhello\n+zz\n\n+{}\n-{}\n+{}", id(1), id(2), id(1), id(3));
        assert_eq!(replay(&text), [id(2)]);
    }

    #[test]
    fn an_unusable_place_is_reported_and_not_fatal() {
        let telemetry = Telemetry::new();
        let (mut store, known) = Store::open("/proc/no/such/place".into(), 10, telemetry);
        assert!(known.is_empty() && store.file.is_none());
        store.begun(&id(1));
    }

    #[test]
    fn the_file_does_not_grow_for_ever() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sessions");
        let (mut store, _) = open(&path, 10);
        for n in 0..30_000 {
            store.begun(&id(n));
            if store.has_grown() {
                store.rewrite(std::iter::once(id(n).as_str()));
            }
        }
        assert!(fs::metadata(&path).unwrap().len() < 34 * 20_001);
    }
}
