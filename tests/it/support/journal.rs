//! How often the fixture was started and what it was asked, as it wrote down itself (`--journal FILE`).

use std::path::PathBuf;

/// The file that the fixture appends a line `<pid> <what>` to.
pub struct Journal {
    _directory: tempfile::TempDir,
    path: PathBuf,
}

impl Journal {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("journal");
        Self { _directory: directory, path }
    }

    pub fn path(&self) -> &str {
        self.path.to_str().expect("a path in UTF-8")
    }

    /// How many starts there were.
    pub fn starts(&self) -> usize {
        self.count("start")
    }

    /// How many lines say exactly this.
    pub fn count(&self, what: &str) -> usize {
        let text = std::fs::read_to_string(&self.path).unwrap_or_default();
        text.lines().filter(|line| line.split_once(' ').is_some_and(|(_, said)| said == what)).count()
    }
}
