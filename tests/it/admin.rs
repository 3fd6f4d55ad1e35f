//! The operators' listener, on real sockets.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use mcp_sidecar::admin::{Access, Admin, Phase, Process, TargetView, router};
use mcp_sidecar::config::settings::ListenAddress;
use mcp_sidecar::core::cause::{Cause, CauseKind};
use mcp_sidecar::core::generation::Generation;
use mcp_sidecar::core::status::{StateName, Status};
use mcp_sidecar::core::verdict::ReadyPolicy;
use mcp_sidecar::driver::session::Era;
use mcp_sidecar::heartbeat::Heartbeats;
use mcp_sidecar::linger::{Scrapes, linger};
use mcp_sidecar::listener::{self, Limits, SocketAccess};
use mcp_sidecar::telemetry::Telemetry;
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::support::client::http_client;
use crate::support::wait::wait_until;

const PATIENCE: Duration = Duration::from_secs(20);
/// After which a loop is missed.
const STANDSTILL: Duration = Duration::from_millis(100);

#[tokio::test]
async fn liveness_never_depends_on_servers() {
    let admin = Running::start().await;
    admin.set("github", StateName::Exhausted, |_| {});
    admin.set("docs", StateName::Stuck, |_| {});
    assert_eq!(admin.get("/livez").await, (200, "alive\n".to_owned()));
}

#[tokio::test]
async fn readiness_follows_its_policy_and_names_what_is_missing() {
    let admin = Running::start().await;
    admin.set("github", StateName::Starting, |status| status.ever_established = false);
    let (status, body) = admin.get("/readyz").await;
    assert_eq!(status, 503);
    assert!(body.contains("github") && !body.contains("docs"), "{body}");

    admin.set("github", StateName::Established, |_| {});
    assert_eq!(admin.get("/readyz").await.0, 200);
    admin.set("github", StateName::Waiting, |_| {});
    assert_eq!(admin.get("/readyz").await.0, 200, "it was up once");
}

#[tokio::test]
async fn a_process_that_lingers_or_stops_is_alive_and_not_ready() {
    let admin = Running::start().await;
    for phase in [Phase::Starting, Phase::Lingering, Phase::Stopping] {
        admin.phase.send_replace(phase);
        let (status, body) = admin.get("/readyz").await;
        assert_eq!(status, 503);
        assert!(body.contains(phase.label()), "{body}");
        assert_eq!(admin.get("/livez").await.0, 200);
    }
}

#[tokio::test]
async fn startup_waits_for_listeners_and_for_each_required_first_connect_well_or_badly() {
    let admin = Running::start().await;
    admin.set("docs", StateName::Starting, |status| status.first_connect_finished = false);
    assert_eq!(admin.get("/startupz").await.0, 200, "docs is not required");
    admin.set("github", StateName::Starting, |status| status.first_connect_finished = false);
    let (status, body) = admin.get("/startupz").await;
    assert_eq!((status, body.as_str()), (503, "not started\nfirst connect of github is not finished\n"));
    admin.set("github", StateName::Waiting, |status| status.ever_established = false);
    assert_eq!(admin.get("/startupz").await.0, 200, "badly is finished as well");
    admin.phase.send_replace(Phase::Starting);
    assert_eq!(admin.get("/startupz").await.0, 503);
}

