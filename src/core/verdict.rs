//! What all targets together mean for the process.

use super::status::{StateName, Status};

/// When the process calls itself ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReadyPolicy {
    /// Every required target was up once, and none of them is exhausted or stuck.
    Started,
    /// Every required target is up.
    RequiredNow,
    /// Any target is up.
    Any,
    /// Always.
    None,
}

/// Whether there are targets and every one is exhausted or stuck: then the process has nothing left to do.
pub fn all_lost<'a>(statuses: impl IntoIterator<Item = &'a Status>) -> bool {
    let mut statuses = statuses.into_iter().peekable();
    statuses.peek().is_some() && statuses.all(lost)
}

/// Whether each required target's first connect has finished, well or badly.
pub fn startup_finished<'a>(statuses: impl IntoIterator<Item = &'a Status>) -> bool {
    statuses.into_iter().all(|status| !status.required || status.first_connect_finished)
}

/// Whether the process is ready.
///
/// # Errors
/// A sentence per reason why it is not, in the order of the targets.
pub fn ready<'a>(
    policy: ReadyPolicy,
    targets: impl IntoIterator<Item = (&'a str, &'a Status)>,
) -> Result<(), Vec<String>> {
    let targets: Vec<(&str, &Status)> = targets.into_iter().collect();
    let reasons = match policy {
        ReadyPolicy::None => Vec::new(),
        ReadyPolicy::Any if targets.iter().any(|(_, status)| up(status)) => Vec::new(),
        ReadyPolicy::Any => vec!["no target is up".to_owned()],
        ReadyPolicy::Started => reasons(&targets, |status| status.ever_established && !lost(status)),
        ReadyPolicy::RequiredNow => reasons(&targets, up),
    };
    if reasons.is_empty() { Ok(()) } else { Err(reasons) }
}

/// One sentence per required target that is not good, and one if no target is left at all.
fn reasons(targets: &[(&str, &Status)], good: impl Fn(&Status) -> bool) -> Vec<String> {
    let mut reasons: Vec<String> = targets
        .iter()
        .filter(|(_, status)| status.required && !good(status))
        .map(|(name, status)| format!("required target {name} is {}", describe(status)))
        .collect();
    if reasons.is_empty() && all_lost(targets.iter().map(|(_, status)| *status)) {
        reasons.push("every target is exhausted or stuck".to_owned());
    }
    reasons
}

fn describe(status: &Status) -> String {
    let state = status.state.label();
    if status.ever_established { state.to_owned() } else { format!("{state} and was never up") }
}

fn up(status: &Status) -> bool {
    status.state == StateName::Established
}

fn lost(status: &Status) -> bool {
    matches!(status.state, StateName::Exhausted | StateName::Stuck)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::generation::Generation;

    fn status(state: StateName, required: bool, ever: bool) -> Status {
        Status {
            state,
            generation: Generation::new(1),
            attempts: 0,
            max_attempts: 10,
            outage_since: None,
            next_attempt: None,
            delay: None,
            established_at: None,
            last_cause: None,
            ever_established: ever,
            first_connect_finished: ever,
            required,
        }
    }

    #[test]
    fn all_is_lost_only_when_there_was_something_and_all_of_it_is_down_for_good() {
        let exhausted = status(StateName::Exhausted, false, true);
        let stuck = status(StateName::Stuck, false, true);
        assert!(!all_lost([]));
        assert!(all_lost([&exhausted, &stuck]));
        for state in StateName::ALL {
            let lost = matches!(state, StateName::Exhausted | StateName::Stuck);
            assert_eq!(all_lost([&exhausted, &status(state, false, true)]), lost, "{state:?}");
        }
    }

    #[test]
    fn startup_waits_for_the_first_connect_of_each_required_target_and_for_no_other() {
        let pending = |required| status(StateName::Starting, required, false);
        let failed = Status { first_connect_finished: true, ..status(StateName::Waiting, true, false) };
        assert!(startup_finished([]));
        assert!(!startup_finished([&failed, &pending(true)]));
        assert!(startup_finished([&failed, &pending(false)]), "a failed first connect is a finished one");
    }

    #[test]
    fn started_wants_every_required_target_to_have_been_up_once() {
        let once = status(StateName::Waiting, true, true);
        let never = status(StateName::Waiting, true, false);
        let optional = status(StateName::Starting, false, false);
        assert_eq!(ready(ReadyPolicy::Started, [("a", &once), ("o", &optional)]), Ok(()));
        let reasons = ready(ReadyPolicy::Started, [("a", &once), ("b", &never)]).unwrap_err();
        assert_eq!(reasons, ["required target b is waiting and was never up"]);
    }

    #[test]
    fn started_is_over_when_a_required_target_is_down_for_good() {
        for state in [StateName::Exhausted, StateName::Stuck] {
            let gone = status(state, true, true);
            let reasons = ready(ReadyPolicy::Started, [("a", &gone)]).unwrap_err();
            assert_eq!(reasons, [format!("required target a is {}", state.label())]);
            let optional = status(state, false, true);
            let fine = status(StateName::Established, true, true);
            assert_eq!(ready(ReadyPolicy::Started, [("a", &fine), ("o", &optional)]), Ok(()));
        }
    }

    #[test]
    fn with_no_target_left_at_all_the_process_is_not_ready() {
        let gone = status(StateName::Exhausted, false, true);
        for policy in [ReadyPolicy::Started, ReadyPolicy::RequiredNow, ReadyPolicy::Any] {
            assert!(ready(policy, [("o", &gone)]).is_err(), "{policy:?}");
        }
    }

    #[test]
    fn required_now_follows_every_outage_of_a_required_target() {
        for state in StateName::ALL {
            let required = status(state, true, true);
            let fine = ready(ReadyPolicy::RequiredNow, [("a", &required)]).is_ok();
            assert_eq!(fine, state == StateName::Established, "{state:?}");
        }
    }

    #[test]
    fn any_wants_one_target_and_none_wants_nothing() {
        let up = status(StateName::Established, false, true);
        let down = status(StateName::Waiting, true, true);
        assert_eq!(ready(ReadyPolicy::Any, [("a", &down), ("b", &up)]), Ok(()));
        assert_eq!(ready(ReadyPolicy::Any, [("a", &down)]), Err(vec!["no target is up".to_owned()]));
        assert!(ready(ReadyPolicy::Any, []).is_err());
        assert_eq!(ready(ReadyPolicy::None, [("a", &down)]), Ok(()));
    }
}
