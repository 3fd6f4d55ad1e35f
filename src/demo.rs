//! `mcp-sidecar demo`: an outage, a recovery and a spent budget, shown on real processes with nothing but this binary.
//!
//! It believes nothing: what it tells is what `/status`, an agent's calls and exit codes said, and where that is not what
//! was promised, it ends with 70 and the evidence.

mod client;
mod exhaustion;
mod recovery;
mod sidecar;
mod stage;

pub mod server;

use std::time::Duration;

use sidecar::Sidecar;
use stage::{Stage, Trouble};

/// Exit code of a demo whose promises did not come true.
const UNEXPECTED: u8 = 70;

/// Plays the demo. With `once` it ends after the show, else the first sidecar goes on serving until SIGINT or SIGTERM.
/// Returns the process's exit code: 0, or 70 if anything was not as promised.
pub async fn run(once: bool) -> u8 {
    match show(once).await {
        Ok(()) | Err(Trouble::Interrupted) => 0,
        Err(Trouble::Unexpected(what)) => {
            eprintln!("demo: not as promised: {what}");
            UNEXPECTED
        }
    }
}

async fn show(once: bool) -> Result<(), Trouble> {
    let stage = Stage::open()?;
    let http = http_client()?;
    stage.chapter("mcp-sidecar: one endpoint that stays, whatever its servers do");
    let mut sidecar = recovery::start(&stage, &http).await?;
    let played = match recovery::play(&stage, &http, &mut sidecar).await {
        Ok(()) => exhaustion::play(&stage, &http).await,
        Err(Trouble::Unexpected(what)) => Err(Trouble::Unexpected(sidecar.with_log(&what))),
        Err(Trouble::Interrupted) => Err(Trouble::Interrupted),
    };
    stage.chapter("After the show");
    let served = match played {
        Ok(()) if !once => serve(&stage, &mut sidecar).await,
        played => played,
    };
    let stopped = recovery::stop(&stage, sidecar).await;
    served.and(stopped)
}

/// Returns when the user has seen enough.
async fn serve(stage: &Stage, sidecar: &mut Sidecar) -> Result<(), Trouble> {
    stage.tell(&format!("the first sidecar keeps serving at {}; Ctrl-C ends it", sidecar.url()));
    let waited = stage.wait_for("Ctrl-C", Duration::MAX, async || sidecar.exited()).await;
    match waited {
        Ok(status) => Err(Trouble::unexpected(sidecar.with_log(&format!("the sidecar ended with {status}")))),
        Err(Trouble::Interrupted) => Ok(()),
        Err(trouble) => Err(trouble),
    }
}

fn http_client() -> Result<reqwest::Client, Trouble> {
    // Only fails where a provider is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().tcp_nodelay(true).build();
    client.map_err(|error| Trouble::unexpected(format!("HTTP client: {error}")))
}
