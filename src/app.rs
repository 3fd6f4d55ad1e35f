//! The composition root: builds the parts in order, hands them values, and waits for the end.

mod ending;
pub mod process;
mod targets;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::admin::{self, Access, Admin, Phase, Process};
use crate::catalogue::Catalogue;
use crate::config::settings::{ListenAddress, Readiness, Settings};
use crate::core::verdict::ReadyPolicy;
use crate::driver::child::{Nursery, NurseryOptions};
use crate::driver::fleet::Fleet;
use crate::driver::target::Report;
use crate::driver::wire::http::HttpClient;
use crate::exit::ExitReason;
use crate::gateway::{self, GatewayOptions};
use crate::heartbeat::Heartbeats;
use crate::linger::{Scrapes, linger};
use crate::listener::{self, Limits, Listener, SocketAccess};
use crate::shutdown::Shutdown;
use crate::telemetry::Telemetry;
use crate::telemetry::note::Note;
use ending::Watch;
use targets::{Common, Crew};

/// How long leftovers of a dead supervisor may take to die before their servers are refused.
const LEFTOVERS_BOUND: Duration = Duration::from_secs(3);
/// How long the last answers may take to reach their clients once all servers are stopped. Part of the stop's bound.
const ANSWERS_GRACE: Duration = Duration::from_millis(300);
/// What a stop needs besides its servers: answers, listeners, guardian. `stop_timeout` is at least this longer than the
/// longest close barrier, which the configuration's rules see to.
const STOP_RESERVE: Duration = Duration::from_secs(1);

/// Runs the sidecar until something ends it.
///
/// The caller has registered the signals and started the log. Returns why it ended; everything is closed by then, or the
/// reason says so.
pub async fn run(settings: Settings, program: PathBuf, shutdown: &Shutdown, telemetry: &Telemetry) -> ExitReason {
    for text in &settings.warnings {
        telemetry.note(&Note::Warning { text: text.clone() });
    }
    match Running::start(settings, program, telemetry).await {
        Ok(running) => running.until_stopped(shutdown).await,
        Err(reason) => reason,
    }
}

/// Everything that runs.
struct Running {
    fleet: Arc<Fleet>,
    nursery: Nursery,
    crew: Crew,
    reports: mpsc::UnboundedReceiver<Report>,
    scrapes: Scrapes,
    /// How far we are, for the probes.
    phase: watch::Sender<Phase>,
    /// Cancelled when the endpoint is to end.
    closing: CancellationToken,
    listeners: Vec<JoinHandle<()>>,
    stop_timeout: Duration,
    exhaustion_linger: Duration,
}

impl Running {
    /// Builds everything. What can fail for reasons outside the program comes first: nothing is started before the
    /// addresses are ours.
    async fn start(settings: Settings, program: PathBuf, telemetry: &Telemetry) -> Result<Self, ExitReason> {
        let access = SocketAccess { mode: settings.socket_mode, group: settings.socket_group.clone() };
        let mcp = bind(&settings.listen, &access).await?;
        let admin = match &settings.admin {
            Some(address) => Some(bind(address, &access).await?),
            None => None,
        };
        let options = NurseryOptions { program, telemetry: telemetry.clone() };
        let nursery =
            Nursery::open(options).map_err(|error| ExitReason::Internal(format!("process control: {error}")))?;
        let leftovers = nursery.end_leftovers(LEFTOVERS_BOUND).await;
        let http =
            HttpClient::new(&settings.proxy).map_err(|cause| ExitReason::Internal(format!("HTTP client: {cause}")))?;
        let heartbeats = Heartbeats::new();
        let (to_us, reports) = mpsc::unbounded_channel();
        let common = Common {
            hold: settings.hold,
            replay: settings.replay,
            nursery: nursery.clone(),
            leftovers,
            http,
            catalogue: Catalogue::new(settings.naming),
            telemetry: telemetry.clone(),
            heartbeats: heartbeats.clone(),
            reports: to_us,
        };
        let mut crew = Crew::default();
        let targets = settings.servers.iter().map(|server| crew.enlist(server.clone(), &common)).collect();
        let fleet = Arc::new(Fleet::new(targets, common.catalogue.clone()));
        let mut running = Self {
            fleet,
            nursery,
            crew,
            reports,
            scrapes: Scrapes::default(),
            phase: watch::Sender::new(Phase::Starting),
            closing: CancellationToken::new(),
            listeners: Vec::new(),
            stop_timeout: settings.stop_timeout,
            exhaustion_linger: settings.exhaustion_linger,
        };
        let process = Process {
            started: SystemTime::now(),
            started_at: Instant::now(),
            listen: mcp.address(),
            admin: admin.as_ref().map(Listener::address).unwrap_or_default(),
        };
        let upkeep = telemetry.clone();
        tokio::spawn(async move { upkeep.keep_up().await });
        running.open_endpoint(mcp, &settings, telemetry);
        if let Some(listener) = admin {
            running.open_admin(listener, &settings, telemetry, heartbeats, process);
        }
        running.phase.send_replace(Phase::Serving);
        Ok(running)
    }

