//! The options themselves.

use std::time::Duration;

use super::{Kind, Opt};

const TEN_MILLIS: Duration = Duration::from_millis(10);
const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const TEN_MINUTES: Duration = Duration::from_secs(600);
const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// Every option, in the order in which it is shown.
pub const OPTIONS: &[Opt] = &[
    option("listen", Kind::Address, "Where MCP is served, at path /mcp; beyond loopback only with a token.")
        .or("127.0.0.1:9900")
        .flag("--listen"),
    option("admin", Kind::AddressOrOff, "Where /livez, /readyz, /startupz, /metrics and /status are served.")
        .or("127.0.0.1:9901")
        .flag("--admin"),
    option("socket_mode", Kind::Mode, "Permission bits of UNIX listening sockets.").or("0600"),
    option("socket_group", Kind::Text, "Group that UNIX listening sockets are given."),
    option("token", Kind::Secret, "Bearer token that clients must present."),
    option("token_file", Kind::Path, "File that holds the token; a line end behind it is ignored."),
    option("naming", Kind::Choice(&["prefixed", "plain"]), "Public tool names: server__tool, or tool with one server.")
        .or("prefixed"),
    option("hold", within(Duration::ZERO, TEN_MINUTES), "How long a call waits for the next generation.").or("5s"),
    option(
        "replay",
        Kind::Choice(&["never", "read-only", "idempotent"]),
        "Which calls in flight at an ending are sent once more to the next generation.",
    )
    .or("read-only"),
    option(
        "stop_timeout",
        within(SECOND, HOUR),
        "Bound of a graceful stop; at least the longest `timeouts.close` plus 1s.",
    )
    .or("25s"),
    option(
        "exhaustion_linger",
        within(Duration::ZERO, HOUR),
        "Longest stay after exhaustion, so that it gets scraped.",
    )
    .or("90s"),
    option("fail_on_startup_error", Kind::Bool, "Exit 69 if a required server's first connect or first sync fails.")
        .or("false"),
    option(
        "readiness",
        Kind::Choice(&["started", "required-now", "any", "none"]),
        "When /readyz says 200: every required server was up once, is up now, any server is up, always.",
    )
    .or("started"),
    option("allowed_hosts", Kind::List, "Host names accepted besides loopback names and IP literals.").or("[]"),
    option("allowed_origins", Kind::List, "Origins accepted from browsers.").or("[]"),
    option("state_dir", Kind::Path, "Directory of what is remembered over a restart; `$STATE_DIRECTORY` where set.")
        .flag("--state-dir"),
    option("termination_log", Kind::PathOrOff, "File for the last words; `/dev/termination-log` where that exists."),
    option("log.format", Kind::Choice(&["text", "json"]), "How log lines look.").or("text").flag("--log-format"),
    option("log.level", Kind::Text, "Which log lines are written, as a tracing filter.").or("info").flag("--log-level"),
    option("reconnect.enabled", Kind::Bool, "Whether a lost server is connected again at all.").or("true"),
    option(
        "reconnect.initial_delay",
        within(TEN_MILLIS, MINUTE),
        "Delay before the first attempt; doubles from there.",
    )
    .or("500ms"),
    option("reconnect.max_delay", within(TEN_MILLIS, HOUR), "Longest delay; also the stability window.").or("30s"),
    option("reconnect.max_attempts", Kind::Count { min: 1, max: 1000 }, "The budget of attempts.").or("10"),
    option("reconnect.jitter", Kind::Bool, "Vary delays by at most 10 %.").or("true"),
    option("timeouts.start", within(TEN_MILLIS, HOUR), "From spawn or connect until the handshake is answered.")
        .or("60s"),
    option("timeouts.list", within(TEN_MILLIS, HOUR), "One page, and the whole walk, of a list.").or("30s"),
    option("timeouts.call", within(TEN_MILLIS, DAY), "One call; extended by progress up to `timeouts.call_max`.")
        .or("5m"),
    option("timeouts.call_max", within(TEN_MILLIS, DAY), "One call whatever its progress; at least `timeouts.call`.")
        .or("1h"),
    option("timeouts.close", within(TEN_MILLIS, HOUR), "Until an ended generation must be proved closed.").or("10s"),
    option("liveness.interval", within(TEN_MILLIS, HOUR), "Pause between the last sign of life and a probe.").or("30s"),
    option("liveness.timeout", within(TEN_MILLIS, HOUR), "How long a probe waits for its answer.").or("10s"),
    option("liveness.failures", Kind::Count { min: 1, max: 100 }, "Unanswered probes in a row that end a generation.")
        .or("3"),
    option("servers.NAME.command", Kind::Text, "Program of a stdio server: a name in its PATH, or a path."),
    option("servers.NAME.args", Kind::Arguments, "Its arguments."),
    option("servers.NAME.env", Kind::Secrets, "Added to the minimal environment it gets."),
    option("servers.NAME.cwd", Kind::Path, "Its working directory; the sidecar's own where unset."),
    option("servers.NAME.url", Kind::Url, "Endpoint of an HTTP server."),
    option("servers.NAME.headers", Kind::Secrets, "Added to each request to it."),
    option(
        "servers.NAME.transport",
        Kind::Choice(&["stdio", "streamable-http", "sse"]),
        "stdio with a command; streamable-http (a url's default) or sse with a url.",
    ),
    option(
        "servers.NAME.required",
        Kind::Bool,
        "Whether its exhaustion ends the process; false for servers of `--mcp-json`.",
    )
    .or("true"),
    option(
        "servers.NAME.protocol",
        Kind::Choice(&["auto", "legacy", "modern"]),
        "Which protocol era to speak with it.",
    )
    .or("auto"),
];

const fn option(key: &'static str, kind: Kind, help: &'static str) -> Opt {
    Opt { key, kind, default: None, flag: None, help }
}

const fn within(min: Duration, max: Duration) -> Kind {
    Kind::Duration { min, max }
}

impl Opt {
    const fn or(mut self, default: &'static str) -> Self {
        self.default = Some(default);
        self
    }

    const fn flag(mut self, flag: &'static str) -> Self {
        self.flag = Some(flag);
        self
    }
}
