//! "Did you mean …?"

/// The candidate that `given` is most likely a slip of, if any is near enough to be worth a word.
#[must_use]
pub fn nearest<'a>(given: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let given = given.to_ascii_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&given, &candidate.to_ascii_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= (candidate.len().min(given.len()) / 3).max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// `; did you mean X?`, or nothing.
#[must_use]
pub fn did_you_mean(nearest: Option<impl std::fmt::Display>) -> String {
    nearest.map(|name| format!("; did you mean {name}?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised_and_a_stranger_is_not() {
        assert_eq!(nearest("max_atempts", ["max_delay", "max_attempts"]), Some("max_attempts"));
        assert_eq!(nearest("HOLD", ["hold", "listen"]), Some("hold"));
        assert_eq!(nearest("frobnicate", ["hold", "listen"]), None);
        assert_eq!(nearest("x", ["hold"]), None);
    }
}
