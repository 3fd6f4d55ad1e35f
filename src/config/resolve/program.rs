//! The options of the whole program.

use std::path::{Path, PathBuf};
use std::time::Duration;

use figment::value::Value;

use super::endpoints::endpoints;
use super::judge::{Judge, Judged, Scope};
use super::{server, supervision, values};
use crate::config::settings::{LogSettings, Naming, Readiness, Replay, ServerSettings, Settings};
use crate::config::{duration, proxy, suggest};
use crate::listener::origin::{HostPort, Origin};

/// Where Kubernetes looks for the last words.
const TERMINATION_LOG: &str = "/dev/termination-log";

/// What a stop needs besides the close barrier: flushing telemetry and writing the last words.
pub const FLUSH: Duration = Duration::from_secs(1);

/// Reads and judges everything, servers included.
pub(super) fn settings(judge: &mut Judge<'_>) -> Settings {
    let endpoints = endpoints(judge);
    let socket_mode = judge.read(Scope::Program, "socket_mode", |_, value| values::mode(value), 0o600).value;
    let socket_group = judge.text(Scope::Program, "socket_group").map(|(group, place)| {
        judge.show(&place);
        group.to_owned()
    });
    let naming = judge.choice(Scope::Program, "naming", [Naming::Prefixed, Naming::Plain]);
    let hold = judge.duration(Scope::Program, "hold").value;
    let replay = judge.choice(Scope::Program, "replay", [Replay::Never, Replay::ReadOnly, Replay::Idempotent]).value;
    let stop_timeout = judge.duration(Scope::Program, "stop_timeout");
    let exhaustion_linger = judge.duration(Scope::Program, "exhaustion_linger").value;
    let fail_on_startup_error = judge.bool(Scope::Program, "fail_on_startup_error").value;
    let policies = [Readiness::Started, Readiness::RequiredNow, Readiness::Any, Readiness::None];
    let readiness = judge.choice(Scope::Program, "readiness", policies).value;
    let allowed_hosts = judge.list(Scope::Program, "allowed_hosts", host);
    let allowed_origins = judge.list(Scope::Program, "allowed_origins", origin);
    let state_dir = judge.path(Scope::Program, "state_dir").map(|(path, _)| path);
    let termination_log = termination_log(judge);
    let log = log(judge);
    // Judged here even if every server overrides it; servers without tables of their own inherit it.
    supervision::supervision(judge, Scope::Program);
    let servers = server::servers(judge, fail_on_startup_error);
    judge_naming(judge, &naming, &servers);
    judge_stop_timeout(judge, &stop_timeout, &servers);
    let proxy = proxy::read(judge.environment, &mut judge.warnings);
    Settings {
        listen: endpoints.listen,
        socket_mode,
        socket_group,
        admin: endpoints.admin,
        token: endpoints.token,
        naming: naming.value,
        hold,
        replay,
        stop_timeout: stop_timeout.value,
        exhaustion_linger,
        readiness,
        allowed_hosts,
        allowed_origins,
        state_dir,
        termination_log,
        log,
        proxy,
        servers,
        warnings: std::mem::take(&mut judge.warnings),
    }
}

/// The guard of the listeners must be able to read it, or it would admit nobody.
fn host(entry: &str) -> Result<(), &'static str> {
    HostPort::parse(entry).map(|_| ()).ok_or("a host name, with or without a port, e.g. sidecar.example.com")
}

fn origin(entry: &str) -> Result<(), &'static str> {
    let right = "an origin, e.g. https://app.example.com or http://localhost:*";
    Origin::parse(entry).map(|_| ()).ok_or(right)
}

fn termination_log(judge: &mut Judge<'_>) -> Option<PathBuf> {
    if judge.find(Scope::Program, "termination_log").is_none() {
        let usual = Path::new(TERMINATION_LOG);
        return usual.exists().then(|| usual.to_owned());
    }
    let (path, _) = judge.path(Scope::Program, "termination_log")?;
    (path != Path::new("off")).then_some(path)
}

fn log(judge: &mut Judge<'_>) -> LogSettings {
    let json = judge.choice(Scope::Program, "log.format", [false, true]).value;
    let filter = judge.read(Scope::Program, "log.level", |_, value| filter(value), "info".to_owned()).value;
    LogSettings { json, filter }
}

/// A filter of one word is a level: `inof` would otherwise be taken for the name of a module that logs nothing.
fn filter(value: &Value) -> Result<String, String> {
    const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
    let text = values::text(value)?.trim();
    if text.chars().all(|c| c.is_ascii_alphanumeric()) && !LEVELS.contains(&text.to_ascii_lowercase().as_str()) {
        let nearest = suggest::did_you_mean(suggest::nearest(text, LEVELS));
        return Err(format!(
            "must be one of {}, or a filter such as warn,mcp_sidecar=debug{nearest}",
            LEVELS.join(", ")
        ));
    }
    match tracing_subscriber::EnvFilter::try_new(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(format!("is no filter: {error}; write e.g. info or warn,mcp_sidecar=debug")),
    }
}

fn judge_naming(judge: &mut Judge<'_>, naming: &Judged<Naming>, servers: &[ServerSettings]) {
    if naming.valid && naming.value == Naming::Plain && servers.len() > 1 {
        let count = servers.len();
        judge.object(&naming.place, format!("is possible with one server only, but there are {count}; use prefixed"));
    }
}

/// All targets stop in parallel: the slowest one's close barrier counts.
fn judge_stop_timeout(judge: &mut Judge<'_>, stop_timeout: &Judged<Duration>, servers: &[ServerSettings]) {
    let Some(slowest) = servers.iter().max_by_key(|server| server.timeouts.close) else { return };
    let needed = slowest.timeouts.close.saturating_add(FLUSH);
    if stop_timeout.valid && stop_timeout.value < needed {
        let (needed, name) = (duration::show(needed), &slowest.name);
        let problem =
            format!("must be at least {needed}: timeouts.close of server {name} plus {}", duration::show(FLUSH));
        judge.object(&stop_timeout.place, problem);
    }
}
