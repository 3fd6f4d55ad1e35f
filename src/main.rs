//! Arguments → what was asked for → exit code.

use std::process::ExitCode;

use mcp_sidecar::cli::{Cli, Command, ConfigCommand};
use mcp_sidecar::{app, config, demo, driver, exit};

fn main() -> ExitCode {
    let command = match Cli::command_from(std::env::args_os()) {
        Ok(command) => command,
        Err(code) => return ExitCode::from(code),
    };
    ExitCode::from(match command {
        Command::Run(args) => app::process::main(&args),
        Command::Demo(args) => block_on(demo::run(args.once)),
        Command::Config(ConfigCommand::Check(args)) => config::run_check(&args),
        Command::Config(ConfigCommand::Show(args)) => config::run_show(&args),
        Command::Guardian(inner) => {
            driver::child::guardian_main(inner.args.iter().map(|arg| arg.to_string_lossy().into_owned()))
        }
        Command::DemoServer(inner) => block_on(demo::server::run(&inner.args)),
    })
}

/// Runs a command that needs no more than one thread.
fn block_on(command: impl Future<Output = u8>) -> u8 {
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(command),
        Err(error) => {
            eprintln!("mcp-sidecar: no runtime: {error}");
            exit::INTERNAL
        }
    }
}