    fn open_endpoint(&mut self, listener: Listener, settings: &Settings, telemetry: &Telemetry) {
        telemetry.note(&Note::Listening { what: "mcp", address: listener.address() });
        let options = GatewayOptions {
            allowed_hosts: settings.allowed_hosts.clone(),
            allowed_origins: settings.allowed_origins.clone(),
            token: settings.token.clone(),
            session_file: settings.state_dir.as_ref().map(|directory| directory.join("sessions")),
            ..GatewayOptions::default()
        };
        let (fleet, telemetry, closing) = (Arc::clone(&self.fleet), telemetry.clone(), self.closing.clone());
        self.listeners.push(tokio::spawn(async move {
            gateway::serve(listener, fleet, options, telemetry, closing, ANSWERS_GRACE).await;
        }));
    }

    fn open_admin(
        &mut self,
        listener: Listener,
        settings: &Settings,
        telemetry: &Telemetry,
        heartbeats: Heartbeats,
        process: Process,
    ) {
        telemetry.note(&Note::Listening { what: "admin", address: listener.address() });
        let fleet = Arc::clone(&self.fleet);
        let admin = Admin {
            targets: Arc::new(move || fleet.views()),
            policy: ready_policy(settings.readiness),
            heartbeats,
            telemetry: telemetry.clone(),
            scrapes: self.scrapes.clone(),
            phase: self.phase.subscribe(),
            process,
        };
        let router = admin::router(admin, Access::new(&listener, &settings.allowed_hosts, settings.token.as_ref()));
        let closing = self.closing.clone();
        self.listeners.push(tokio::spawn(async move {
            listener::serve(listener, router, Limits::default(), closing, ANSWERS_GRACE).await;
        }));
    }

    /// Starts the targets, watches over them until there is a reason to end, and ends everything.
    async fn until_stopped(self, shutdown: &Shutdown) -> ExitReason {
        let Self { fleet, nursery, crew, reports, scrapes, phase, closing, listeners, stop_timeout, exhaustion_linger } =
            self;
        let mut watch = Watch { fleet: &fleet, shutdown, reports, loops: crew.start() };
        let reason = watch.until_the_end().await;
        if let ExitReason::BudgetExhausted(_) = reason {
            phase.send_replace(Phase::Lingering);
            linger(&scrapes, exhaustion_linger, shutdown.signalled()).await;
        }
        phase.send_replace(Phase::Stopping);
        let stopped = watch.stop(stop_timeout.saturating_sub(STOP_RESERVE)).await;
        closing.cancel();
        let closed = async {
            for listener in listeners {
                // A listener's panic has nothing left to spoil.
                let _ = listener.await;
            }
            nursery.shutdown().await
        };
        tokio::select! {
            _ = tokio::time::timeout(STOP_RESERVE, closed) => {}
            () = shutdown.forced() => {}
        }
        match stopped {
            Ok(()) => reason,
            Err(detail) => reason.after_incomplete_stop(detail),
        }
    }
}

async fn bind(address: &ListenAddress, access: &SocketAccess) -> Result<Listener, ExitReason> {
    listener::bind(address, access).await.map_err(|error| ExitReason::AddressUnavailable(error.to_string()))
}

const fn ready_policy(readiness: Readiness) -> ReadyPolicy {
    match readiness {
        Readiness::Started => ReadyPolicy::Started,
        Readiness::RequiredNow => ReadyPolicy::RequiredNow,
        Readiness::Any => ReadyPolicy::Any,
        Readiness::None => ReadyPolicy::None,
    }
}
