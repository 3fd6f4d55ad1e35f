//! Configurations that many tests share.

use super::sidecar::fixture;

/// One stdio server that runs the fixture with these flags; `extra` lines go into its table.
pub fn stdio(name: &str, flags: &[&str], extra: &str) -> String {
    let arguments: Vec<String> = flags.iter().map(|flag| format!("{flag:?}")).collect();
    format!("[servers.{name}]\ncommand = {:?}\nargs = [{}]\n{extra}\n", fixture(), arguments.join(", "))
}

/// A budget that is spent within a second or so: delays 20, 40, 80, 100, 100 … ms without jitter.
pub fn quick(max_attempts: u32) -> String {
    format!(
        "[reconnect]\ninitial_delay = \"20ms\"\nmax_delay = \"100ms\"\nmax_attempts = {max_attempts}\njitter = false\n"
    )
}
