//! The one stable MCP endpoint that clients talk to.

pub mod upstream;
