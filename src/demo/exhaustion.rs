//! Second chapter: a server that crashes after each handshake spends its budget, and the process says so.

use std::time::Instant;

use super::recovery::due;
use super::sidecar::{PATIENCE, Sidecar, server_settings};
use super::stage::{Stage, Trouble};
use crate::demo::server::CRASH;

const SERVER: &str = "crashing";
const ATTEMPTS: u32 = 4;

/// Runs a second sidecar until it gives up.
///
/// # Errors
/// When it spends its budget otherwise than promised, or ends with another exit code than 1.
pub async fn play(stage: &Stage, http: &reqwest::Client) -> Result<(), Trouble> {
    stage.chapter("2. A server crashes after each handshake (a second sidecar, with a budget of 4 attempts)");
    let mut settings = server_settings(SERVER, &[CRASH])?;
    settings.push(format!("reconnect.max_attempts={ATTEMPTS}"));
    settings.extend(
        ["reconnect.initial_delay=200ms", "reconnect.max_delay=5s", "reconnect.jitter=false"].map(str::to_owned),
    );
    let started = Instant::now();
    let mut sidecar = Sidecar::start(stage, http, None, &settings).await?;
    stage.tell(&format!("sidecar started, process {}", sidecar.pid()));

    // Attempts whose announcement was seen.
    let mut seen = 0;
    let status = stage
        .wait_for("the second sidecar gives up", PATIENCE, async || {
            if let Some(status) = sidecar.exited()? {
                return Ok(Some(status));
            }
            let server = sidecar.server(SERVER).await?.filter(|server| server.state == "waiting");
            if let Some(server) = server.filter(|server| server.attempts == seen) {
                seen += 1;
                stage.tell(&format!("{}; {}", server.last_error(), due(&server)));
            }
            Ok(None)
        })
        .await;
    let status = match status {
        Ok(status) => status,
        Err(trouble) => return Err(with_log(trouble, &sidecar)),
    };
    if status.code() != Some(1) || seen != ATTEMPTS {
        let what = format!("the second sidecar ended with {status} after {seen} of {ATTEMPTS} attempts");
        return Err(with_log(Trouble::unexpected(what), &sidecar));
    }
    let took = started.elapsed().as_secs_f64();
    stage.tell(&format!("budget exhausted after {took:.1} s: exit code 1, so that an orchestrator takes over"));
    Ok(())
}

fn with_log(trouble: Trouble, sidecar: &Sidecar) -> Trouble {
    match trouble {
        Trouble::Interrupted => Trouble::Interrupted,
        Trouble::Unexpected(what) => Trouble::Unexpected(sidecar.with_log(&what)),
    }
}
