//! mcp-sidecar keeps an agent's MCP servers usable for weeks.
//!
//! ```text
//! config ──► app ──► driver ──Event──► core ──Action──► driver ──► child · rmcp · socket
//!                                       └────Fact────► telemetry ──► logs · Prometheus
//!                     gateway ◄── catalogue (atomic snapshot) ◄── driver
//! ```
//!
//! Data flows one way. `core` decides and knows neither clock nor socket; `driver` carries out and decides nothing;
//! `telemetry` is the only door through which a fact becomes a log line or a metric. ARCHITECTURE.md has the rooms.

pub mod admin;
pub mod app;
pub mod catalogue;
pub mod cli;
pub mod config;
pub mod core;
pub mod demo;
pub mod driver;
pub mod exit;
pub mod gateway;
pub mod heartbeat;
pub mod jsonrpc;
pub mod linger;
pub mod listener;
pub mod shutdown;
pub mod state_dir;
pub mod telemetry;
