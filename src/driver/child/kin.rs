//! The family of one generation's process: whatever has to be gone before the next generation may start.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use rustix::process::Signal;

use super::mark::Marking;
use super::procfs::{self, Stat};

/// The family of one process that we started.
///
/// A member is found by any of: the leader's process group, descent from it (seen now or remembered from before its
/// parents died), this generation's mark in its environment.
#[derive(Debug)]
pub struct Kin {
    leader: Stat,
    marking: Marking,
    remembered: Mutex<HashMap<u32, Stat>>,
}

impl Kin {
    /// The family of `leader`, which carries `marking`.
    pub fn new(leader: Stat, marking: Marking) -> Self {
        Self { leader, marking, remembered: Mutex::default() }
    }

    /// Notes the present descendants, cheaply: their parents may be dead when it matters.
    pub fn remember(&self) {
        let mut remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        remembered.retain(|_, stat| stat.still_runs());
        let mut parents: Vec<u32> = remembered.keys().copied().collect();
        parents.push(self.leader.pid);
        while let Some(parent) = parents.pop() {
            for child in procfs::children(parent) {
                if let Some(stat) = Stat::of(child).filter(|stat| stat.alive && !remembered.contains_key(&child)) {
                    remembered.insert(child, stat);
                    parents.push(child);
                }
            }
        }
    }

    /// Members that still run, the leader included. Reads all of `/proc`: not for an async thread.
    pub fn living(&self) -> Vec<Stat> {
        // Nothing older than the leader descends from it; and our own id may not be signalled whatever happens.
        let candidates: Vec<Stat> = Stat::all().into_iter().filter(|stat| stat.start >= self.leader.start).collect();
        let mut remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        let is_member = |stat: &Stat| {
            stat.pid == self.leader.pid
                || stat.group == self.leader.pid
                || remembered.get(&stat.pid).is_some_and(|known| known.start == stat.start)
                || (stat.alive && Marking::of(stat.pid).as_ref() == Some(&self.marking))
        };
        let family = with_descendants(&candidates, is_member);
        remembered.extend(family.iter().map(|stat| (stat.pid, *stat)));
        family
    }
}

/// Those that `is_member` picks, and what descends from them; only those that still run, and never ourselves.
pub fn with_descendants(all: &[Stat], is_member: impl Fn(&Stat) -> bool) -> Vec<Stat> {
    let us = std::process::id();
    let mut members: HashSet<u32> = all.iter().filter(|stat| is_member(stat)).map(|stat| stat.pid).collect();
    let mut known = 0;
    while known < members.len() {
        known = members.len();
        members
            .extend(all.iter().filter(|stat| members.contains(&stat.parent)).map(|stat| stat.pid).collect::<Vec<_>>());
    }
    let living = all.iter().filter(|stat| stat.alive && stat.pid != us && members.contains(&stat.pid));
    living.copied().collect()
}

/// Signals each of them.
pub fn signal_all(family: &[Stat], signal: Signal) {
    for member in family {
        member.signal(signal);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::Command;
    use std::time::{Duration, Instant};

    use super::super::mark::Mark;
    use super::*;

    fn stat(pid: u32, parent: u32) -> Stat {
        Stat { pid, parent, group: pid, start: 0, alive: true }
    }

    #[test]
    fn a_descendant_that_was_seen_once_is_known_for_good() {
        let script = "env -i setsid sleep 60 & wait";
        let mut shell = Command::new("sh").args(["-c", script]).process_group(0).spawn().unwrap();
        let marking = Marking { mark: Mark::of_ourselves().unwrap(), server: String::new(), generation: String::new() };
        let kin = Kin::new(Stat::of(shell.id()).unwrap(), marking);
        let begin = Instant::now();
        let leads_a_group = |pid: &u32| Stat::of(*pid).is_some_and(|stat| stat.group == *pid);
        while !kin.remembered.lock().unwrap().keys().any(leads_a_group) {
            assert!(begin.elapsed() < Duration::from_secs(10), "no descendant with a group of its own");
            kin.remember();
        }
        shell.kill().unwrap();
        shell.wait().unwrap();
        let family = kin.living();
        signal_all(&family, Signal::KILL);
        assert_eq!(family.len(), 1, "{family:?}");
        assert_eq!(family[0].group, family[0].pid);
    }

    #[test]
    fn descendants_of_a_member_are_members_whatever_their_order() {
        let all = [stat(30, 20), stat(20, 10), stat(10, 1), stat(40, 1), stat(50, 40)];
        let family = with_descendants(&all, |stat| stat.pid == 10);
        assert_eq!(family.iter().map(|stat| stat.pid).collect::<Vec<_>>(), [30, 20, 10]);
    }

    #[test]
    fn the_dead_and_ourselves_are_never_members() {
        let us = std::process::id();
        let all = [Stat { alive: false, ..stat(10, 1) }, stat(us, 10), stat(20, 10)];
        let family = with_descendants(&all, |stat| stat.pid == 10);
        assert_eq!(family.iter().map(|stat| stat.pid).collect::<Vec<_>>(), [20]);
    }
}
