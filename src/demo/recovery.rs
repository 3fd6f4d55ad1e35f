//! First chapter: a server dies, and its agent hardly notices.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use super::client::Client;
use super::sidecar::{ServerStatus, Sidecar, USUAL_PORTS, server_settings};
use super::stage::{Stage, Trouble};

const SERVER: &str = "demo";
const TOOL: &str = "demo__whoami";

/// Long enough to be seen, shorter than a call is held.
const DELAY: &str = "1s";

/// Starts the sidecar that stays after the show.
///
/// # Errors
/// When it doesn't come up.
pub async fn start(stage: &Stage, http: &reqwest::Client) -> Result<Sidecar, Trouble> {
    let mut settings = server_settings(SERVER, &[])?;
    settings.extend([format!("reconnect.initial_delay={DELAY}"), "reconnect.jitter=false".to_owned()]);
    let sidecar = Sidecar::start(stage, http, Some(USUAL_PORTS), &settings).await?;
    stage.tell(&format!("sidecar started, process {}", sidecar.pid()));
    stage.add(&format!("endpoint  {}", sidecar.url()));
    stage.add(&format!("status    {}", sidecar.status_url()));
    stage.add(&format!(
        "agent     {{\"mcpServers\": {{\"sidecar\": {{\"type\": \"http\", \"url\": \"{}\"}}}}}}",
        sidecar.url()
    ));
    Ok(sidecar)
}

/// Kills the server while an agent is connected, and shows what both see.
///
/// # Errors
/// When anything is not as the sidecar promises.
pub async fn play(stage: &Stage, http: &reqwest::Client, sidecar: &mut Sidecar) -> Result<(), Trouble> {
    stage.chapter("1. A server dies");
    let before = sidecar.wait_for_state(stage, SERVER, "established").await?;
    let pid = pid_of(&before)?;
    stage.tell(&format!("server {SERVER} established: generation {}, process {pid}", before.generation));
    let agent = Client::connect(http.clone(), &sidecar.url()).await?;
    let catalogue = agent.list().await?;
    stage.tell(&format!("agent connected; call {TOOL}: \"{}\"", agent.call(TOOL).await?));

    let killed = Instant::now();
    kill(pid)?;
    stage.tell(&format!("kill -9 {pid}"));
    let outage = sidecar.wait_for_state(stage, SERVER, "waiting").await?;
    stage.tell(&format!("outage: {}", outage.last_error()));
    stage.add(&due(&outage));
    expect(agent.list().await? == catalogue, "the catalogue changed during the outage")?;
    stage.tell("tools/list during the outage: the same, byte for byte");

    let called = Instant::now();
    let held = tokio::spawn({
        let agent = agent.clone();
        async move { agent.call(TOOL).await }
    });
    stage.tell(&format!("call {TOOL} during the outage: held"));
    let after = sidecar.wait_for_state(stage, SERVER, "established").await?;
    stage.tell(&format!(
        "recovered by attempt {}: generation {}, process {}, {:.2} s after the kill",
        after.attempts,
        after.generation,
        pid_of(&after)?,
        killed.elapsed().as_secs_f64(),
    ));
    let answer = held.await.map_err(|error| Trouble::unexpected(error.to_string()))??;
    stage.tell(&format!("the held call is answered after {:.2} s: \"{answer}\"", called.elapsed().as_secs_f64()));
    expect(after.generation == before.generation + 1, "the recovery took more than one generation")?;
    expect(answer.contains(&format!("process {},", pid_of(&after)?)), "the answer is not the new process's")?;
    expect(agent.list().await? == catalogue, "the catalogue changed with the recovery")?;
    stage.tell("tools/list after it, in the same client session: the same, byte for byte");
    Ok(())
}

/// Stops the sidecar and makes sure that its server went with it.
///
/// # Errors
/// When it doesn't exit 0, or leaves the server behind.
pub async fn stop(stage: &Stage, mut sidecar: Sidecar) -> Result<(), Trouble> {
    let server = sidecar.server(SERVER).await?.and_then(|server| server.pid);
    let status = sidecar.stop().await?;
    expect(status.code() == Some(0), &format!("the sidecar ended with {status}"))?;
    // Exit code 0 says that the server's end was proved: there is nothing to wait for.
    if let Some(pid) = server.and_then(Pid::from_raw) {
        expect(rustix::process::test_kill_process(pid).is_err(), "the server outlived its sidecar")?;
    }
    stage.tell("SIGTERM: the first sidecar stopped with exit code 0, its server with it");
    Ok(())
}

/// In words, when the next attempt is due.
pub fn due(server: &ServerStatus) -> String {
    let next = server.attempts + 1;
    let delay = Duration::from_millis(server.next_attempt_in_ms.unwrap_or_default());
    format!("attempt {next} of {} is due in {:.2} s", server.max_attempts, delay.as_secs_f64())
}

fn kill(pid: i32) -> Result<(), Trouble> {
    let pid = Pid::from_raw(pid).ok_or_else(|| Trouble::unexpected("the server's process id is 0"))?;
    rustix::process::kill_process(pid, Signal::KILL).map_err(|error| Trouble::unexpected(format!("kill: {error}")))
}

fn pid_of(server: &ServerStatus) -> Result<i32, Trouble> {
    server.pid.ok_or_else(|| Trouble::unexpected("/status shows no process"))
}

fn expect(truth: bool, otherwise: &str) -> Result<(), Trouble> {
    if truth { Ok(()) } else { Err(Trouble::unexpected(otherwise)) }
}
