//! The tables `reconnect`, `timeouts` and `liveness`, for the whole program and for each server: a server's table
//! overrides the general one key by key.

use super::judge::{Judge, Judged, Scope};
use crate::config::duration;
use crate::config::settings::{Liveness, Reconnect, Timeouts};

/// The three tables.
pub(super) struct Supervision {
    pub(super) reconnect: Reconnect,
    pub(super) timeouts: Timeouts,
    pub(super) liveness: Liveness,
}

/// Reads and judges all three.
pub(super) fn supervision(judge: &mut Judge<'_>, scope: Scope<'_>) -> Supervision {
    Supervision {
        reconnect: reconnect(judge, scope),
        timeouts: timeouts(judge, scope),
        liveness: liveness(judge, scope),
    }
}

fn reconnect(judge: &mut Judge<'_>, scope: Scope<'_>) -> Reconnect {
    let enabled = judge.bool(scope, "reconnect.enabled").value;
    let initial_delay = judge.duration(scope, "reconnect.initial_delay");
    let max_delay = judge.duration(scope, "reconnect.max_delay");
    in_order(judge, &initial_delay, &max_delay);
    Reconnect {
        enabled,
        initial_delay: initial_delay.value,
        max_delay: max_delay.value,
        max_attempts: judge.count(scope, "reconnect.max_attempts").value,
        jitter: judge.bool(scope, "reconnect.jitter").value,
    }
}

fn timeouts(judge: &mut Judge<'_>, scope: Scope<'_>) -> Timeouts {
    let start = judge.duration(scope, "timeouts.start").value;
    let list = judge.duration(scope, "timeouts.list").value;
    let call = judge.duration(scope, "timeouts.call");
    let call_max = judge.duration(scope, "timeouts.call_max");
    in_order(judge, &call, &call_max);
    let close = judge.duration(scope, "timeouts.close").value;
    Timeouts { start, list, call: call.value, call_max: call_max.value, close }
}

fn liveness(judge: &mut Judge<'_>, scope: Scope<'_>) -> Liveness {
    Liveness {
        interval: judge.duration(scope, "liveness.interval").value,
        timeout: judge.duration(scope, "liveness.timeout").value,
        failures: judge.count(scope, "liveness.failures").value,
    }
}

/// The first may not be longer than the second. Reported where one of both was set: two inherited values are the general
/// table's business.
fn in_order(judge: &mut Judge<'_>, shorter: &Judged<std::time::Duration>, longer: &Judged<std::time::Duration>) {
    let both_general = shorter.place.inherited && longer.place.inherited;
    if both_general || !shorter.valid || !longer.valid || shorter.value <= longer.value {
        return;
    }
    let named = |judged: &Judged<std::time::Duration>| {
        let key = judged.place.path.join(".");
        format!("{key}, which is {} ({})", duration::show(judged.value), judged.place.origin)
    };
    if shorter.place.inherited {
        judge.object(&longer.place, format!("must be at least {}", named(shorter)));
    } else {
        judge.object(&shorter.place, format!("must be at most {}", named(longer)));
    }
}
