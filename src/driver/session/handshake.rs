//! From a wire to an agreed protocol: finds out the era, then lets rmcp take over.

use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ProtocolVersion, ServerCapabilities, ServerPeerInfo};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, RunningService, serve_client_with_lifecycle, serve_directly,
};
use serde::Deserialize;
use tokio::time::Instant;

use super::exchange::{Bystanders, Link, Patience};
use super::peer::{Adapter, Handler};
use super::text::Request;
use super::{CallError, Era};
use crate::config::settings::ProtocolChoice;
use crate::core::cause::{Cause, CauseKind};
use crate::driver::wire::RequestFailure;
use crate::jsonrpc::Reply;

/// How long a server of unknown era may think about `server/discover` before it counts as a legacy one.
const PROBE_WAIT: Duration = Duration::from_secs(2);

/// What a handshake agreed on.
pub struct Agreement {
    /// The server's era.
    pub era: Era,
    /// rmcp at work.
    pub service: RunningService<RoleClient, Handler>,
}

/// Why a handshake failed.
pub struct Failure {
    /// Why.
    pub cause: Cause,
    /// Whether the server may have stumbled over `server/discover`, which a legacy server does not know.
    pub after_probe: bool,
}

/// Shakes hands, at the latest by `deadline`.
pub async fn shake(
    link: &Arc<Link>,
    protocol: ProtocolChoice,
    remembered: Option<Era>,
    deadline: Instant,
) -> Result<Agreement, Failure> {
    let mut handshake = Handshake { link, deadline, probed: false };
    let first = match protocol {
        ProtocolChoice::Auto => remembered,
        ProtocolChoice::Legacy => Some(Era::Legacy),
        ProtocolChoice::Modern => Some(Era::Modern),
    };
    let agreed = match (protocol, first) {
        (ProtocolChoice::Legacy, _) => handshake.initialize().await,
        (ProtocolChoice::Modern, _) => handshake.discover(handshake.time_left()).await,
        (ProtocolChoice::Auto, Some(Era::Legacy)) => handshake.initialize_or_discover().await,
        (ProtocolChoice::Auto, known) => {
            // A server that spoke modern gets more time, but not all of it: it may have been replaced by a mute one.
            let wait = if known.is_some() { PROBE_WAIT.max(handshake.time_left() / 2) } else { PROBE_WAIT };
            match handshake.discover(wait).await {
                Err(Refusal::Otherwise(_)) => handshake.initialize_or_discover().await,
                settled => settled,
            }
        }
    };
    agreed.map_err(|refusal| Failure {
        cause: match refusal {
            Refusal::Otherwise(cause) | Refusal::Final(cause) => cause,
        },
        after_probe: handshake.probed,
    })
}

struct Handshake<'a> {
    link: &'a Arc<Link>,
    deadline: Instant,
    probed: bool,
}

/// Why one way of shaking hands failed.
enum Refusal {
    /// The server may be of the other era.
    Otherwise(Cause),
    /// The other way can't do better.
    Final(Cause),
}

