//! What clients see: the tools of all servers, as one atomic, byte-stable snapshot.

mod definition;
pub mod naming;
pub mod page;
pub mod param_headers;
pub mod snapshot;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use crate::config::settings::Naming;
use snapshot::{Snapshot, Tool, UpstreamTool};

/// The tools of all servers. Cheap to clone; all clones are the same catalogue.
#[derive(Clone, Debug)]
pub struct Catalogue {
    naming: Naming,
    servers: Arc<Mutex<Servers>>,
    published: Arc<watch::Sender<Arc<Snapshot>>>,
}

type Servers = BTreeMap<Arc<str>, Vec<Arc<Tool>>>;

/// What a replacement led to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Whether clients see anything different, byte by byte.
    pub changed: bool,
    /// How many tools of the server are served.
    pub served: usize,
    /// Tools that are not served, and why.
    pub rejected: Vec<Rejected>,
}

/// A tool that is not served. It never keeps others from being served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// Whose.
    pub server: String,
    /// Its name, truncated.
    pub tool: String,
    /// Why.
    pub reason: String,
}

impl Catalogue {
    /// An empty one.
    #[must_use]
    pub fn new(naming: Naming) -> Self {
        let published = Arc::new(watch::Sender::new(Arc::new(Snapshot::default())));
        Self { naming, servers: Arc::default(), published }
    }

    /// Sees each change. Its value is always the current snapshot.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<Arc<Snapshot>> {
        self.published.subscribe()
    }

    /// The current snapshot.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.published.borrow().clone()
    }

    /// Puts `tools` in the place of all tools of `server`, atomically.
    ///
    /// A bad tool, and the later one (by server, then in the server's order) of two that share a public name, are
    /// rejected; the others stay.
    pub fn replace(&self, server: &str, tools: Vec<UpstreamTool>) -> Change {
        let server: Arc<str> = server.into();
        let mut rejected = Vec::new();
        let mut served = Vec::with_capacity(tools.len());
        for tool in tools {
            match self.admit(&server, &tool) {
                Ok(tool) => served.push(Arc::new(tool)),
                Err(reason) => rejected.push(Rejected::new(&server, &tool.name, reason)),
            }
        }
        let (changed, collided) = self.update(|servers| {
            servers.insert(Arc::clone(&server), served);
        });
        rejected.extend(collided);
        let served = self.snapshot().tools().iter().filter(|tool| tool.server == server).count();
        Change { changed, served, rejected }
    }

    /// Takes all tools of `server` away. Returns whether there were any.
    pub fn withdraw(&self, server: &str) -> bool {
        self.update(|servers| {
            servers.remove(server);
        })
        .0
    }

    fn admit(&self, server: &Arc<str>, tool: &UpstreamTool) -> Result<Tool, String> {
        let public_name = naming::public_name(self.naming, server, &tool.name)?;
        let definition = definition::rename(&tool.definition, &public_name)?;
        Ok(Tool {
            param_headers: param_headers::of(&definition),
            public_name,
            server: Arc::clone(server),
            upstream_name: tool.name.clone(),
            definition,
            read_only: tool.read_only,
            idempotent: tool.idempotent,
        })
    }

    /// Publishes within the lock: snapshots appear in the order of the changes.
    fn update(&self, change: impl FnOnce(&mut Servers)) -> (bool, Vec<Rejected>) {
        let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut servers);
        let (merged, collided) = merge(&servers);
        let changed = self.snapshot().tools() != merged.as_slice();
        if changed {
            self.published.send_replace(Arc::new(Snapshot::new(merged)));
        }
        (changed, collided)
    }
}

/// All tools, sorted by public name. Of two with one name the first server's first one stays.
fn merge(servers: &Servers) -> (Vec<Arc<Tool>>, Vec<Rejected>) {
    let mut merged: Vec<Arc<Tool>> = servers.values().flatten().cloned().collect();
    merged.sort_by(|a, b| a.public_name.cmp(&b.public_name));
    let mut collided = Vec::new();
    merged.dedup_by(|later, kept| {
        let collides = later.public_name == kept.public_name;
        if collides {
            let reason =
                format!("its public name {} is taken by {}/{}", kept.public_name, kept.server, kept.upstream_name);
            collided.push(Rejected::new(&later.server, &later.upstream_name, reason));
        }
        collides
    });
    (merged, collided)
}

impl Rejected {
    fn new(server: &str, tool: &str, reason: String) -> Self {
        let tool = tool.chars().filter(|c| !c.is_control()).take(128).collect();
        Self { server: server.to_owned(), tool, reason }
    }
}

#[cfg(test)]
mod tests;
