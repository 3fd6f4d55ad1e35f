//! The resolved configuration: judged, complete, and typed. Parts receive the values they need, never the whole.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;

/// Everything `mcp-sidecar run` needs to know. Built only by `config::resolve`.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where MCP is served (path `/mcp`).
    pub listen: ListenAddress,
    /// Mode bits of a UNIX listening socket. Default 0600.
    pub socket_mode: u32,
    /// Group that a UNIX listening socket is given.
    pub socket_group: Option<String>,
    /// Where `/livez`, `/readyz`, `/startupz`, `/metrics` and `/status` are served; `None` = off.
    pub admin: Option<ListenAddress>,
    /// Bearer token that clients of both listeners must present, where set.
    pub token: Option<SecretString>,
    /// How public tool names are made.
    pub naming: Naming,
    /// How long a call waits for the next generation.
    pub hold: Duration,
    /// Which calls in flight at an ending are re-sent.
    pub replay: Replay,
    /// The bound of a graceful stop.
    pub stop_timeout: Duration,
    /// The longest linger after exhaustion.
    pub exhaustion_linger: Duration,
    /// When `/readyz` says 200.
    pub readiness: Readiness,
    /// `Host` names that are accepted besides loopback names and IP literals.
    pub allowed_hosts: Vec<String>,
    /// `Origin`s that are accepted.
    pub allowed_origins: Vec<String>,
    /// Directory of lock, last-exit record and open generations.
    pub state_dir: Option<PathBuf>,
    /// File for the termination message. Default `/dev/termination-log` where that exists.
    pub termination_log: Option<PathBuf>,
    /// How log lines look and which are written.
    pub log: LogSettings,
    /// Proxies for HTTP servers, as the environment names them.
    pub proxy: ProxySettings,
    /// Every server, sorted by name; names are unique.
    pub servers: Vec<ServerSettings>,
    /// What the operator should hear about although it is no error (Kubernetes' service variables, unknown keys of a
    /// foreign file, …). Logged at warn once logging is up.
    pub warnings: Vec<String>,
}

/// Where a listener listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenAddress {
    /// A TCP address.
    Tcp(SocketAddr),
    /// A UNIX socket's path.
    Unix(PathBuf),
}

/// How public tool names are made of (server, tool).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// `{server}__{tool}`.
    Prefixed,
    /// `{tool}`; only with one server.
    Plain,
}

/// Which calls in flight at an ending are re-sent to the next generation, at most once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replay {
    /// None.
    Never,
    /// Those of tools that declare `readOnlyHint: true`.
    ReadOnly,
    /// These and those of tools that declare `idempotentHint: true`.
    Idempotent,
}

/// When `/readyz` says 200.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// Every required target was up once, and none is exhausted.
    Started,
    /// Every required target is up.
    RequiredNow,
    /// Any target is up.
    Any,
    /// Always.
    None,
}

/// How log lines look and which are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSettings {
    /// `text` or `json`.
    pub json: bool,
    /// A `tracing` filter, e.g. `info` or `mcp_sidecar=debug`.
    pub filter: String,
}

/// Proxies for HTTP servers. Loopback and UNIX sockets are never reached through one, whatever stands here.
#[derive(Clone, Debug, Default)]
pub struct ProxySettings {
    /// For `http://` servers. May hold a password.
    pub http: Option<SecretString>,
    /// For `https://` servers. May hold a password.
    pub https: Option<SecretString>,
    /// Hosts that are reached directly, as `NO_PROXY` lists them.
    pub no_proxy: Option<String>,
}

/// One server.
#[derive(Clone, Debug)]
pub struct ServerSettings {
    /// `[A-Za-z0-9_-]{1,64}` without `__`.
    pub name: String,
    /// Whether exhaustion ends the process.
    pub required: bool,
    /// Which protocol era to speak.
    pub protocol: ProtocolChoice,
    /// How to reach it.
    pub transport: Transport,
    /// Backoff and budget.
    pub reconnect: Reconnect,
    /// Deadlines.
    pub timeouts: Timeouts,
    /// Probing.
    pub liveness: Liveness,
    /// `fail_on_startup_error`.
    pub strict_startup: bool,
}

