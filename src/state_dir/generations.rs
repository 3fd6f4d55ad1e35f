//! The generations that are open, for whoever has to clean up after a run that was killed.

use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::atomic;
use crate::core::generation::Generation;

/// The file's name in the state directory.
pub const FILE: &str = "generations.json";

/// One generation that is not closed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenGeneration {
    /// The server.
    pub server: String,
    /// Its number.
    pub generation: u64,
    /// Its process, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// RFC 3339, UTC.
    pub started: String,
}

/// The file of open generations. Each change rewrites it.
#[derive(Debug)]
pub struct OpenGenerations {
    path: PathBuf,
    open: Mutex<Vec<OpenGeneration>>,
}

impl OpenGenerations {
    pub(super) const fn new(path: PathBuf) -> Self {
        Self { path, open: Mutex::new(Vec::new()) }
    }

    /// A generation began, with this process if it has one.
    ///
    /// # Errors
    /// The file can't be written; the next change tries again.
    pub fn opened(&self, server: &str, generation: Generation, pid: Option<u32>) -> io::Result<()> {
        let started = humantime::format_rfc3339_millis(SystemTime::now()).to_string();
        let entry = OpenGeneration { server: server.to_owned(), generation: generation.number(), pid, started };
        self.change(|open| {
            open.retain(|other| (&other.server, other.generation) != (&entry.server, entry.generation));
            open.push(entry);
        })
    }

    /// A generation's end is proved.
    ///
    /// # Errors
    /// The file can't be written; the next change tries again.
    pub fn closed(&self, server: &str, generation: Generation) -> io::Result<()> {
        self.change(|open| open.retain(|other| other.server != server || other.generation != generation.number()))
    }

    fn change(&self, change: impl FnOnce(&mut Vec<OpenGeneration>)) -> io::Result<()> {
        // Held while the file is written: the last change has to be the last write.
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut open);
        atomic::write_json(&self.path, &*open)
    }
}

#[cfg(test)]
mod tests {
    use super::super::StateDir;
    use super::*;

    #[test]
    fn the_next_start_sees_what_was_opened_and_not_closed() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path()).unwrap();
        let generations = state.generations();
        generations.opened("github", Generation::new(1), Some(41)).unwrap();
        generations.opened("docs", Generation::new(7), None).unwrap();
        generations.closed("github", Generation::new(1)).unwrap();
        generations.opened("github", Generation::new(2), None).unwrap();
        generations.opened("github", Generation::new(2), Some(42)).unwrap();
        drop(state);

        let state = StateDir::open(dir.path()).unwrap();
        let left: Vec<_> =
            state.left_open().iter().map(|open| (open.server.as_str(), open.generation, open.pid)).collect();
        assert_eq!(left, [("docs", 7, None), ("github", 2, Some(42))]);
    }
}
