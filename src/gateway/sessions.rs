//! Sessions of legacy clients. They know of no server: generations come and go beneath them.

mod session;
mod store;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::telemetry::Telemetry;
pub use session::{InFlight, Occupied, Session};
use store::Store;

/// How many sessions there may be, and for how long an unused one is kept.
#[derive(Clone, Copy, Debug)]
pub struct SessionLimits {
    /// Default 10,000. Beyond it the session that was idle longest goes.
    pub count: usize,
    /// Default 24 h without a request, a call or an open stream.
    pub idle: Duration,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self { count: 10_000, idle: Duration::from_secs(24 * 60 * 60) }
    }
}

/// All sessions.
#[derive(Debug)]
pub struct Sessions {
    limits: SessionLimits,
    began: Instant,
    table: Mutex<Table>,
}

#[derive(Debug)]
struct Table {
    sessions: HashMap<String, Arc<Session>>,
    store: Option<Store>,
}

/// Every session is in use.
#[derive(Debug, PartialEq, Eq)]
pub struct Full;

impl Sessions {
    /// Those that `file` knows of an earlier process, if there is one. Their clients are told that the catalogue
    /// changed, since it may have.
    #[must_use]
    pub fn new(limits: SessionLimits, file: Option<PathBuf>, telemetry: &Telemetry) -> Self {
        let began = Instant::now();
        let (store, known) = file.map(|file| Store::open(file, limits.count, telemetry.clone())).unzip();
        let known = known.into_iter().flatten().map(|id| (id, Arc::new(Session::new(began, 0))));
        let table = Mutex::new(Table { sessions: known.collect(), store });
        Self { limits, began, table }
    }

    /// Begins a session for a client that knows this `version` of the catalogue. Returns its id: 128 random bits.
    ///
    /// # Errors
    /// There are too many, none of them idle.
    pub fn begin(&self, version: u64) -> Result<String, Full> {
        let mut table = lock(&self.table);
        table.expire(elapsed_ms(self.began), self.limits.idle);
        if table.sessions.len() >= self.limits.count {
            table.displace()?;
        }
        let id = random_id();
        table.sessions.insert(id.clone(), Arc::new(Session::new(self.began, version)));
        table.store(|store| store.begun(&id));
        Ok(id)
    }

    /// The session with this id, marked as used now.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<Arc<Session>> {
        let session = lock(&self.table).sessions.get(id).cloned()?;
        session.touch();
        Some(session)
    }

    /// Ends a session: its calls are cancelled, its streams close. Returns whether there was one.
    pub fn end(&self, id: &str) -> bool {
        let mut table = lock(&self.table);
        let Some(session) = table.sessions.remove(id) else { return false };
        table.store(|store| store.ended(id));
        drop(table);
        session.end();
        true
    }
}

impl Table {
    fn expire(&mut self, now_ms: u64, idle: Duration) {
        let idle = u64::try_from(idle.as_millis()).unwrap_or(u64::MAX);
        let expired = |session: &Session| session.is_idle() && now_ms.saturating_sub(session.used_ms()) >= idle;
        let store = &mut self.store;
        self.sessions.retain(|id, session| {
            let stays = !expired(session);
            if let (false, Some(store)) = (stays, store.as_mut()) {
                store.ended(id);
            }
            stays
        });
    }

    /// Makes room by the session that was idle longest.
    fn displace(&mut self) -> Result<(), Full> {
        let idle = self.sessions.iter().filter(|(_, session)| session.is_idle());
        let oldest = idle.min_by_key(|(_, session)| session.used_ms()).map(|(id, _)| id.clone()).ok_or(Full)?;
        self.sessions.remove(&oldest);
        self.store(|store| store.ended(&oldest));
        Ok(())
    }

    fn store(&mut self, event: impl FnOnce(&mut Store)) {
        if let Some(store) = &mut self.store {
            event(store);
            if store.has_grown() {
                store.rewrite(self.sessions.keys().map(String::as_str));
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn elapsed_ms(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

fn random_id() -> String {
    let mut bytes = [0u8; 16];
    // Blocks only before the kernel's pool is first filled; short reads don't happen up to 256 bytes.
    while rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()) != Ok(bytes.len()) {}
    bytes.iter().fold(String::with_capacity(32), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sessions(count: usize, idle: Duration) -> Sessions {
        Sessions::new(SessionLimits { count, idle }, None, &Telemetry::new())
    }

    const LONG: Duration = Duration::from_secs(3600);

    #[test]
    fn ids_are_unguessable_and_sessions_are_found_by_them() {
        let sessions = sessions(10, LONG);
        let (a, b) = (sessions.begin(1).unwrap(), sessions.begin(1).unwrap());
        assert_ne!(a, b);
        assert_eq!(a.len(), 32);
        assert!(sessions.find(&a).is_some());
        assert!(sessions.end(&a) && !sessions.end(&a));
        assert!(sessions.find(&a).is_none() && sessions.find(&b).is_some());
    }

    #[test]
    fn one_too_many_displaces_the_longest_idle_one_but_never_a_busy_one() {
        let sessions = sessions(2, LONG);
        let busy = sessions.begin(1).unwrap();
        let occupied = sessions.find(&busy).unwrap().occupy();
        let idle = sessions.begin(1).unwrap();
        let newer = sessions.begin(1).unwrap();
        assert!(sessions.find(&idle).is_none());
        let _other = sessions.find(&newer).unwrap().occupy();
        assert_eq!(sessions.begin(1), Err(Full));
        drop(occupied);
        assert!(sessions.begin(1).is_ok());
        assert!(sessions.find(&busy).is_none());
    }

    #[test]
    fn only_idle_sessions_expire() {
        let sessions = sessions(10, Duration::ZERO);
        let busy = sessions.begin(1).unwrap();
        let _occupied = sessions.find(&busy).unwrap().occupy();
        let idle = sessions.begin(1).unwrap();
        let _third = sessions.begin(1).unwrap();
        assert!(sessions.find(&busy).is_some());
        assert!(sessions.find(&idle).is_none());
    }

    #[test]
    fn with_a_file_sessions_outlive_the_process_and_learn_of_changes() {
        let dir = tempfile::tempdir().unwrap();
        let start = || Sessions::new(SessionLimits::default(), Some(dir.path().join("sessions")), &Telemetry::new());
        let before = start();
        let (kept, ended) = (before.begin(7).unwrap(), before.begin(7).unwrap());
        before.end(&ended);
        drop(before);
        let after = start();
        assert!(after.find(&ended).is_none());
        assert!(after.find(&kept).unwrap().is_news(7));
    }
}
