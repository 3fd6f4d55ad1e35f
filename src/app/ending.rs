//! From the first reason to end to the last process gone.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::core::action::Escalation;
use crate::core::event::Event;
use crate::core::status::Status;
use crate::core::verdict::all_lost;
use crate::driver::fleet::Fleet;
use crate::driver::target::Report;
use crate::exit::{Exhaustion, ExitReason};
use crate::shutdown::Shutdown;

/// What the targets' loops can tell the process.
pub struct Watch<'a> {
    /// All targets.
    pub fleet: &'a Fleet,
    /// When and why to end.
    pub shutdown: &'a Shutdown,
    /// From the loops.
    pub reports: mpsc::UnboundedReceiver<Report>,
    /// The loops.
    pub loops: JoinSet<()>,
}

impl Watch<'_> {
    /// Watches over the targets until something asks for the end of the process.
    pub async fn until_the_end(&mut self) -> ExitReason {
        let mut hup = self.shutdown.hup();
        loop {
            tokio::select! {
                reason = self.shutdown.requested() => return reason,
                Ok(()) = hup.changed() => self.fleet.tell_all(&Event::Revive),
                Some(report) = self.reports.recv() => self.judge(report),
                Some(ended) = self.loops.join_next() => {
                    // No loop ends before it was told to.
                    let detail = ended.err().map_or_else(|| "a loop ended by itself".to_owned(), |panic| panic.to_string());
                    self.shutdown.trigger(ExitReason::Panic(detail));
                }
            }
        }
    }

    fn judge(&self, report: Report) {
        match report {
            Report::Escalated { server, escalation: Escalation::StartupFailed { cause } } => {
                self.shutdown.trigger(ExitReason::StartupFailed { server, error: cause.to_string() });
            }
            Report::Escalated { server, escalation: Escalation::Exhausted { cause } } => {
                self.shutdown.trigger(self.exhausted(&server, cause.to_string()));
            }
            Report::Changed => {
                let statuses = self.fleet.statuses();
                if all_lost(statuses.iter().map(AsRef::as_ref)) {
                    let last = self.fleet.targets().next().map(|target| target.name.clone()).unwrap_or_default();
                    self.shutdown.trigger(self.exhausted(&last, "no server is left".to_owned()));
                }
            }
            Report::StopIncomplete { .. } => {}
        }
    }

    fn exhausted(&self, server: &str, last_error: String) -> ExitReason {
        let target = self.fleet.targets().find(|target| target.name == server);
        let (attempts, outage_seconds) = target.map_or((0, 0.0), |target| {
            let status: &Status = &target.status.borrow();
            (status.attempts, status.outage_since.map_or(0.0, |since| since.elapsed().as_secs_f64()))
        });
        ExitReason::BudgetExhausted(Exhaustion { server: server.to_owned(), attempts, outage_seconds, last_error })
    }

    /// Stops all targets in parallel and waits for the slowest one, at most `bound`.
    ///
    /// # Errors
    /// What did not end in time, or was not proved to have ended.
    pub async fn stop(mut self, bound: Duration) -> Result<(), String> {
        self.fleet.tell_all(&Event::Stop);
        let all = async { while self.loops.join_next().await.is_some() {} };
        tokio::select! {
            ended = tokio::time::timeout(bound, all) => ended.map_err(|_| format!("not all servers ended within {bound:?}"))?,
            () = self.shutdown.forced() => return Err("forced by a second signal".to_owned()),
        }
        self.reports.close();
        let mut unproved = Vec::new();
        while let Some(report) = self.reports.recv().await {
            if let Report::StopIncomplete { server, generation } = report {
                unproved.push(format!("{server} (generation {generation})"));
            }
        }
        if unproved.is_empty() { Ok(()) } else { Err(format!("not proved to have ended: {}", unproved.join(", "))) }
    }
}
