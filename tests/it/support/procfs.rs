//! The independent observer: what `/proc` says about processes.

use std::fs;

use rustix::process::{Pid, Signal};

/// One process, as `/proc/PID/stat` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    pub pid: i32,
    pub parent: i32,
    pub group: i32,
    /// `R`, `S`, `Z`, …
    pub state: char,
}

impl Process {
    /// Whether it still runs: a zombie doesn't.
    pub fn is_alive(&self) -> bool {
        !matches!(self.state, 'Z' | 'X')
    }
}

/// The process with this id.
pub fn process(pid: i32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in parentheses and may hold any character: what follows the last one is regular.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?.chars().next()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    Some(Process { pid, parent, group, state })
}

/// All processes.
pub fn processes() -> Vec<Process> {
    let entries = fs::read_dir("/proc").expect("/proc is readable").flatten();
    entries.filter_map(|entry| process(entry.file_name().to_str()?.parse().ok()?)).collect()
}

/// Whether this process exists and is no zombie.
pub fn is_alive(pid: i32) -> bool {
    process(pid).is_some_and(|process| process.is_alive())
}

/// Children, their children, and so on; without `root` itself.
pub fn descendants(root: i32) -> Vec<Process> {
    let all = processes();
    let mut found: Vec<Process> = Vec::new();
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        for child in all.iter().filter(|process| process.parent == parent) {
            parents.push(child.pid);
            found.push(child.clone());
        }
    }
    found
}

/// Living processes whose environment holds `entry` (`KEY=value`), wherever they stand in the tree.
pub fn living_with_environment(entry: &str) -> Vec<Process> {
    let holds = |pid: i32| {
        fs::read(format!("/proc/{pid}/environ"))
            .is_ok_and(|environment| environment.split(|byte| *byte == 0).any(|found| found == entry.as_bytes()))
    };
    processes().into_iter().filter(|process| process.is_alive() && holds(process.pid)).collect()
}

/// Living processes with `argument` on their command line.
pub fn living_with_argument(argument: &str) -> Vec<Process> {
    let holds = |pid: i32| {
        fs::read(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|line| line.split(|byte| *byte == 0).any(|found| found == argument.as_bytes()))
    };
    processes().into_iter().filter(|process| process.is_alive() && holds(process.pid)).collect()
}

/// Resident memory in KiB.
pub fn resident_kib(pid: i32) -> Option<u64> {
    memory_kib(pid, "VmRSS:")
}

/// The most resident memory it ever had, in KiB.
pub fn peak_kib(pid: i32) -> Option<u64> {
    memory_kib(pid, "VmHWM:")
}

/// Signals one process. `false` if it is gone.
pub fn signal(pid: i32, signal: Signal) -> bool {
    Pid::from_raw(pid).is_some_and(|pid| rustix::process::kill_process(pid, signal).is_ok())
}

fn memory_kib(pid: i32, key: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with(key))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
