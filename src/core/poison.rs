//! Calls that seem to kill their server.

use std::collections::{BTreeSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Keys that are remembered of one ending, and keys that are refused, at most.
const MAX_KEYS: usize = 1024;

/// What makes two calls the same: the tool and its arguments.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallKey {
    tool: String,
    arguments: u64,
}

impl CallKey {
    /// The key of a call of `tool` with `arguments`, the JSON text as the client sent it.
    #[must_use]
    pub fn new(tool: impl Into<String>, arguments: Option<&str>) -> Self {
        let mut digest = DefaultHasher::new();
        arguments.hash(&mut digest);
        Self { tool: tool.into(), arguments: digest.finish() }
    }

    /// The tool's name.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.tool
    }
}

/// Remembers which calls were in flight at the unplanned endings of one target.
///
/// A call that was in flight at two consecutive endings is poison: it is refused, so that it can't spend the budget.
/// Memory is bounded whatever the calls are: the oldest verdict makes room for a new one.
#[derive(Clone, Debug, Default)]
pub struct PoisonLedger {
    suspects: BTreeSet<CallKey>,
    poison: VecDeque<CallKey>,
}

impl PoisonLedger {
    /// An unplanned ending with these calls in flight.
    pub fn ending(&mut self, in_flight: impl IntoIterator<Item = CallKey>) {
        let now: BTreeSet<CallKey> = in_flight.into_iter().take(MAX_KEYS).collect();
        for key in now.intersection(&self.suspects) {
            if !self.poison.contains(key) {
                if self.poison.len() == MAX_KEYS {
                    self.poison.pop_front();
                }
                self.poison.push_back(key.clone());
            }
        }
        self.suspects = now;
    }

    /// The call was answered by the server: whatever it was suspected of, it didn't do.
    pub fn answered(&mut self, key: &CallKey) {
        self.suspects.remove(key);
        self.poison.retain(|poison| poison != key);
    }

    /// Whether the call is to be refused.
    #[must_use]
    pub fn is_poison(&self, key: &CallKey) -> bool {
        self.poison.contains(key)
    }

    /// The budget is full again, by proved stability or by an operator: everything is forgotten.
    pub fn restored(&mut self) {
        self.suspects.clear();
        self.poison.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> CallKey {
        CallKey::new(name, Some("{}"))
    }

    #[test]
    fn a_call_in_flight_at_two_consecutive_endings_is_poison() {
        let mut ledger = PoisonLedger::default();
        ledger.ending([key("kill"), key("read")]);
        assert!(!ledger.is_poison(&key("kill")), "once may be chance");
        ledger.ending([key("kill")]);
        assert!(ledger.is_poison(&key("kill")));
        assert!(!ledger.is_poison(&key("read")));
    }

    #[test]
    fn an_ending_without_the_call_clears_its_name() {
        let mut ledger = PoisonLedger::default();
        ledger.ending([key("kill")]);
        ledger.ending([]);
        ledger.ending([key("kill")]);
        assert!(!ledger.is_poison(&key("kill")));
    }

    #[test]
    fn an_answered_call_is_suspect_no_longer() {
        let mut ledger = PoisonLedger::default();
        ledger.ending([key("slow")]);
        ledger.answered(&key("slow"));
        ledger.ending([key("slow")]);
        assert!(!ledger.is_poison(&key("slow")));
        ledger.ending([key("slow")]);
        assert!(ledger.is_poison(&key("slow")));
        ledger.answered(&key("slow"));
        assert!(!ledger.is_poison(&key("slow")));
    }

    #[test]
    fn other_arguments_make_another_call() {
        let mut ledger = PoisonLedger::default();
        for _ in 0..2 {
            ledger.ending([CallKey::new("kill", Some(r#"{"pid":1}"#))]);
        }
        assert!(ledger.is_poison(&CallKey::new("kill", Some(r#"{"pid":1}"#))));
        assert!(!ledger.is_poison(&CallKey::new("kill", Some(r#"{"pid":2}"#))));
        assert!(!ledger.is_poison(&CallKey::new("kill", None)));
    }

    #[test]
    fn a_restored_budget_forgets_everything() {
        let mut ledger = PoisonLedger::default();
        ledger.ending([key("kill")]);
        ledger.ending([key("kill")]);
        ledger.restored();
        assert!(!ledger.is_poison(&key("kill")));
        ledger.ending([key("kill")]);
        assert!(!ledger.is_poison(&key("kill")), "suspicion is forgotten as well");
    }

    #[test]
    fn memory_is_bounded_and_the_newest_verdicts_are_kept() {
        let mut ledger = PoisonLedger::default();
        for round in 0..5_000 {
            let call = key(&format!("tool-{round}"));
            ledger.ending([call.clone()]);
            ledger.ending([call]);
        }
        assert_eq!(ledger.poison.len(), MAX_KEYS);
        assert!(ledger.is_poison(&key("tool-4999")));
        assert!(!ledger.is_poison(&key("tool-0")));
        ledger.ending((0..5_000).map(|number| key(&format!("burst-{number}"))));
        assert_eq!(ledger.suspects.len(), MAX_KEYS);
    }
}
