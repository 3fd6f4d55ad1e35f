//! Builds one supervised target per server, and watches over their loops.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use crate::catalogue::Catalogue;
use crate::config::settings::{Replay, ServerSettings};
use crate::core::machine::Machine;
use crate::core::policy::Policy;
use crate::driver::calls::Calls;
use crate::driver::child::{Leftover, Nursery};
use crate::driver::connect::Memory;
use crate::driver::fleet::TargetHandle;
use crate::driver::flight::FlightLog;
use crate::driver::incarnation::Workshop;
use crate::driver::target::{self, Message, Parts, Report};
use crate::driver::wire::http::HttpClient;
use crate::heartbeat::Heartbeats;
use crate::telemetry::Telemetry;

/// What all targets share.
#[derive(Debug)]
pub struct Common {
    /// How long a call waits for a generation.
    pub hold: Duration,
    /// What is sent a second time.
    pub replay: Replay,
    /// Starts processes.
    pub nursery: Nursery,
    /// Processes of dead supervisors that could not be ended.
    pub leftovers: Vec<Leftover>,
    /// Talks HTTP.
    pub http: HttpClient,
    /// Where tools are published.
    pub catalogue: Catalogue,
    /// Where facts go.
    pub telemetry: Telemetry,
    /// Where loops show that they turn.
    pub heartbeats: Heartbeats,
    /// To the process.
    pub reports: mpsc::UnboundedSender<Report>,
}

/// The loops that were not started yet.
#[derive(Debug, Default)]
pub struct Crew {
    waiting: Vec<(Parts, mpsc::UnboundedReceiver<Message>)>,
}

impl Crew {
    /// Prepares the target of one server; its loop waits for [`Crew::start`].
    pub fn enlist(&mut self, server: ServerSettings, common: &Common) -> TargetHandle {
        let Common { hold, replay, nursery, leftovers, http, catalogue, telemetry, heartbeats, reports } = common;
        let policy = policy(&server);
        let name = server.name.clone();
        telemetry.add_target(&name, policy.max_attempts);
        let (inbox, messages) = mpsc::unbounded_channel();
        let status = watch::Sender::new(Arc::new(Machine::new(policy.clone()).snapshot()));
        let live = watch::Sender::new(None);
        let flights = Arc::new(FlightLog::default());
        let handle = TargetHandle {
            name: name.clone(),
            transport: server.transport.label(),
            status: status.subscribe(),
            live: live.subscribe(),
            calls: Calls {
                server: Arc::from(name.as_str()),
                hold: *hold,
                replay: *replay,
                status: status.subscribe(),
                live: live.subscribe(),
                catalogue: catalogue.subscribe(),
                flights: Arc::clone(&flights),
                held: AtomicUsize::new(0),
            },
            inbox: inbox.clone(),
        };
        let workshop = Arc::new(Workshop {
            server: Arc::new(server),
            nursery: nursery.clone(),
            leftovers: leftovers.iter().filter(|leftover| leftover.server == name).cloned().collect(),
            http: http.clone(),
            memory: Memory::default(),
            telemetry: telemetry.clone(),
            inbox,
        });
        let (catalogue, reports) = (catalogue.clone(), reports.clone());
        let heartbeat = heartbeats.register(format!("supervisor of {name}"));
        let parts = Parts { workshop, policy, catalogue, flights, status, live, heartbeat, reports };
        self.waiting.push((parts, messages));
        handle
    }

    /// Starts all loops. The set yields each loop's end; an `Err` is a panic.
    #[must_use]
    pub fn start(self) -> JoinSet<()> {
        self.waiting.into_iter().map(|(parts, inbox)| target::run(parts, inbox)).collect()
    }
}

fn policy(server: &ServerSettings) -> Policy {
    Policy {
        reconnect: server.reconnect.enabled,
        initial_delay: server.reconnect.initial_delay,
        max_delay: server.reconnect.max_delay,
        max_attempts: server.reconnect.max_attempts,
        jitter: server.reconnect.jitter,
        close_timeout: server.timeouts.close,
        liveness_interval: server.liveness.interval,
        liveness_failures: server.liveness.failures,
        required: server.required,
        strict_startup: server.strict_startup,
    }
}
