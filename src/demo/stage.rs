//! Where the demo plays: a clock for the audience, an ear for Ctrl-C, and patience with an end.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGINT, SIGTERM};

/// How often something is looked at.
const PACE: Duration = Duration::from_millis(10);

/// Why the demo ends before its end.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// SIGINT or SIGTERM.
    #[error("interrupted")]
    Interrupted,
    /// What was shown is not what happened.
    #[error("{0}")]
    Unexpected(String),
}

impl Trouble {
    /// What was expected did not happen; `what` tells what did.
    pub fn unexpected(what: impl Into<String>) -> Self {
        Self::Unexpected(what.into())
    }
}

/// The audience's side of the demo.
#[derive(Debug)]
pub struct Stage {
    began: Instant,
    interrupted: Arc<AtomicBool>,
}

impl Stage {
    /// A stage whose clock starts now. SIGINT and SIGTERM interrupt from now on.
    ///
    /// # Errors
    /// When the signals can't be listened for.
    pub fn open() -> Result<Self, Trouble> {
        let interrupted = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&interrupted))
                .map_err(|error| Trouble::unexpected(format!("signals: {error}")))?;
        }
        Ok(Self { began: Instant::now(), interrupted })
    }

    /// A heading.
    pub fn chapter(&self, title: &str) {
        print(&format!("\n{title}\n"));
    }

    /// Something that happened now.
    pub fn tell(&self, what: &str) {
        print(&format!("{:7.2} s  {what}\n", self.began.elapsed().as_secs_f64()));
    }

    /// Something that belongs to what was told before.
    pub fn add(&self, what: &str) {
        print(&format!("           {what}\n"));
    }

    /// As [`insist`], but gives up when interrupted.
    ///
    /// # Errors
    /// Those of [`insist`], and [`Trouble::Interrupted`].
    pub async fn wait_for<T>(
        &self,
        what: &str,
        patience: Duration,
        mut look: impl AsyncFnMut() -> Result<Option<T>, Trouble>,
    ) -> Result<T, Trouble> {
        insist(what, patience, async || {
            if self.interrupted.load(Ordering::Relaxed) { Err(Trouble::Interrupted) } else { look().await }
        })
        .await
    }
}

/// Returns what `look` finds as soon as it finds something.
///
/// # Errors
/// What `look` fails with; [`Trouble::Unexpected`] with `what` after `patience`.
pub async fn insist<T>(
    what: &str,
    patience: Duration,
    mut look: impl AsyncFnMut() -> Result<Option<T>, Trouble>,
) -> Result<T, Trouble> {
    // `None`: for ever.
    let until = Instant::now().checked_add(patience);
    loop {
        if let Some(found) = look().await? {
            return Ok(found);
        }
        if until.is_some_and(|until| Instant::now() >= until) {
            return Err(Trouble::unexpected(format!("waited {patience:?} in vain: {what}")));
        }
        tokio::time::sleep(PACE).await;
    }
}

fn print(text: &str) {
    // Who pipes the demo into `head` has seen enough.
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}
