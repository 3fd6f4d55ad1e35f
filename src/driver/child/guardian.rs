//! The guardian: a process of the same binary that outlives us for as long as it takes to end what we leave behind.
//!
//! It holds one end of a pipe to us. Whatever ends us, SIGKILL included, closes the other one; then it ends every process
//! that carries our mark. It has a session of its own, ignores signals, and needs neither runtime nor configuration.

use std::io::Read;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::kin;
use super::mark::{Mark, Marking};
use super::procfs::Stat;

/// The hidden subcommand under which `main` calls [`guardian_main`].
pub const SUBCOMMAND: &str = "__guardian";
/// What we say before we leave with nothing left behind.
pub const GOODBYE: u8 = b'.';

/// How long it tries.
const BOUND: Duration = Duration::from_secs(2);
/// Between two rounds.
const PACE: Duration = Duration::from_millis(20);

/// Runs the guardian; `arguments` is what follows the subcommand. Returns the exit code: 0, or 2 for arguments or a
/// stdin that are not ours.
pub fn guardian_main(arguments: impl IntoIterator<Item = String>) -> u8 {
    let mark = arguments.into_iter().next().and_then(|text| text.parse::<Mark>().ok());
    let Some(mark) = mark else { return 2 };
    let mut word = [0];
    loop {
        match std::io::stdin().read(&mut word) {
            Ok(0) => break,
            Ok(_) if word == [GOODBYE] => return 0,
            Ok(_) => return 2,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return 2,
        }
    }
    end_everything(&mark);
    0
}

/// Kills until two looks in a row find nothing, or time is up.
fn end_everything(mark: &Mark) {
    let until = Instant::now() + BOUND;
    let mut quiet = 0;
    while quiet < 2 && Instant::now() < until {
        let all: Vec<Stat> = Stat::all().into_iter().filter(|stat| stat.start >= mark.start()).collect();
        let is_ours = |stat: &Stat| stat.alive && Marking::of(stat.pid).is_some_and(|marking| marking.mark == *mark);
        let family = kin::with_descendants(&all, is_ours);
        quiet = if family.is_empty() { quiet + 1 } else { 0 };
        kin::signal_all(&family, Signal::KILL);
        thread::sleep(PACE);
    }
}
