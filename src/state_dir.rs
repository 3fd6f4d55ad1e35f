//! The optional directory that outlives a run: its lock, how the last run ended, which generations were open.
//!
//! Everything in here touches the file system: not for a runtime's worker thread in a loop.

mod atomic;
pub mod generations;
mod lock;

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::exit::record::ExitRecord;
use generations::{OpenGeneration, OpenGenerations};
use lock::Lock;

/// A locked state directory. Dropping it unlocks.
#[derive(Debug)]
pub struct StateDir {
    path: PathBuf,
    last_exit: Option<ExitRecord>,
    left_open: Vec<OpenGeneration>,
    _lock: Lock,
}

/// Why the directory can't be used. Meant for exit code 69.
#[derive(Debug, thiserror::Error)]
pub enum StateDirError {
    /// Another process holds it.
    #[error("state directory {path} is used by {}", holder(*pid))]
    Locked {
        /// The directory.
        path: String,
        /// Who holds it, where its lock file says so.
        pid: Option<u32>,
    },
    /// It can't be created, locked or written.
    #[error("state directory {path} can't be used: {source}")]
    Io {
        /// The directory.
        path: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl StateDir {
    /// Creates the directory if need be (0700), locks it, reads what the last run left, and leaves a record in its place that
    /// says "unclean" until [`StateDir::write_last_exit`] knows better.
    ///
    /// # Errors
    /// Another process holds the directory, or it can't be created, locked or written. Files that can't be understood are
    /// no error: they count as absent.
    pub fn open(path: &Path) -> Result<Self, StateDirError> {
        let failed = |source| StateDirError::Io { path: path.display().to_string(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
        let lock = match Lock::acquire(&path.join("lock")).map_err(failed)? {
            Ok(lock) => lock,
            Err(pid) => return Err(StateDirError::Locked { path: path.display().to_string(), pid }),
        };
        let last_exit = read_json(&path.join(LAST_EXIT));
        let left_open = read_json(&path.join(generations::FILE)).unwrap_or_default();
        let state = Self { path: path.to_owned(), last_exit, left_open, _lock: lock };
        state.write_last_exit(&ExitRecord::unclean(SystemTime::now())).map_err(failed)?;
        Ok(state)
    }

    /// How the previous run ended; `None` if there was none.
    #[must_use]
    pub const fn last_exit(&self) -> Option<&ExitRecord> {
        self.last_exit.as_ref()
    }

    /// Generations that the previous run did not close: their processes may still live.
    #[must_use]
    pub fn left_open(&self) -> &[OpenGeneration] {
        &self.left_open
    }

    /// Where the generations of this run are to be entered. It begins empty, with the first entry.
    #[must_use]
    pub fn generations(&self) -> OpenGenerations {
        OpenGenerations::new(self.path.join(generations::FILE))
    }

    /// Records how this run ends.
    ///
    /// # Errors
    /// The file can't be written; the old one stays.
    pub fn write_last_exit(&self, record: &ExitRecord) -> io::Result<()> {
        atomic::write_json(&self.path.join(LAST_EXIT), record)
    }

    /// The directory, for whoever keeps more in it.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

const LAST_EXIT: &str = "last-exit.json";

fn holder(pid: Option<u32>) -> String {
    pid.map_or_else(|| "another process".to_owned(), |pid| format!("another process, pid {pid}"))
}

fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::exit::ExitReason;

    #[test]
    fn a_second_sidecar_is_told_who_holds_the_directory() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state");
        let first = StateDir::open(&path).unwrap();
        let error = StateDir::open(&path).unwrap_err().to_string();
        assert!(error.contains(&format!("pid {}", std::process::id())), "{error}");
        assert!(error.contains(&path.display().to_string()), "{error}");
        drop(first);
        StateDir::open(&path).unwrap();
    }

    #[test]
    fn the_next_start_reads_how_the_last_run_ended() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path()).unwrap();
        assert_eq!(state.last_exit(), None);
        let record = ExitRecord::new(&ExitReason::Panic("boom".to_owned()), SystemTime::UNIX_EPOCH);
        state.write_last_exit(&record).unwrap();
        drop(state);
        assert_eq!(StateDir::open(dir.path()).unwrap().last_exit(), Some(&record));
    }

    #[test]
    fn a_run_that_was_killed_reads_as_unclean() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path()).unwrap();
        state.write_last_exit(&ExitRecord::new(&ExitReason::Signal, SystemTime::now())).unwrap();
        drop(state);
        drop(StateDir::open(dir.path()).unwrap());
        let state = StateDir::open(dir.path()).unwrap();
        assert_eq!(state.last_exit().unwrap().reason, "unclean");
    }

    #[test]
    fn the_directory_is_private_and_a_file_that_makes_no_sense_is_as_good_as_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b");
        drop(StateDir::open(&path).unwrap());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(fs::metadata(path.join(LAST_EXIT)).unwrap().permissions().mode() & 0o777, 0o600);
        fs::write(path.join(LAST_EXIT), "{\"reason\":").unwrap();
        fs::write(path.join(generations::FILE), "[1]").unwrap();
        let state = StateDir::open(&path).unwrap();
        assert_eq!(state.last_exit(), None);
        assert_eq!(state.left_open(), []);
    }

    #[test]
    fn a_directory_that_cannot_be_made_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        let error = StateDir::open(&file.join("state")).unwrap_err();
        assert!(matches!(error, StateDirError::Io { .. }), "{error}");
        assert!(error.to_string().contains("file/state"), "{error}");
    }
}
