//! Free loopback ports for listeners that have to know their port beforehand.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU32, Ordering};

/// Below the kernel's ephemeral range, so that no outgoing connection of a parallel test takes one in the meantime, and
/// above the ports that the product uses by default.
const FIRST: u32 = 12_000;
const COUNT: u32 = 20_000;

/// A port on 127.0.0.1 that nobody listens on, and that no other test process is likely to be handed.
pub fn free_port() -> u16 {
    static HANDED_OUT: AtomicU32 = AtomicU32::new(0);
    let start = std::process::id().wrapping_mul(7919);
    for _ in 0..COUNT {
        let offset = start.wrapping_add(HANDED_OUT.fetch_add(1, Ordering::Relaxed)) % COUNT;
        let port = u16::try_from(FIRST + offset).expect("within the range of ports");
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return port;
        }
    }
    panic!("no free port among {COUNT}");
}
