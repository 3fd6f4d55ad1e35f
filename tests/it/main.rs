//! Behaviour of the whole program, one module per behaviour.

#![expect(clippy::expect_used, reason = "the tests' helpers fail their test by panicking, like the tests themselves")]

mod admin;
mod calls;
mod child_close;
mod child_inheritance;
mod child_stderr;
mod child_survivors;
mod config;
mod contract;
mod demo;
mod dependencies;
mod exhaustion;
mod families;
mod gateway;
mod hostile;
mod layering; // which room may know what
mod readme;
mod recovery;
mod session_http;
mod session_http_loss;
mod session_http_stream;
mod session_script;
mod session_sse;
mod session_stdio;
mod supervision; // the state machine: its table and its rules
mod support;
mod telemetry_contract;
