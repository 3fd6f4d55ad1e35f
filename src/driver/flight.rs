//! Which calls are in flight on which generation, so that an ending knows which calls it took with it.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::core::generation::Generation;
use crate::core::poison::{CallKey, PoisonLedger};

/// The calls in flight of one target, and the ledger of those that keep killing it.
#[derive(Debug, Default)]
pub struct FlightLog {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// How often each call is in flight on a generation. Calls that the ending took stay until it is judged.
    flying: HashMap<(Generation, CallKey), usize>,
    /// Endings up to here were judged; later news of these generations changes nothing.
    judged: Generation,
    ledger: PoisonLedger,
}

impl FlightLog {
    /// Whether this call was in flight at two consecutive endings.
    pub fn is_poison(&self, key: &CallKey) -> bool {
        self.lock().ledger.is_poison(key)
    }

    /// The call leaves for this generation.
    pub fn departed(&self, generation: Generation, key: &CallKey) {
        let mut inner = self.lock();
        if generation > inner.judged {
            *inner.flying.entry((generation, key.clone())).or_insert(0) += 1;
        }
    }

    /// The call was answered, refused by our deadline or cancelled: no ending took it.
    pub fn landed(&self, generation: Generation, key: &CallKey, answered: bool) {
        let mut inner = self.lock();
        let entry = (generation, key.clone());
        if let Some(count) = inner.flying.get_mut(&entry) {
            *count -= 1;
            if *count == 0 {
                inner.flying.remove(&entry);
            }
        }
        if answered {
            inner.ledger.answered(key);
        }
    }

    /// The generation ended without having been asked to: what is in flight on it is judged.
    pub fn ended(&self, generation: Generation, planned: bool) {
        let mut inner = self.lock();
        if generation <= inner.judged {
            return;
        }
        inner.judged = generation;
        let (taken, flying): (HashMap<_, _>, HashMap<_, _>) =
            std::mem::take(&mut inner.flying).into_iter().partition(|((of, _), _)| *of <= generation);
        inner.flying = flying;
        if !planned {
            inner.ledger.ending(taken.into_keys().map(|(_, key)| key));
        }
    }

    /// The budget was restored: all is forgiven.
    pub fn restored(&self) {
        self.lock().ledger.restored();
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic while holding the lock can't leave the maps half-written in a way that matters.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
