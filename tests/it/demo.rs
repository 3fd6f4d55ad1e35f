//! `mcp-sidecar demo`, as a person runs it.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::support::procfs;

/// The demo takes about ten seconds.
const PATIENCE: Duration = Duration::from_secs(90);

#[test]
fn the_demo_shows_a_recovery_and_a_spent_budget_and_leaves_nothing_behind() {
    let (code, shown) = demo(&["--once"], None);
    assert_eq!(code, Some(0), "{shown}");
    for promised in [
        "/mcp",
        "kill -9",
        "tools/list during the outage: the same, byte for byte",
        "held",
        "recovered by attempt 1: generation 2",
        "attempt 4 of 4",
        "exit code 1",
        "stopped with exit code 0",
    ] {
        assert!(shown.contains(promised), "not shown: {promised}\n{shown}");
    }
    assert_nothing_left(&shown);
}

#[test]
fn without_once_the_demo_serves_until_it_is_interrupted() {
    let (code, shown) = demo(&[], Some("keeps serving"));
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("stopped with exit code 0"), "{shown}");
    assert_nothing_left(&shown);
}

/// Runs the demo, interrupts it once it has shown this; returns its exit code and all it has shown.
fn demo(arguments: &[&str], mut interrupt_after: Option<&str>) -> (Option<i32>, String) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let output = directory.path().join("output");
    let file = std::fs::File::create(&output).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-sidecar"));
    command.arg("demo").args(arguments).stdin(Stdio::null());
    command.stdout(file.try_clone().expect("a second handle")).stderr(file);
    let mut child = command.spawn().expect("the demo starts");
    let pid = i32::try_from(child.id()).expect("a pid");
    let shown = || std::fs::read_to_string(&output).expect("the output is readable");
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().expect("the demo can be waited for") {
            return (status.code(), shown());
        }
        if interrupt_after.take_if(|words| shown().contains(*words)).is_some() {
            procfs::signal(pid, Signal::INT);
        }
        if Instant::now() > until {
            let _ = child.kill();
            panic!("still running after {PATIENCE:?}\n{}", shown());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Every process that the demo named is gone.
fn assert_nothing_left(shown: &str) {
    let named = shown.split("process ").skip(1).filter_map(|rest| {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<i32>().ok()
    });
    let named: Vec<i32> = named.collect();
    assert!(named.len() >= 4, "two sidecars and two generations: {named:?}\n{shown}");
    let alive: Vec<&i32> = named.iter().filter(|pid| procfs::is_alive(**pid)).collect();
    assert!(alive.is_empty(), "still alive: {alive:?}\n{shown}");
}