/// Which protocol era to speak with a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolChoice {
    /// Probe (`server/discover`), remember.
    Auto,
    /// `initialize`, up to 2025-11-25.
    Legacy,
    /// 2026-07-28.
    Modern,
}

/// How a server is reached.
#[derive(Clone, Debug)]
pub enum Transport {
    /// A child process that speaks on stdin and stdout.
    Stdio(StdioSettings),
    /// Streamable HTTP.
    Http(HttpSettings),
    /// HTTP+SSE as of 2024-11-05.
    Sse(HttpSettings),
}

impl Transport {
    /// The word for it in `/status`.
    #[must_use]
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Stdio(_) => "stdio",
            Self::Http(_) => "streamable-http",
            Self::Sse(_) => "sse",
        }
    }
}

/// A child process.
#[derive(Clone, Debug)]
pub struct StdioSettings {
    /// Bare name (looked up in the child's PATH) or path.
    pub command: String,
    /// Arguments. May hold secrets: never logged.
    pub args: Vec<SecretString>,
    /// Added to the minimal environment. Values may hold secrets.
    pub env: BTreeMap<String, SecretString>,
    /// The complete environment the child gets from us: the documented minimal set (PATH, HOME, …) of our own
    /// environment overlaid with `env`. Made by `config`, because only `config` reads the environment.
    pub environment: BTreeMap<String, SecretString>,
    /// Working directory; ours if unset.
    pub cwd: Option<PathBuf>,
}

/// An HTTP endpoint.
#[derive(Clone)]
pub struct HttpSettings {
    /// `http://` or `https://`. May hold secrets anywhere but in its host: log only `display_url`.
    pub url: url::Url,
    /// Added to each request. Values may hold secrets.
    pub headers: BTreeMap<String, SecretString>,
    /// The URL as it may be shown.
    shown: String,
}

impl HttpSettings {
    /// `shown` is what may be shown of the URL: nothing of user info, query, fragment and what was put in for variables.
    #[must_use]
    pub fn new(url: url::Url, shown: String, headers: BTreeMap<String, SecretString>) -> Self {
        Self { url, headers, shown }
    }

    /// The URL without its secrets, fit for logs.
    #[must_use]
    pub fn display_url(&self) -> &str {
        &self.shown
    }
}

impl fmt::Debug for HttpSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpSettings").field("url", &self.shown).field("headers", &self.headers).finish()
    }
}

/// Backoff and budget. Ranges: attempts 1-1000, initial 10 ms-60 s, max 10 ms-1 h, initial ≤ max.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reconnect {
    /// Whether a lost server is connected again at all.
    pub enabled: bool,
    /// Default 500 ms.
    pub initial_delay: Duration,
    /// Default 30 s. Also the stability window.
    pub max_delay: Duration,
    /// Default 10.
    pub max_attempts: u32,
    /// Default true: at most ±10 %.
    pub jitter: bool,
}

/// Deadlines of our own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Spawn or connect until the handshake is answered. Default 60 s.
    pub start: Duration,
    /// One page, and the whole walk, of `tools/list`. Default 30 s.
    pub list: Duration,
    /// One call, extended by progress. Default 5 min.
    pub call: Duration,
    /// The longest call whatever its progress. Default 1 h.
    pub call_max: Duration,
    /// The close barrier's bound. Default 10 s.
    pub close: Duration,
}

/// Probing of an idle generation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Liveness {
    /// Pause between the last sign of life and a probe. Default 30 s.
    pub interval: Duration,
    /// How long a probe waits for an answer. Default 10 s.
    pub timeout: Duration,
    /// Unanswered probes in a row that end a generation. Default 3.
    pub failures: u32,
}
