//! Which of our child processes are spoken for. The others are orphans that came to us, to be reaped when they end.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::kin::Kin;

/// The processes that we started ourselves and have not reaped yet.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    owned: HashMap<u32, Option<Arc<Kin>>>,
    /// Forks whose child's id is not known yet.
    forking: usize,
    closed: bool,
}

impl Registry {
    /// Announces a fork: until the permit is used or dropped no child is taken for an orphan. `None` once closed.
    pub fn permit(&self) -> Option<ForkPermit> {
        let mut state = self.lock();
        if state.closed {
            return None;
        }
        state.forking += 1;
        Some(ForkPermit { registry: self.clone() })
    }

    /// Gives a process up: from now on it counts as an orphan.
    pub fn disown(&self, pid: u32) {
        self.lock().owned.remove(&pid);
    }

    /// The families of all servers' processes.
    pub fn families(&self) -> Vec<Arc<Kin>> {
        self.lock().owned.values().flatten().cloned().collect()
    }

    /// No permits any more. Returns how many servers' processes are left, started or being started.
    pub fn close(&self) -> usize {
        let mut state = self.lock();
        state.closed = true;
        state.owned.values().flatten().count() + state.forking
    }

    /// Calls `reap` with what tells whether a process is owned; not at all (`false`) while a fork is going on, since
    /// then nobody knows. Nothing becomes owned or disowned meanwhile.
    pub fn with_orphans(&self, reap: impl FnOnce(&dyn Fn(u32) -> bool)) -> bool {
        let state = self.lock();
        if state.forking > 0 {
            return false;
        }
        reap(&|pid| state.owned.contains_key(&pid));
        true
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Held across a fork.
#[derive(Debug)]
pub struct ForkPermit {
    registry: Registry,
}

impl ForkPermit {
    /// The fork made this process; `kin` is its family, where it is a server's.
    pub fn own(self, pid: u32, kin: Option<Arc<Kin>>) {
        self.registry.lock().owned.insert(pid, kin);
    }
}

impl Drop for ForkPermit {
    fn drop(&mut self) {
        self.registry.lock().forking -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_an_orphan_while_a_fork_is_going_on() {
        let registry = Registry::default();
        let permit = registry.permit().unwrap();
        assert!(!registry.with_orphans(|_| panic!("looked")));
        permit.own(7, None);
        let mut owned = (false, false);
        assert!(registry.with_orphans(|is_owned| owned = (is_owned(7), is_owned(8))));
        assert_eq!(owned, (true, false));
        registry.disown(7);
        assert!(registry.with_orphans(|is_owned| assert!(!is_owned(7))));
    }

    #[test]
    fn a_closed_registry_permits_no_fork_and_counts_those_under_way() {
        let registry = Registry::default();
        let permit = registry.permit().unwrap();
        assert_eq!(registry.close(), 1);
        assert!(registry.permit().is_none());
        drop(permit);
        assert_eq!(registry.close(), 0);
    }
}
