//! The mark on every process of ours: environment variables that say whose it is. They are inherited, so also what
//! leaves its group, its session and its parent carries them.

use std::fmt;
use std::fs;
use std::str::FromStr;

use super::procfs::{self, Stat};
use crate::core::generation::Generation;

/// Names the supervisor: `<pid>:<start time>:<boot id>:<pid namespace>:<instance>`.
///
/// All three names start with this one, and configuration ignores whatever does.
pub const MARK: &str = "MCP_SIDECAR_MARK";
/// Names the server.
pub const MARK_SERVER: &str = "MCP_SIDECAR_MARK_SERVER";
/// Gives the generation's number.
pub const MARK_GENERATION: &str = "MCP_SIDECAR_MARK_GENERATION";

/// Stands for what could not be read. What is unknown proves nothing.
const UNKNOWN: &str = "-";

/// One run of one supervisor, told apart from every other run on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    pid: u32,
    start: u64,
    boot: String,
    namespace: String,
    instance: String,
}

impl Mark {
    /// This process's own.
    ///
    /// # Errors
    /// When `/proc` is not mounted.
    pub fn of_ourselves() -> std::io::Result<Self> {
        let pid = std::process::id();
        let stat = Stat::of(pid).ok_or_else(|| std::io::Error::other("/proc/self/stat can't be read"))?;
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id");
        let namespace = fs::read_link("/proc/self/ns/pid");
        Ok(Self {
            pid,
            start: stat.start,
            boot: boot.map_or_else(|_| UNKNOWN.to_owned(), |id| id.trim().to_owned()),
            namespace: namespace.ok().as_deref().and_then(inode).unwrap_or_else(|| UNKNOWN.to_owned()),
            instance: format!("{:016x}", fastrand::u64(..)),
        })
    }

    /// The environment entries of one generation's processes.
    pub fn entries(&self, server: &str, generation: Generation) -> [(&'static str, String); 3] {
        [(MARK, self.to_string()), (MARK_SERVER, server.to_owned()), (MARK_GENERATION, generation.to_string())]
    }

    /// Nothing that is older can be a process of this supervisor.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Whether the supervisor that this mark names is beyond doubt over: we would see it, and it isn't there.
    /// `us` is our own mark, for the boot and the namespace that we can judge about.
    pub fn is_provably_dead(&self, us: &Self) -> bool {
        let judgeable = |theirs: &str, ours: &str| theirs == ours && ours != UNKNOWN;
        judgeable(&self.boot, &us.boot)
            && judgeable(&self.namespace, &us.namespace)
            && !Stat::of(self.pid).is_some_and(|now| now.alive && now.start == self.start)
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}:{}:{}", self.pid, self.start, self.boot, self.namespace, self.instance)
    }
}

impl FromStr for Mark {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let parts: Vec<&str> = text.split(':').collect();
        let [pid, start, boot, namespace, instance] = parts[..] else { return Err(()) };
        Ok(Self {
            pid: pid.parse().map_err(drop)?,
            start: start.parse().map_err(drop)?,
            boot: boot.to_owned(),
            namespace: namespace.to_owned(),
            instance: instance.to_owned(),
        })
    }
}

/// What a marked process's environment says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marking {
    /// Whose it is.
    pub mark: Mark,
    /// Of which server; empty if that is missing.
    pub server: String,
    /// Of which generation, as text.
    pub generation: String,
}

impl Marking {
    /// Of the process with this id, if it is marked and we may read it.
    pub fn of(pid: u32) -> Option<Self> {
        Self::read(&procfs::environment(pid))
    }

    fn read(environment: &[String]) -> Option<Self> {
        let value = |name: &str| environment.iter().find_map(|entry| entry.strip_prefix(name)?.strip_prefix('='));
        Some(Self {
            mark: value(MARK)?.parse().ok()?,
            server: value(MARK_SERVER).unwrap_or_default().to_owned(),
            generation: value(MARK_GENERATION).unwrap_or_default().to_owned(),
        })
    }
}

/// The number in `pid:[4026531836]`.
fn inode(link: &std::path::Path) -> Option<String> {
    Some(link.to_str()?.strip_prefix("pid:[")?.strip_suffix(']')?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_survives_its_spelling() {
        let mark = Mark::of_ourselves().unwrap();
        assert_eq!(mark.to_string().parse(), Ok(mark));
        assert_eq!("1:2:three".parse::<Mark>(), Err(()));
    }

    #[test]
    fn a_marking_is_read_from_the_entries_it_was_written_as() {
        let mark = Mark::of_ourselves().unwrap();
        let entries = mark.entries("files", Generation::new(7));
        let environment: Vec<String> = entries.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let marking = Marking { mark, server: "files".to_owned(), generation: "7".to_owned() };
        assert_eq!(Marking::read(&environment), Some(marking));
        assert_eq!(Marking::read(&environment[1..]), None, "the supervisor's own variable is what counts");
    }

    #[test]
    fn only_a_supervisor_that_we_would_see_is_provably_dead() {
        let us = Mark::of_ourselves().unwrap();
        assert!(!us.is_provably_dead(&us), "we are alive");
        let dead = Mark { start: us.start + 1, ..us.clone() };
        assert!(dead.is_provably_dead(&us), "our pid, but another process");
        assert!(!Mark { boot: "elsewhere".to_owned(), ..dead.clone() }.is_provably_dead(&us));
        assert!(!Mark { namespace: "4026531000".to_owned(), ..dead.clone() }.is_provably_dead(&us));
        let blind = Mark { boot: UNKNOWN.to_owned(), ..us };
        assert!(!Mark { boot: UNKNOWN.to_owned(), ..dead }.is_provably_dead(&blind), "unknown proves nothing");
    }
}
