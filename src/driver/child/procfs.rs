//! What `/proc` says about processes.

use std::fs;

use rustix::process::{Pid, PidfdFlags, Signal};

/// One process at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Its id.
    pub pid: u32,
    /// Its parent's id.
    pub parent: u32,
    /// Its process group.
    pub group: u32,
    /// When it started, in clock ticks since boot: with the pid, this names a process for good.
    pub start: u64,
    /// Whether anything of it still runs. A zombie doesn't, unless it is only the first thread that is over.
    pub alive: bool,
}

impl Stat {
    /// The process with this id.
    pub fn of(pid: u32) -> Option<Self> {
        Self::parse(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// All processes that we can see.
    pub fn all() -> Vec<Self> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        entries.filter_map(|entry| Self::of(entry.file_name().to_str()?.parse().ok()?)).collect()
    }

    /// Whether this very process, not a later one with its id, still runs.
    pub fn still_runs(&self) -> bool {
        Self::of(self.pid).is_some_and(|now| now.alive && now.start == self.start)
    }

    /// Signals this very process. Errors mean that it is gone or not ours to signal; both show at the next look.
    pub fn signal(&self, signal: Signal) {
        let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) else { return };
        // Only once the descriptor is open is the id pinned: whoever has it now is who gets the signal.
        let Ok(descriptor) = rustix::process::pidfd_open(pid, PidfdFlags::empty()) else { return };
        if self.still_runs() {
            let _ = rustix::process::pidfd_send_signal(descriptor, signal);
        }
    }

    fn parse(pid: u32, stat: &str) -> Option<Self> {
        // The name stands in parentheses and may hold anything; what follows the last one is regular (proc(5)).
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
        let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
        let over = matches!(*fields.first()?, "Z" | "X" | "x");
        let threads = number(17)?;
        Some(Self {
            pid,
            parent: u32::try_from(number(1)?).ok()?,
            group: u32::try_from(number(2)?).ok()?,
            start: number(19)?,
            alive: !over || threads > 1,
        })
    }
}

/// The environment a process was started with, as `NAME=value` entries; nothing where we may not read it.
pub fn environment(pid: u32) -> Vec<String> {
    let bytes = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    bytes.split(|byte| *byte == 0).map(|entry| String::from_utf8_lossy(entry).into_owned()).collect()
}

/// The children that any thread of a process has started or inherited. Without the kernel's list of them
/// (`CONFIG_PROC_CHILDREN`) there are none to see.
pub fn children(pid: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_full_of_parentheses_and_spaces_confuses_nobody() {
        let line = "7 (a) b (c)) S 1 6 5 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 3 0 991 1 2";
        let stat = Stat::parse(7, line).unwrap();
        assert_eq!(stat, Stat { pid: 7, parent: 1, group: 6, start: 991, alive: true });
    }

    #[test]
    fn a_zombie_is_dead_only_without_other_threads() {
        let line = |threads: u32| format!("7 (x) Z 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 {threads} 0 991 0 0");
        assert!(!Stat::parse(7, &line(1)).unwrap().alive);
        assert!(Stat::parse(7, &line(2)).unwrap().alive);
    }

    #[test]
    fn we_find_ourselves_alive() {
        let me = Stat::of(std::process::id()).unwrap();
        assert!(me.still_runs());
        assert!(Stat::all().contains(&me));
        assert!(!Stat { start: me.start + 1, ..me }.still_runs());
    }
}
