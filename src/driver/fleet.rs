//! All targets as one: what the gateway calls, what the admin listener shows, what the process stops.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::{mpsc, watch};

use super::calls::Calls;
use super::child::Child;
use super::live::Live;
use super::target::Message;
use crate::admin::TargetView;
use crate::catalogue::Catalogue;
use crate::catalogue::snapshot::Snapshot;
use crate::core::event::Event;
use crate::core::status::Status;
use crate::gateway::upstream::{Answer, ToolCall, Upstream};

/// One target, from outside its loop.
#[derive(Debug)]
pub struct TargetHandle {
    /// Its name.
    pub name: String,
    /// `stdio`, `streamable-http` or `sse`.
    pub transport: &'static str,
    /// Its status.
    pub status: watch::Receiver<Arc<Status>>,
    /// Its established generation.
    pub live: watch::Receiver<Option<Arc<Live>>>,
    /// Its calls.
    pub calls: Calls,
    /// Its loop.
    pub inbox: mpsc::UnboundedSender<Message>,
}

impl TargetHandle {
    fn view(&self, snapshot: &Snapshot) -> TargetView {
        let live = self.live.borrow().clone();
        TargetView {
            name: self.name.clone(),
            status: Arc::clone(&self.status.borrow()),
            transport: self.transport,
            era: live.as_ref().map(|live| live.session.era()),
            pid: live.and_then(|live| live.child.as_ref().map(Child::pid)),
            tools: snapshot.tools().iter().filter(|tool| *tool.server == *self.name).count(),
        }
    }
}

/// All targets.
#[derive(Debug)]
pub struct Fleet {
    targets: BTreeMap<Arc<str>, TargetHandle>,
    catalogue: Catalogue,
}

impl Fleet {
    /// These targets behind this catalogue.
    #[must_use]
    pub fn new(targets: Vec<TargetHandle>, catalogue: Catalogue) -> Self {
        let targets = targets.into_iter().map(|target| (Arc::from(target.name.as_str()), target)).collect();
        Self { targets, catalogue }
    }

    /// All targets, by name.
    pub fn targets(&self) -> impl Iterator<Item = &TargetHandle> {
        self.targets.values()
    }

    /// The current status of each.
    #[must_use]
    pub fn statuses(&self) -> Vec<Arc<Status>> {
        self.targets().map(|target| Arc::clone(&target.status.borrow())).collect()
    }

    /// What the admin listener shows of each.
    #[must_use]
    pub fn views(&self) -> Vec<TargetView> {
        let snapshot = self.catalogue.snapshot();
        self.targets().map(|target| target.view(&snapshot)).collect()
    }

    /// Tells every target's loop.
    pub fn tell_all(&self, event: &Event) {
        for target in self.targets() {
            // A loop that is over needs no news.
            let _ = target.inbox.send(event.clone().into());
        }
    }
}

impl Upstream for Fleet {
    fn catalogue(&self) -> watch::Receiver<Arc<Snapshot>> {
        self.catalogue.subscribe()
    }

    async fn call(&self, call: ToolCall) -> Answer {
        let found = self.catalogue.snapshot().find(&call.name).cloned();
        let Some((tool, target)) = found.and_then(|tool| self.targets.get(&tool.server).map(|target| (tool, target)))
        else {
            return Answer::UnknownTool;
        };
        target.calls.call(tool, &call).await
    }
}
