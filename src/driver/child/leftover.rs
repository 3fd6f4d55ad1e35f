//! Processes that an earlier supervisor left behind although everything else was meant to prevent it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::kin;
use super::mark::{Mark, Marking};
use super::procfs::Stat;

/// How often to look whether they are gone.
const PACE: Duration = Duration::from_millis(20);

/// A process of a supervisor that is provably dead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// The server it belonged to.
    pub server: String,
    /// Its process id.
    pub pid: u32,
    stat: Stat,
}

impl Leftover {
    /// Whether it still runs.
    #[must_use]
    pub fn still_runs(&self) -> bool {
        self.stat.still_runs()
    }
}

/// Ends them: SIGTERM, after half the bound SIGKILL. Returns all that were found, each with whether it is gone at the
/// end of the bound. Blocks.
pub fn end_all(us: &Mark, bound: Duration) -> Vec<(Leftover, bool)> {
    let begin = Instant::now();
    let mut found: BTreeMap<(u32, u64), (String, Stat)> = BTreeMap::new();
    let mut told = Signal::TERM;
    let mut newcomers = look(us, &mut found);
    signal(&newcomers, told);
    loop {
        let living: Vec<Stat> = found.values().map(|(_, stat)| *stat).filter(Stat::still_runs).collect();
        if living.is_empty() && newcomers.is_empty() {
            break;
        }
        if begin.elapsed() >= bound {
            break;
        }
        if begin.elapsed() >= bound / 2 && told == Signal::TERM {
            told = Signal::KILL;
            signal(&living, told);
        }
        thread::sleep(PACE);
        // What they started meanwhile.
        newcomers = look(us, &mut found);
        signal(&newcomers, told);
    }
    let judge = |(server, stat): (String, Stat)| (Leftover { server, pid: stat.pid, stat }, !stat.still_runs());
    found.into_values().map(judge).collect()
}

/// Adds those that were not known yet, and returns them.
fn look(us: &Mark, found: &mut BTreeMap<(u32, u64), (String, Stat)>) -> Vec<Stat> {
    let all = Stat::all();
    let mut servers: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for stat in all.iter().filter(|stat| stat.alive) {
        if let Some(marking) = Marking::of(stat.pid).filter(|marking| marking.mark.is_provably_dead(us)) {
            servers.entry(marking.server).or_default().push(stat.pid);
        }
    }
    let mut newcomers = Vec::new();
    for (server, pids) in servers {
        for member in kin::with_descendants(&all, |stat| pids.contains(&stat.pid)) {
            if let Entry::Vacant(place) = found.entry((member.pid, member.start)) {
                place.insert((server.clone(), member));
                newcomers.push(member);
            }
        }
    }
    newcomers
}

fn signal(processes: &[Stat], signal: Signal) {
    kin::signal_all(processes, signal);
    if signal == Signal::TERM {
        // A stopped process can't act on it.
        kin::signal_all(processes, Signal::CONT);
    }
}
