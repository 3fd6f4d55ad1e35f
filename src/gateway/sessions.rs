//! Sessions of legacy clients. They know of no server: generations come and go beneath them.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::jsonrpc::Id;

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
    table: Mutex<HashMap<String, Arc<Session>>>,
}

/// One session.
#[derive(Debug)]
pub struct Session {
    began: Instant,
    used_ms: AtomicU64,
    busy: AtomicUsize,
    calls: Mutex<HashMap<u64, (Id, CancellationToken)>>,
    next_call: AtomicU64,
    /// Version of the catalogue that the client was last told of.
    announced: AtomicU64,
    /// Cancelled when the session is deleted.
    pub ended: CancellationToken,
}

/// Every session is in use.
#[derive(Debug, PartialEq, Eq)]
pub struct Full;

impl Sessions {
    /// None yet.
    #[must_use]
    pub fn new(limits: SessionLimits) -> Self {
        Self { limits, began: Instant::now(), table: Mutex::default() }
    }

    /// Begins a session for a client that has seen no catalogue, or this `version` of it. Returns its id: 128 random
    /// bits.
    ///
    /// # Errors
    /// There are too many, none of them idle.
    pub fn begin(&self, version: u64) -> Result<String, Full> {
        let mut table = lock(&self.table);
        self.expire(&mut table);
        if table.len() >= self.limits.count {
            let oldest = table
                .iter()
                .filter(|(_, session)| session.is_idle())
                .min_by_key(|(_, session)| session.used_ms.load(Ordering::Relaxed))
                .map(|(id, _)| id.clone());
            table.remove(&oldest.ok_or(Full)?);
        }
        let id = random_id();
        let session = Session::new(self.began, version);
        session.touch();
        table.insert(id.clone(), Arc::new(session));
        Ok(id)
    }

    /// The session with this id, marked as used now.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<Arc<Session>> {
        let session = lock(&self.table).get(id).cloned()?;
        session.touch();
        Some(session)
    }

    /// Ends a session: its calls are cancelled, its streams close. Returns whether there was one.
    pub fn end(&self, id: &str) -> bool {
        let Some(session) = lock(&self.table).remove(id) else { return false };
        session.ended.cancel();
        for (_, call) in lock(&session.calls).values() {
            call.cancel();
        }
        true
    }

    fn expire(&self, table: &mut HashMap<String, Arc<Session>>) {
        let now = elapsed_ms(self.began);
        let idle = u64::try_from(self.limits.idle.as_millis()).unwrap_or(u64::MAX);
        table.retain(|_, session| {
            !session.is_idle() || now.saturating_sub(session.used_ms.load(Ordering::Relaxed)) < idle
        });
    }
}

impl Session {
    fn new(began: Instant, version: u64) -> Self {
        Self {
            began,
            used_ms: AtomicU64::new(0),
            busy: AtomicUsize::new(0),
            calls: Mutex::default(),
            next_call: AtomicU64::new(0),
            announced: AtomicU64::new(version),
            ended: CancellationToken::new(),
        }
    }

    /// Keeps the session from expiring as long as the guard lives.
    #[must_use]
    pub fn occupy(self: &Arc<Self>) -> Occupied {
        self.busy.fetch_add(1, Ordering::Relaxed);
        Occupied(Arc::clone(self))
    }

    /// Notes a call in flight: `cancel` is cancelled by [`Session::cancel`] of its id and by the session's end.
    #[must_use]
    pub fn enter(self: &Arc<Self>, id: Id, cancel: CancellationToken) -> InFlight {
        let key = self.next_call.fetch_add(1, Ordering::Relaxed);
        let ending = cancel.clone();
        lock(&self.calls).insert(key, (id, cancel));
        if self.ended.is_cancelled() {
            ending.cancel();
        }
        InFlight { key, occupied: self.occupy() }
    }

    /// Cancels the calls with this id; clients that use one twice at a time cancel both.
    pub fn cancel(&self, id: &Id) {
        for (_, call) in lock(&self.calls).values().filter(|(other, _)| other == id) {
            call.cancel();
        }
    }

    /// Whether the client has to be told of this version of the catalogue; asked by each of its streams, true once.
    #[must_use]
    pub fn is_news(&self, version: u64) -> bool {
        self.announced.swap(version, Ordering::AcqRel) != version
    }

    fn is_idle(&self) -> bool {
        self.busy.load(Ordering::Relaxed) == 0
    }

    fn touch(&self) {
        self.used_ms.store(elapsed_ms(self.began), Ordering::Relaxed);
    }
}

/// See [`Session::occupy`].
#[derive(Debug)]
pub struct Occupied(Arc<Session>);

impl Occupied {
    /// Which session.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.0
    }
}

impl Drop for Occupied {
    fn drop(&mut self) {
        self.0.touch();
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

/// See [`Session::enter`].
#[derive(Debug)]
pub struct InFlight {
    key: u64,
    occupied: Occupied,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        lock(&self.occupied.0.calls).remove(&self.key);
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
        Sessions::new(SessionLimits { count, idle })
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
    fn cancelling_concerns_the_calls_with_that_id_and_the_end_all_of_them() {
        let sessions = sessions(10, LONG);
        let id = sessions.begin(1).unwrap();
        let session = sessions.find(&id).unwrap();
        let tokens = [CancellationToken::new(), CancellationToken::new(), CancellationToken::new()];
        let ids = [Id::Number(1), Id::Number(1), Id::Text("1".into())];
        let calls: Vec<_> =
            ids.iter().zip(&tokens).map(|(id, token)| session.enter(id.clone(), token.clone())).collect();
        session.cancel(&Id::Number(1));
        assert_eq!(tokens.each_ref().map(CancellationToken::is_cancelled), [true, true, false]);
        sessions.end(&id);
        assert!(tokens[2].is_cancelled());
        let late = CancellationToken::new();
        let _late = session.enter(Id::Number(9), late.clone());
        assert!(late.is_cancelled(), "a call that raced the end is cancelled too");
        drop(calls);
        assert_eq!(lock(&session.calls).len(), 1);
    }

    #[test]
    fn a_change_is_news_once_whatever_the_number_of_streams() {
        let sessions = sessions(10, LONG);
        let session = sessions.find(&sessions.begin(4).unwrap()).unwrap();
        assert!(!session.is_news(4));
        assert!(session.is_news(5));
        assert!(!session.is_news(5));
    }
}
