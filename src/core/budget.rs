//! How many attempts a target has left.

/// A counter of spent attempts. It outlives outages; only proved stability or an operator refills it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    max: u32,
    spent: u32,
    grace_used: bool,
}

impl Budget {
    /// A full budget of `max` attempts.
    #[must_use]
    pub const fn new(max: u32) -> Self {
        Self { max, spent: 0, grace_used: false }
    }

    /// Attempts that are spent.
    #[must_use]
    pub const fn spent(&self) -> u32 {
        self.spent
    }

    /// The number of the next attempt, or `None` if none is left.
    #[must_use]
    pub const fn next_attempt(&self) -> Option<u32> {
        if self.spent < self.max { Some(self.spent + 1) } else { None }
    }

    /// Spends one. Spending what is not there changes nothing.
    pub fn spend(&mut self) {
        if let Some(attempt) = self.next_attempt() {
            self.spent = attempt;
        }
    }

    /// Whether a lost session may be replaced at zero delay: once between two refills.
    #[must_use]
    pub fn take_session_grace(&mut self) -> bool {
        !std::mem::replace(&mut self.grace_used, true)
    }

    /// Makes the budget full again and returns how many attempts had been spent.
    pub fn refill(&mut self) -> u32 {
        self.grace_used = false;
        std::mem::take(&mut self.spent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_max_attempts_can_be_spent() {
        let mut budget = Budget::new(3);
        let numbers: Vec<u32> = std::iter::from_fn(|| {
            let attempt = budget.next_attempt();
            budget.spend();
            attempt
        })
        .collect();
        assert_eq!(numbers, [1, 2, 3]);
        budget.spend();
        assert_eq!(budget.spent(), 3, "what is not there can't be spent");
    }

    #[test]
    fn a_refill_gives_everything_back() {
        let mut budget = Budget::new(2);
        budget.spend();
        assert!(budget.take_session_grace());
        assert!(!budget.take_session_grace(), "a second session loss has no grace");
        assert_eq!(budget.refill(), 1);
        assert_eq!(budget.next_attempt(), Some(1));
        assert!(budget.take_session_grace());
    }
}
