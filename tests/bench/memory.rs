//! Resident memory of the sidecar, its guardian included, its servers excluded.

use crate::http::{Connection, Era};
use crate::measure::Plan;
use crate::support::procfs;
use crate::support::sidecar::{Sidecar, fixture};

/// KiB.
pub struct Memory {
    /// One server, nobody connected.
    pub idle: u64,
    /// What the guardian has of it.
    pub guardian: u64,
    /// The most it ever had while 64 callers called.
    pub under_load: u64,
    /// Ten servers, nobody connected.
    pub ten_servers: u64,
}

pub async fn measure(plan: &Plan) -> Memory {
    let sidecar = with_servers(1).await;
    let idle = resident(&sidecar);
    let guardian = idle - procfs::resident_kib(sidecar.pid()).map_or(0, |own| own.min(idle));
    let callers = (0..64).map(|caller| {
        let (url, calls) = (sidecar.url(), plan.concurrent / 64);
        tokio::spawn(async move {
            let mut connection = Connection::open(&url, Era::Legacy).await;
            for call in 0..calls {
                let id = (caller * calls + call) as u64;
                assert!(connection.echo("s0__echo", id, &format!("{id:0>100}")).await, "call {id} is lost");
            }
        })
    });
    for caller in callers.collect::<Vec<_>>() {
        caller.await.expect("a caller finishes");
    }
    let under_load = sum_over(&sidecar, procfs::peak_kib);
    drop(sidecar);
    let ten_servers = resident(&with_servers(10).await);
    Memory { idle, guardian, under_load, ten_servers }
}

async fn with_servers(count: usize) -> Sidecar {
    let fixture = fixture();
    let config: String = (0..count).map(|server| format!("[servers.s{server}]\ncommand = {fixture:?}\n")).collect();
    let sidecar = Sidecar::with(config).start().await;
    for server in 0..count {
        sidecar.wait_for_state(&format!("s{server}"), "established").await;
    }
    sidecar
}

fn resident(sidecar: &Sidecar) -> u64 {
    sum_over(sidecar, procfs::resident_kib)
}

/// The sum over the sidecar and its guardian, which is the same program.
fn sum_over(sidecar: &Sidecar, kib: fn(i32) -> Option<u64>) -> u64 {
    let program = |pid: i32| std::fs::read_link(format!("/proc/{pid}/exe")).ok();
    let own = program(sidecar.pid());
    let family = procfs::descendants(sidecar.pid()).into_iter().map(|process| process.pid);
    let same = family.filter(|pid| program(*pid) == own);
    [sidecar.pid()].into_iter().chain(same).filter_map(kib).sum()
}
