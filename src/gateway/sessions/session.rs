//! One session: what goes on in it, and since when nothing does.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use tokio_util::sync::CancellationToken;

use super::{elapsed_ms, lock};
use crate::jsonrpc::Id;

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

impl Session {
    /// A session that is used now, of a client that knows this `version` of the catalogue. `began`: what all sessions
    /// count their time from.
    #[must_use]
    pub fn new(began: Instant, version: u64) -> Self {
        Self {
            began,
            used_ms: AtomicU64::new(elapsed_ms(began)),
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

    /// Ends it: its calls are cancelled, its streams close.
    pub fn end(&self) {
        self.ended.cancel();
        for (_, call) in lock(&self.calls).values() {
            call.cancel();
        }
    }

    /// Whether the client has to be told of this version of the catalogue; asked by each of its streams, true once.
    #[must_use]
    pub fn is_news(&self, version: u64) -> bool {
        self.announced.swap(version, Ordering::AcqRel) != version
    }

    /// Whether nothing goes on in it.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.busy.load(Ordering::Relaxed) == 0
    }

    /// When it was last used, in milliseconds since `began`.
    #[must_use]
    pub fn used_ms(&self) -> u64 {
        self.used_ms.load(Ordering::Relaxed)
    }

    /// It is used now.
    pub fn touch(&self) {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn session(version: u64) -> Arc<Session> {
        Arc::new(Session::new(Instant::now(), version))
    }

    #[test]
    fn cancelling_concerns_the_calls_with_that_id_and_the_end_all_of_them() {
        let session = session(1);
        let tokens = [CancellationToken::new(), CancellationToken::new(), CancellationToken::new()];
        let ids = [Id::Number(1), Id::Number(1), Id::Text("1".into())];
        let calls: Vec<_> =
            ids.iter().zip(&tokens).map(|(id, token)| session.enter(id.clone(), token.clone())).collect();
        session.cancel(&Id::Number(1));
        assert_eq!(tokens.each_ref().map(CancellationToken::is_cancelled), [true, true, false]);
        session.end();
        assert!(tokens[2].is_cancelled());
        let late = CancellationToken::new();
        let _late = session.enter(Id::Number(9), late.clone());
        assert!(late.is_cancelled(), "a call that raced the end is cancelled too");
        drop(calls);
        assert_eq!(lock(&session.calls).len(), 1);
    }

    #[test]
    fn a_change_is_news_once_whatever_the_number_of_streams() {
        let session = session(4);
        assert!(!session.is_news(4));
        assert!(session.is_news(5));
        assert!(!session.is_news(5));
    }
}
