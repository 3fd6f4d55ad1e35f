//! The MCP server of the demo: a real stdio server in a process of its own, made of the same binary.

use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, JsonObject, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::json;
use tokio::sync::Notify;

/// What makes the server exit by itself soon after each handshake.
pub const CRASH: &str = "--crash";

/// Exit code of a server that was told to crash.
const CRASHED: u8 = 3;

/// Exit code of a server that could not serve.
const FAILED: u8 = 70;

/// Long enough for the first catalogue to get through, far below any stability window.
const LIFE_AFTER_HANDSHAKE: Duration = Duration::from_millis(50);

/// Serves MCP on stdin and stdout until stdin closes; with [`CRASH`] among `args` exits soon after the first
/// `tools/list`. Returns the process's exit code.
pub async fn run(args: &[OsString]) -> u8 {
    let crash = args.iter().any(|arg| arg == CRASH);
    let server = DemoServer::default();
    let listed = Arc::clone(&server.listed);
    let Ok(running) = server.serve(rmcp::transport::stdio_pipes()).await else { return FAILED };
    let crash = async {
        if !crash {
            return std::future::pending().await;
        }
        listed.notified().await;
        tokio::time::sleep(LIFE_AFTER_HANDSHAKE).await;
    };
    tokio::select! {
        () = crash => CRASHED,
        ended = running.waiting() => if ended.is_ok() { 0 } else { FAILED },
    }
}

#[derive(Default)]
struct DemoServer {
    calls: AtomicU64,
    listed: Arc<Notify>,
}

impl ServerHandler for DemoServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("mcp-sidecar-demo", env!("CARGO_PKG_VERSION")))
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.listed.notify_one();
        Ok(ListToolsResult::with_all_items(vec![
            tool(
                "whoami",
                "Says which process answers, and how many calls it has answered.",
                json!({"type": "object"}),
            ),
            tool(
                "echo",
                "Says the same.",
                json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}),
            ),
        ]))
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let number = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        let text = match call.name.as_ref() {
            "whoami" => format!("process {}, call {number} of its life", std::process::id()),
            "echo" => echoed(&call)?,
            other => return Err(ErrorData::invalid_params(format!("no tool {other}"), None)),
        };
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

fn echoed(call: &CallToolRequestParams) -> Result<String, ErrorData> {
    let text = call.arguments.as_ref().and_then(|arguments| arguments.get("text")?.as_str());
    text.map(str::to_owned).ok_or_else(|| ErrorData::invalid_params("text is missing", None))
}

fn tool(name: &'static str, description: &'static str, schema: serde_json::Value) -> Tool {
    let schema: JsonObject = serde_json::from_value(schema).unwrap_or_default();
    Tool::new(name, description, schema).with_annotations(ToolAnnotations::new().read_only(true))
}