impl Handshake<'_> {
    fn time_left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    async fn initialize_or_discover(&mut self) -> Result<Agreement, Refusal> {
        match self.initialize().await {
            Err(Refusal::Otherwise(reason)) => match self.discover(self.time_left()).await {
                Err(Refusal::Otherwise(_)) => Err(Refusal::Otherwise(reason)),
                settled => settled,
            },
            settled => settled,
        }
    }

    /// The handshake of revisions up to 2025-11-25.
    async fn initialize(&self) -> Result<Agreement, Refusal> {
        let handler = Handler::new(Arc::clone(&self.link.news));
        let adapter = Adapter::greeting(Arc::clone(self.link));
        let serving = serve_client_with_lifecycle(handler, adapter, ClientLifecycleMode::Initialize);
        match tokio::time::timeout_at(self.deadline, serving).await {
            Ok(Ok(service)) => Ok(Agreement { era: Era::Legacy, service }),
            Ok(Err(error)) => Err(self.explain(&error)),
            Err(_) => Err(Refusal::Final(Cause::new(CauseKind::StartTimeout, "initialize was not answered in time"))),
        }
    }

    /// rmcp's errors are told in our words where we know better.
    fn explain(&self, error: &ClientInitializeError) -> Refusal {
        if let Some(cause) = self.link.router.cause_of_end() {
            return Refusal::Final(cause);
        }
        match self.link.router.protocol_failure() {
            Some(RequestFailure::NotExecuted(cause)) => return Refusal::Final(cause),
            Some(RequestFailure::Failed(cause)) => return Refusal::of(cause),
            None => {}
        }
        match error {
            ClientInitializeError::JsonRpcError(error) => {
                Refusal::otherwise(format!("initialize was refused: {} ({})", error.message, error.code.0))
            }
            ClientInitializeError::ExpectedInitResult(_) => Refusal::Final(Cause::new(
                CauseKind::HandshakeFailed,
                "the answer to initialize lacks what an InitializeResult must have",
            )),
            other => Refusal::Final(Cause::new(CauseKind::HandshakeFailed, format!("initialize failed: {other}"))),
        }
    }

    /// The only question that revision 2026-07-28 begins with.
    async fn discover(&mut self, wait: Duration) -> Result<Agreement, Refusal> {
        self.probed = true;
        let wait = wait.min(self.time_left());
        let result = match probe(self.link, wait).await {
            Ok(Reply::Result(result)) => result,
            Ok(Reply::Error(error)) => {
                return Err(Refusal::otherwise(format!("server/discover was refused: {error}")));
            }
            Err(CallError::Timeout(_)) if self.time_left().is_zero() => {
                let cause = Cause::new(CauseKind::StartTimeout, "server/discover was not answered in time");
                return Err(Refusal::Final(cause));
            }
            Err(CallError::Timeout(_) | CallError::Cancelled) => {
                return Err(Refusal::otherwise(format!("server/discover was not answered within {wait:?}")));
            }
            Err(CallError::Failed(cause)) => return Err(Refusal::of(cause)),
            Err(CallError::OutcomeUnknown(cause) | CallError::NotExecuted(cause)) => return Err(Refusal::Final(cause)),
        };
        let peer = read_discovery(result.get())
            .ok_or_else(|| Refusal::otherwise("server/discover offers no revision that we know".to_owned()))?;
        self.link.outlet.agreed(peer.protocol_version.as_str());
        let adapter = Adapter::greeted(Arc::clone(self.link));
        let service = serve_directly(Handler::new(Arc::clone(&self.link.news)), adapter, Some(peer));
        Ok(Agreement { era: Era::Modern, service })
    }
}

impl Refusal {
    fn otherwise(reason: String) -> Self {
        Self::Otherwise(Cause::new(CauseKind::HandshakeFailed, reason))
    }

    /// Of a request that failed by itself: some failures have nothing to do with the era.
    fn of(cause: Cause) -> Self {
        if cause.kind == CauseKind::AuthRequired { Self::Final(cause) } else { Self::Otherwise(cause) }
    }
}

/// Asks `server/discover`, the modern sign of life.
pub async fn probe(link: &Arc<Link>, wait: Duration) -> Result<Reply, CallError> {
    let request = Request::probe("server/discover");
    link.exchange(Era::Modern, request, Patience::fixed(wait), Bystanders::default()).await
}

/// What rmcp needs of the answer; `None` if the server does not speak our modern revision. Lenient: what we do not use
/// may be missing.
fn read_discovery(result: &str) -> Option<ServerPeerInfo> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Discovery {
        supported_versions: Vec<String>,
        #[serde(default)]
        capabilities: serde_json::Value,
    }
    let Discovery { supported_versions, capabilities } = serde_json::from_str(result).ok()?;
    let modern = ProtocolVersion::V_2026_07_28;
    if !supported_versions.iter().any(|version| version == modern.as_str()) {
        return None;
    }
    let offers_tools = capabilities.get("tools").is_some_and(serde_json::Value::is_object);
    let mut known: ServerCapabilities = serde_json::from_value(capabilities).unwrap_or_default();
    if offers_tools && known.tools.is_none() {
        known.tools = Some(Default::default());
    }
    Some(ServerPeerInfo::new(modern, known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_discovery_counts_if_it_names_our_revision() {
        let offer =
            r#"{"supportedVersions":["2099-01-01","2026-07-28"],"capabilities":{"tools":{"listChanged":true}}}"#;
        let tools = read_discovery(offer).unwrap().capabilities.tools.unwrap();
        assert_eq!(tools.list_changed, Some(true));
        for other in ["{}", "null", r#"{"supportedVersions":["2025-11-25"]}"#, r#"{"supportedVersions":"2026-07-28"}"#]
        {
            assert!(read_discovery(other).is_none(), "{other}");
        }
    }

    #[test]
    fn odd_capabilities_hide_no_tools() {
        let offer = r#"{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":"yes"}}}"#;
        assert!(read_discovery(offer).unwrap().capabilities.tools.is_some());
    }
}
