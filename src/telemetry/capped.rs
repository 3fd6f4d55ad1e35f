//! A bound for label values that others choose.

use std::collections::{HashMap, HashSet};

/// Lets the first few distinct values of each owner through and replaces all others.
#[derive(Debug)]
pub struct Capped {
    limit: usize,
    other: &'static str,
    seen: HashMap<String, HashSet<String>>,
}

impl Capped {
    /// At most `limit` values per owner; what is beyond becomes `other`.
    pub fn new(limit: usize, other: &'static str) -> Self {
        Self { limit, other, seen: HashMap::new() }
    }

    /// The value to show in place of this one.
    pub fn admit<'a>(&mut self, owner: &str, value: &'a str) -> &'a str {
        if !self.seen.contains_key(owner) {
            self.seen.insert(owner.to_owned(), HashSet::new());
        }
        let Some(seen) = self.seen.get_mut(owner) else { return self.other };
        if seen.contains(value) {
            return value;
        }
        if seen.len() >= self.limit {
            return self.other;
        }
        seen.insert(value.to_owned());
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_values_stay_and_the_others_are_lumped_together() {
        let mut capped = Capped::new(2, "_other");
        assert_eq!(capped.admit("a", "one"), "one");
        assert_eq!(capped.admit("a", "two"), "two");
        assert_eq!(capped.admit("a", "three"), "_other");
        assert_eq!(capped.admit("a", "one"), "one");
    }

    #[test]
    fn one_owner_does_not_use_up_the_values_of_another() {
        let mut capped = Capped::new(1, "_other");
        assert_eq!(capped.admit("a", "one"), "one");
        assert_eq!(capped.admit("b", "two"), "two");
    }
}
