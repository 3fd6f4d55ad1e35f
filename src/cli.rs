//! The command line: what a person may type. Values are judged later, by `config::resolve`, so that a bad `--listen` is
//! reported like a bad `listen` in a file; only the grammar is judged here.

mod set;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

pub use set::Assignment;

use crate::exit;

const EXAMPLES: &str = "\
Examples:
  mcp-sidecar --config sidecar.toml
  mcp-sidecar --mcp-json ~/.cursor/mcp.json --listen unix:/run/user/1000/mcp.sock
  mcp-sidecar config check --config sidecar.toml
  mcp-sidecar demo

Every option can also stand in a file or in the environment (MCP_SIDECAR_LISTEN, MCP_SIDECAR_RECONNECT__MAX_ATTEMPTS, …); \
the command line beats the environment, the environment beats files, a later file beats an earlier one.

Exit codes of run: 0 stopped, 1 a reconnection budget is exhausted, 2 usage, 69 cannot do its job at start, \
70 internal error or incomplete stop, 78 configuration invalid.";

/// Keeps an agent's MCP servers usable for weeks: supervises them and serves their tools at one stable endpoint.
#[derive(Debug, Parser)]
#[command(name = "mcp-sidecar", version, about, after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    config: ConfigArgs,
}

impl Cli {
    /// Parses `args` (the program's name first).
    ///
    /// # Errors
    /// The exit code that the process should end with, after the message (help, version or what is wrong) was printed:
    /// 0 for `--help` and `--version`, 2 for a usage error.
    pub fn command_from(args: impl IntoIterator<Item = OsString>) -> Result<Command, u8> {
        match Self::try_parse_from(args) {
            Ok(cli) => Ok(cli.into_command()),
            Err(error) => {
                let code = if error.use_stderr() { exit::USAGE } else { exit::CLEAN };
                // A closed stdout or stderr leaves nobody to tell.
                let _ = error.print();
                Err(code)
            }
        }
    }

    /// What is to be done; `run` where no subcommand was named.
    #[must_use]
    pub fn into_command(self) -> Command {
        self.command.unwrap_or(Command::Run(self.config))
    }
}

/// What is to be done.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Supervise the configured servers and serve their tools (what happens without a subcommand).
    #[command(after_help = EXAMPLES)]
    Run(ConfigArgs),
    /// Show an outage, a recovery and a spent budget, with nothing but this binary.
    Demo(DemoArgs),
    /// Look at the configuration without starting anything.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Ends marked processes after the sidecar died.
    #[command(name = "__guardian", hide = true)]
    Guardian(InnerArgs),
    /// The MCP server that the demo supervises.
    #[command(name = "__demo-server", hide = true)]
    DemoServer(InnerArgs),
}

/// `mcp-sidecar config …`.
#[derive(Clone, Debug, Subcommand)]
pub enum ConfigCommand {
    /// Judge the configuration: exit code 0, or 78 after all errors were printed.
    Check(ConfigArgs),
    /// Print the effective configuration as TOML, secrets redacted.
    Show(ShowArgs),
}

/// `mcp-sidecar config show`.
#[derive(Args, Clone, Debug)]
pub struct ShowArgs {
    /// Say behind each value which layer it came from.
    #[arg(long)]
    pub sources: bool,
    /// Where the configuration comes from.
    #[command(flatten)]
    pub config: ConfigArgs,
}

/// `mcp-sidecar demo`.
#[derive(Args, Clone, Copy, Debug)]
pub struct DemoArgs {
    /// End with exit code 0 after the show instead of going on serving.
    #[arg(long)]
    pub once: bool,
}

/// Arguments of a hidden command that the program gives itself.
#[derive(Args, Clone, Debug)]
pub struct InnerArgs {
    /// Passed on as they are.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub args: Vec<OsString>,
}

/// Where the configuration comes from, and the options that are common enough for a flag of their own. `None` and empty
/// mean "not given": a flag that was not typed never overrides the environment or a file.
#[derive(Args, Clone, Debug, Default)]
pub struct ConfigArgs {
    /// Configuration file (.toml, .yaml, .yml or .json); may be repeated, a later one wins [env: MCP_SIDECAR_CONFIG].
    #[arg(long, value_name = "FILE")]
    pub config: Vec<PathBuf>,
    /// Servers from an agent's own mcpServers/servers JSON; may be repeated [env: MCP_SIDECAR_MCP_JSON].
    #[arg(long, value_name = "FILE")]
    pub mcp_json: Vec<PathBuf>,
    /// Where MCP is served: 127.0.0.1:9900, [::1]:9900 or unix:/run/…/mcp.sock.
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<String>,
    /// Where health, metrics and status are served, or "off".
    #[arg(long, value_name = "ADDR|off")]
    pub admin: Option<String>,
    /// Directory for what is remembered over a restart.
    #[arg(long, value_name = "DIR")]
    pub state_dir: Option<PathBuf>,
    /// Any option by its path, e.g. --set reconnect.max_attempts=20; may be repeated.
    #[arg(long, value_name = "KEY.PATH=VALUE")]
    pub set: Vec<Assignment>,
    /// How log lines look: text or json.
    #[arg(long, value_name = "FORMAT")]
    pub log_format: Option<String>,
    /// Which log lines are written, e.g. info, debug, warn,mcp_sidecar=trace.
    #[arg(long, value_name = "FILTER")]
    pub log_level: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(args: &[&str]) -> Command {
        Cli::try_parse_from([&["mcp-sidecar"], args].concat()).unwrap().into_command()
    }

    fn exit_code(args: &[&str]) -> u8 {
        let args = [&["mcp-sidecar"], args].concat();
        Cli::command_from(args.into_iter().map(OsString::from)).unwrap_err()
    }

    #[test]
    fn run_is_what_happens_without_a_subcommand() {
        for args in [&["--config", "x.toml"][..], &["run", "--config", "x.toml"]] {
            let Command::Run(config) = command(args) else { panic!("{args:?}") };
            assert_eq!(config.config, [PathBuf::from("x.toml")]);
        }
        assert!(matches!(command(&[]), Command::Run(_)));
    }

    #[test]
    fn help_and_version_exit_0_and_usage_errors_exit_2() {
        assert_eq!(exit_code(&["--help"]), 0);
        assert_eq!(exit_code(&["config", "show", "--help"]), 0);
        assert_eq!(exit_code(&["--version"]), 0);
        assert_eq!(exit_code(&["--no-such-flag"]), 2);
        assert_eq!(exit_code(&["no-such-command"]), 2);
        assert_eq!(exit_code(&["config"]), 2);
        assert_eq!(exit_code(&["--set", "no-equals-sign"]), 2);
        assert_eq!(exit_code(&["--config", "x.toml", "demo"]), 2);
    }

    #[test]
    fn hidden_commands_take_any_arguments() {
        let Command::Guardian(inner) = command(&["__guardian", "--fd", "3", "-x", "--help"]) else { panic!() };
        assert_eq!(inner.args, ["--fd", "3", "-x", "--help"]);
        assert!(!<Cli as clap::CommandFactory>::command().render_long_help().to_string().contains("__guardian"));
    }

    #[test]
    fn flags_may_repeat_and_keep_their_order() {
        let Command::Run(config) = command(&["--config", "a", "--set", "hold=1s", "--config", "b", "--set", "hold=2s"])
        else {
            panic!()
        };
        assert_eq!(config.config, [PathBuf::from("a"), PathBuf::from("b")]);
        assert_eq!(config.set.len(), 2);
    }
}