#[tokio::test]
async fn the_status_tells_state_budget_outage_and_error_of_each_server() {
    let admin = Running::start().await;
    let now = Instant::now();
    admin.set("github", StateName::Waiting, |status| {
        status.generation = Generation::new(3);
        status.attempts = 2;
        status.outage_since = Some(now - Duration::from_secs(5));
        status.next_attempt = Some(now + Duration::from_secs(60));
        status.last_cause = Some(Cause::new(CauseKind::ProcessExited, "exit code 3"));
    });
    let status: Value = serde_json::from_str(&admin.get("/status").await.1).unwrap();
    let github = &status["servers"][1];
    assert_eq!(github["name"], "github");
    assert_eq!(github["state"], "waiting");
    assert_eq!(github["generation"], 3);
    assert_eq!((&github["attempts"], &github["max_attempts"]), (&2.into(), &10.into()));
    assert_eq!(github["last_error"]["type"], "process_exited");
    assert_eq!(github["last_error"]["detail"], "exit code 3");
    assert_eq!(
        (&github["transport"], &github["era"], &github["tools"]),
        (&"stdio".into(), &"legacy".into(), &4.into())
    );
    assert!((5.0..60.0).contains(&github["outage_seconds"].as_f64().unwrap()), "{github}");
    assert!((1..=60_000).contains(&github["next_attempt_in_ms"].as_u64().unwrap()), "{github}");
    let since = humantime::parse_rfc3339(github["outage_since"].as_str().unwrap()).unwrap();
    assert!(since.elapsed().unwrap() >= Duration::from_millis(4_900));
    assert_eq!(github["established_since"], Value::Null);

    let process = &status["process"];
    assert_eq!(process["pid"], std::process::id());
    assert_eq!(process["listen"], "127.0.0.1:9900");
    assert_eq!((&process["phase"], &process["readiness"]), (&"serving".into(), &"started".into()));
    assert_eq!(process["ready"], true);
}

#[tokio::test]
async fn metrics_are_rendered_with_their_content_type_and_each_scrape_is_noticed() {
    let admin = Running::start().await;
    let foreign = admin.request("/metrics").header("host", "evil.example").send().await.unwrap();
    assert_eq!(foreign.status(), 403);
    let pending = std::future::pending;
    tokio::time::timeout(PATIENCE, linger(&admin.scrapes, 9 * PATIENCE, pending())).await.expect("nobody scraped");

    let response = admin.request("/metrics").send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    assert!(response.text().await.unwrap().contains("mcp_sidecar_build_info"));
    let lingers = linger(&admin.scrapes, 9 * PATIENCE, pending());
    tokio::time::timeout(Duration::from_millis(50), lingers).await.expect_err("somebody scraped");
}

#[tokio::test]
async fn a_foreign_host_and_any_origin_are_refused_on_every_path() {
    let admin = Running::start().await;
    for path in ["/", "/livez", "/readyz", "/startupz", "/status", "/metrics", "/other"] {
        for (header, value, expected) in [
            ("host", "evil.example", 403),
            ("origin", "http://evil.example", 403),
            ("origin", "http://127.0.0.1", 403),
            ("host", "10.1.2.3:9901", if path == "/other" { 404 } else { 200 }),
        ] {
            let response = admin.request(path).header(header, value).send().await.unwrap();
            assert_eq!(response.status().as_u16(), expected, "{path} with {header}: {value}");
        }
    }
}

#[tokio::test]
async fn with_a_token_the_status_asks_for_it_and_probes_do_not() {
    let admin = Running::start_on(Ipv4Addr::LOCALHOST.into(), Some("s3cret")).await;
    let refused = admin.request("/status").send().await.unwrap();
    assert_eq!(refused.status(), 401);
    assert!(refused.headers().contains_key("www-authenticate"));
    let wrong = admin.request("/status").bearer_auth("s3cre").send().await.unwrap();
    assert_eq!(wrong.status(), 401);
    let right = admin.request("/status").bearer_auth("s3cret").send().await.unwrap();
    assert_eq!(right.status(), 200);
    for path in ["/livez", "/readyz", "/startupz", "/metrics", "/"] {
        assert_eq!(admin.get(path).await.0, 200, "{path}");
    }
}

#[tokio::test]
async fn beyond_loopback_and_without_a_token_there_are_only_probes_and_metrics() {
    let admin = Running::start_on(Ipv4Addr::UNSPECIFIED.into(), None).await;
    for path in ["/livez", "/readyz", "/startupz", "/metrics"] {
        assert_eq!(admin.get(path).await.0, 200, "{path}");
    }
    for path in ["/status", "/", "/other"] {
        assert_eq!(admin.get(path).await.0, 403, "{path}");
    }
    let admin = Running::start_on(Ipv4Addr::UNSPECIFIED.into(), Some("s3cret")).await;
    let right = admin.request("/status").bearer_auth("s3cret").send().await.unwrap();
    assert_eq!(right.status(), 200);
}

#[tokio::test]
async fn the_index_names_every_path_and_other_methods_are_refused() {
    let admin = Running::start().await;
    let index = admin.get("/").await.1;
    for path in ["/livez", "/readyz", "/startupz", "/status", "/metrics"] {
        assert!(index.contains(path), "{path}");
        let posted = admin.http.post(admin.url(path)).send().await.unwrap();
        assert_eq!(posted.status(), 405, "{path}");
    }
}

