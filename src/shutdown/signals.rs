//! Signals, on a thread of their own: a runtime that hangs doesn't make the process deaf.

use std::io;
use std::thread;
use std::time::Duration;

use signal_hook::consts::signal::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::Shutdown;
use crate::exit::ExitReason;

/// How long the program itself has to end after it is forced.
pub const FORCE_GRACE: Duration = Duration::from_millis(500);

/// Registers the signals and starts the thread that passes them on.
pub fn listen(shutdown: Shutdown, last_resort: impl FnOnce(ExitReason) + Send + 'static) -> io::Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP])?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for signal in signals.forever() {
            if signal == SIGHUP {
                shutdown.hup_signal();
            } else if shutdown.stop_signal() {
                thread::sleep(FORCE_GRACE);
                last_resort(shutdown.reason().unwrap_or(ExitReason::Signal));
                return;
            }
        }
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use signal_hook::low_level::raise;

    use super::*;

    /// One test for all signals: they are the process's, so two tests of one process would see each other's.
    #[tokio::test]
    async fn signals_of_the_process_reload_stop_and_force() {
        let (ended, end) = mpsc::channel();
        let shutdown = Shutdown::with_signals(move |reason| ended.send(reason).unwrap()).unwrap();
        let bound = Duration::from_secs(10);

        let mut hups = shutdown.hup();
        raise(SIGHUP).unwrap();
        tokio::time::timeout(bound, hups.wait_for(|hups| *hups == 1)).await.unwrap().unwrap();
        assert_eq!(shutdown.reason(), None, "SIGHUP stops nothing");

        raise(SIGTERM).unwrap();
        assert_eq!(tokio::time::timeout(bound, shutdown.requested()).await.unwrap(), ExitReason::Signal);

        raise(SIGINT).unwrap();
        tokio::time::timeout(bound, shutdown.forced()).await.unwrap();
        assert_eq!(end.recv_timeout(bound).unwrap(), ExitReason::Signal, "the last resort is used");
    }
}
