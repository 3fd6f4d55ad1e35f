//! rmcp's end of the wire: it owns the life cycle and answers what servers ask of clients.

#![expect(deprecated, reason = "what rmcp deprecates a server may ask for nevertheless")]

use std::sync::Arc;

use rmcp::model::{
    ClientConfig, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams, ElicitResult, ErrorCode,
    ErrorData, ListRootsResult, ProtocolVersion,
};
use rmcp::service::{NotificationContext, RequestContext, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::{ClientHandler, RoleClient};
use tokio::sync::mpsc;

use super::exchange::Link;
use super::news::News;
use super::text;
use crate::driver::wire::{Mirrored, Outgoing};
use crate::jsonrpc::{Frame, Id, code};

/// Takes what a server tells its client. We advertise no capability, so whatever it asks is refused at once.
#[derive(Debug)]
pub struct Handler {
    news: Arc<News>,
}

impl Handler {
    /// Tells `news`.
    pub fn new(news: Arc<News>) -> Self {
        Self { news }
    }
}

impl ClientHandler for Handler {
    async fn create_message(
        &self,
        _: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        Err(not_offered("sampling/createMessage"))
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Err(not_offered("roots/list"))
    }

    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Err(not_offered("elicitation/create"))
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.news.tools_changed().await;
    }

    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(Default::default(), text::identity())
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }
}

fn not_offered(method: &'static str) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None)
}

/// Connects rmcp to the wire.
#[derive(Debug)]
pub struct Adapter {
    link: Arc<Link>,
    frames: mpsc::Receiver<Frame>,
    /// Until `initialize` is answered and acknowledged, rmcp ignores all but that answer and pings.
    greeting: bool,
    modern: bool,
}

impl Adapter {
    /// For a handshake that rmcp makes.
    pub fn greeting(link: Arc<Link>) -> Self {
        let frames = link.router.attach_protocol();
        Self { link, frames, greeting: true, modern: false }
    }

    /// For the modern era, where no handshake is left to make.
    pub fn greeted(link: Arc<Link>) -> Self {
        Self { greeting: false, modern: true, ..Self::greeting(link) }
    }

    /// Whether rmcp is to see this frame. During the handshake it would leave a request unanswered.
    async fn is_welcome(&self, frame: &Frame) -> bool {
        match (&frame.method, &frame.id) {
            (Some(method), Some(id)) if self.greeting && method != "ping" => {
                let outgoing = response(text::refusal(id, code::METHOD_NOT_FOUND, method));
                // The end of the session is told elsewhere.
                let _ = self.link.outlet.send(outgoing).await;
                false
            }
            (Some(_), None) => !self.greeting,
            (Some(_), Some(_)) | (None, _) => true,
        }
    }

    /// The revision that the answer to `initialize` names has to stand in the headers of what follows it.
    fn note_agreement(&self, frame: &Frame) {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Agreement {
            protocol_version: String,
        }
        let result = frame.result.as_ref().filter(|_| self.greeting);
        if let Some(Ok(agreement)) = result.map(|json| serde_json::from_str::<Agreement>(json.get())) {
            self.link.outlet.agreed(&agreement.protocol_version);
        }
    }
}

/// A frame did not reach the server.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotSent(String);

impl Transport<RoleClient> for Adapter {
    type Error = NotSent;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), NotSent>> + Send + 'static {
        let written = serde_json::to_vec(&item);
        let link = Arc::clone(&self.link);
        let frame = written.as_ref().ok().and_then(|text| serde_json::from_slice::<Frame>(text).ok());
        let Frame { id, method, params, .. } = frame.unwrap_or_default();
        let modern = self.modern.then(Mirrored::default);
        self.greeting &= method.as_deref() != Some("notifications/initialized");
        async move {
            let text = written.map_err(|error| NotSent(error.to_string()))?;
            if method.as_deref() == Some("notifications/cancelled") && !forget(&link, params.as_deref()) {
                return Ok(());
            }
            let id = id.filter(|_| method.is_some());
            link.outlet.send(Outgoing { id, method, modern, text }).await.map_err(|cause| {
                let text = cause.to_string();
                link.router.end(cause);
                NotSent(text)
            })
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let frame = self.frames.recv().await?;
            self.link.router.protocol_took(&frame);
            if !self.is_welcome(&frame).await {
                continue;
            }
            self.note_agreement(&frame);
            match understand(&frame) {
                Some(message) => return Some(message),
                None => self.refuse(&frame).await,
            }
        }
    }

    async fn close(&mut self) -> Result<(), NotSent> {
        self.frames.close();
        Ok(())
    }
}

impl Adapter {
    /// A request that is none is answered, a notification that is none is nobody's loss.
    async fn refuse(&self, frame: &Frame) {
        if let (Some(_), Some(id)) = (&frame.method, &frame.id) {
            let outgoing = response(text::refusal(id, code::INVALID_REQUEST, "not a request of MCP"));
            let _ = self.link.outlet.send(outgoing).await;
        }
    }
}

/// The frame as rmcp reads it. A response that it can't read becomes an error, so that its waiter is not left waiting.
fn understand(frame: &Frame) -> Option<RxJsonRpcMessage<RoleClient>> {
    let text = serde_json::to_string(frame).ok()?;
    serde_json::from_str(&text).ok().or_else(|| {
        let id = frame.id.as_ref().filter(|_| frame.method.is_none())?;
        let error = text::refusal(id, code::INTERNAL_ERROR, "the server's answer is not JSON-RPC");
        serde_json::from_str(&error).ok()
    })
}

/// Stops waiting for the request that this `notifications/cancelled` names; whether it has to be sent.
fn forget(link: &Link, params: Option<&serde_json::value::RawValue>) -> bool {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Cancelled {
        request_id: Id,
    }
    let cancelled = params.and_then(|params| serde_json::from_str::<Cancelled>(params.get()).ok());
    cancelled.is_none_or(|cancelled| link.outlet.forget(&cancelled.request_id))
}

fn response(text: String) -> Outgoing {
    Outgoing { id: None, method: None, modern: None, text: text.into_bytes() }
}
