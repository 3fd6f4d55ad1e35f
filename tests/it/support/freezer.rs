//! Processes that not even SIGKILL ends: frozen by a cgroup of version 1.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A cgroup whose processes stand still, and don't die, until it is dropped.
pub struct Freezer {
    path: PathBuf,
}

impl Freezer {
    /// `None`, said on stderr, where it can't be had: it takes root and version 1 of cgroups.
    pub fn new() -> Option<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let name = format!("mcp-sidecar-test-{}-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let path = PathBuf::from("/sys/fs/cgroup/freezer").join(name);
        if let Err(error) = std::fs::create_dir(&path) {
            eprintln!("skipped: needs root and the freezer of cgroup v1 ({error})");
            return None;
        }
        Some(Self { path })
    }

    /// Freezes a process.
    pub fn freeze(&self, pid: i32) {
        self.set("cgroup.procs", &pid.to_string());
        self.set("freezer.state", "FROZEN");
        let begin = Instant::now();
        while !std::fs::read_to_string(self.path.join("freezer.state")).expect("readable").starts_with("FROZEN") {
            assert!(begin.elapsed() < Duration::from_secs(10), "{pid} doesn't freeze");
            std::thread::yield_now();
        }
    }

    fn set(&self, file: &str, value: &str) {
        std::fs::write(self.path.join(file), value).expect("the freezer obeys");
    }
}

impl Drop for Freezer {
    fn drop(&mut self) {
        self.set("freezer.state", "THAWED");
        let begin = Instant::now();
        // Busy for as long as somebody is in it, if only dying.
        while std::fs::remove_dir(&self.path).is_err() && begin.elapsed() < Duration::from_secs(5) {
            std::thread::yield_now();
        }
    }
}
