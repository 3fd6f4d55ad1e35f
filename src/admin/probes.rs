//! `/livez`, `/startupz`, `/readyz`: a status code for machines and lines of text for people.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;

use super::{Admin, Phase, TargetView};
use crate::core::verdict;

/// The supervising loops turn. Never depends on servers: whoever restarts us for their sake destroys the budget.
pub async fn livez(State(admin): State<Arc<Admin>>) -> Response {
    let stale = admin.heartbeats.stale(Instant::now());
    answer("alive", stale.into_iter().map(|name| format!("{name} stands still")).collect())
}

/// Listeners are bound, and each required server's first connect is finished, well or badly.
pub async fn startupz(State(admin): State<Arc<Admin>>) -> Response {
    let targets = (admin.targets)();
    let mut reasons = Vec::new();
    if *admin.phase.borrow() == Phase::Starting {
        reasons.push("not everything that listens is bound".to_owned());
    }
    if !verdict::startup_finished(targets.iter().map(|target| &*target.status)) {
        let pending = targets.iter().filter(|target| target.status.required && !target.status.first_connect_finished);
        reasons.extend(pending.map(|target| format!("first connect of {} is not finished", target.name)));
    }
    answer("started", reasons)
}

/// The configured readiness.
pub async fn readyz(State(admin): State<Arc<Admin>>) -> Response {
    answer("ready", not_ready(&admin, &(admin.targets)()))
}

/// Why the process is not ready; empty if it is.
pub fn not_ready(admin: &Admin, targets: &[TargetView]) -> Vec<String> {
    let phase = *admin.phase.borrow();
    match phase {
        Phase::Starting | Phase::Lingering | Phase::Stopping => vec![format!("the process is {}", phase.label())],
        Phase::Serving => {
            let targets = targets.iter().map(|target| (target.name.as_str(), &*target.status));
            verdict::ready(admin.policy, targets).err().unwrap_or_default()
        }
    }
}

fn answer(good: &str, reasons: Vec<String>) -> Response {
    if reasons.is_empty() {
        (StatusCode::OK, format!("{good}\n")).into_response()
    } else {
        let text = reasons.into_iter().fold(format!("not {good}\n"), |text, reason| text + &reason + "\n");
        (StatusCode::SERVICE_UNAVAILABLE, text).into_response()
    }
}