#[tokio::test]
async fn a_loop_that_stands_still_is_named_by_livez() {
    let admin = Running::start().await;
    assert_eq!(admin.get("/livez").await.0, 200);
    let beat = admin.heartbeats.register("supervisor github");
    wait_until("the loop is missed", PATIENCE, async || {
        admin.get("/livez").await == (503, "not alive\nsupervisor github stands still\n".to_owned())
    })
    .await;
    wait_until("its beat is noticed", PATIENCE, async || {
        beat.beat();
        admin.get("/livez").await.0 == 200
    })
    .await;
}

/// An admin listener in this process.
struct Running {
    http: reqwest::Client,
    port: u16,
    targets: Arc<Mutex<Vec<TargetView>>>,
    phase: watch::Sender<Phase>,
    heartbeats: Heartbeats,
    scrapes: Scrapes,
    stop: CancellationToken,
}

impl Running {
    async fn start() -> Self {
        Self::start_on(Ipv4Addr::LOCALHOST.into(), None).await
    }

    /// Two servers that are up: `docs`, which is not required, and `github`.
    async fn start_on(address: IpAddr, token: Option<&str>) -> Self {
        let listen = ListenAddress::Tcp(SocketAddr::new(address, 0));
        let listener = listener::bind(&listen, &SocketAccess::default()).await.expect("a free port");
        let port = listener.tcp_address().expect("a TCP listener").port();
        let targets = Arc::new(Mutex::new(vec![target("docs", false), target("github", true)]));
        let (phase, phases) = watch::channel(Phase::Serving);
        let (heartbeats, scrapes, stop) =
            (Heartbeats::with_limit(STANDSTILL), Scrapes::default(), CancellationToken::new());
        let shown = Arc::clone(&targets);
        let admin = Admin {
            targets: Arc::new(move || shown.lock().expect("no test panics with it").clone()),
            policy: ReadyPolicy::Started,
            heartbeats: heartbeats.clone(),
            telemetry: Telemetry::new(),
            scrapes: scrapes.clone(),
            phase: phases,
            process: Process {
                started: SystemTime::now(),
                started_at: Instant::now(),
                listen: "127.0.0.1:9900".to_owned(),
                admin: listener.address(),
            },
        };
        let token = token.map(|token| token.to_owned().into());
        let access = Access::new(&listener, &[], token.as_ref());
        let serving = listener::serve(listener, router(admin, access), Limits::default(), stop.clone(), PATIENCE);
        tokio::spawn(serving);
        let http = http_client();
        let running = Self { http, port, targets, phase, heartbeats, scrapes, stop };
        wait_until("the listener answers", PATIENCE, async || running.request("/livez").send().await.is_ok()).await;
        running
    }

    fn set(&self, name: &str, state: StateName, change: impl FnOnce(&mut Status)) {
        let mut targets = self.targets.lock().expect("no test panics with it");
        let target = targets.iter_mut().find(|target| target.name == name).expect("a known target");
        let mut status = Status { state, established_at: None, ..(*target.status).clone() };
        (status.first_connect_finished, status.ever_established) = (true, true);
        change(&mut status);
        target.status = Arc::new(status);
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    fn request(&self, path: &str) -> reqwest::RequestBuilder {
        self.http.get(self.url(path)).timeout(PATIENCE)
    }

    async fn get(&self, path: &str) -> (u16, String) {
        let response = self.request(path).send().await.expect("an answer");
        (response.status().as_u16(), response.text().await.expect("a body"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

fn target(name: &str, required: bool) -> TargetView {
    let status = Status {
        state: StateName::Established,
        generation: Generation::new(1),
        attempts: 0,
        max_attempts: 10,
        outage_since: None,
        next_attempt: None,
        delay: None,
        established_at: Some(Instant::now()),
        last_cause: None,
        ever_established: true,
        first_connect_finished: true,
        required,
    };
    let status = Arc::new(status);
    TargetView { name: name.to_owned(), status, transport: "stdio", era: Some(Era::Legacy), pid: None, tools: 4 }
}
