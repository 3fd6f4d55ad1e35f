//! What a session tells its driver: bounded, coalesced, never lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::Signal;

/// Signs of life closer together than this are one.
const LIFE_RESOLUTION: Duration = Duration::from_millis(10);

/// The way to the driver.
#[derive(Debug)]
pub struct News {
    signals: mpsc::Sender<Signal>,
    /// A `ToolsChanged` waits for room in the channel: more of them would say the same.
    change_waits: AtomicBool,
    /// Whether the server announces changes of its tools at all.
    announces: AtomicBool,
    /// Whether the tools were asked for: what changed since then and was announced to nobody is missed.
    listed: AtomicBool,
    epoch: Instant,
    /// Milliseconds since `epoch` of the last sign of life that was told, plus one; 0 = none.
    last_life: AtomicU64,
}

impl News {
    /// To this channel.
    pub fn new(signals: mpsc::Sender<Signal>) -> Arc<Self> {
        Arc::new(Self {
            signals,
            change_waits: AtomicBool::new(false),
            announces: AtomicBool::new(false),
            listed: AtomicBool::new(false),
            epoch: Instant::now(),
            last_life: AtomicU64::new(0),
        })
    }

    /// The server said that it announces changes.
    pub fn expect_changes(&self) {
        self.announces.store(true, Ordering::Relaxed);
    }

    /// The tools may have changed.
    pub async fn tools_changed(&self) {
        if self.change_waits.swap(true, Ordering::AcqRel) {
            return;
        }
        if let Ok(permit) = self.signals.reserve().await {
            // Before it is sent: a change after this moment is told by a signal of its own.
            self.change_waits.store(false, Ordering::Release);
            permit.send(Signal::ToolsChanged);
        }
    }

    /// The tools are being asked for.
    pub fn listing(&self) {
        self.listed.store(true, Ordering::Relaxed);
    }

    /// From now on announcements are heard, which until now went unheard.
    pub fn listening(self: &Arc<Self>) {
        if self.listed.load(Ordering::Relaxed) {
            self.missed_some();
        }
    }

    /// An announcement may be lost, if the server makes any.
    pub fn missed_some(self: &Arc<Self>) {
        if self.announces.load(Ordering::Relaxed) {
            let news = Arc::clone(self);
            tokio::spawn(async move { news.tools_changed().await });
        }
    }

    /// The server answered a call or reported progress.
    pub fn alive(&self) {
        let now = u64::try_from(self.epoch.elapsed().as_millis()).unwrap_or(u64::MAX).saturating_add(1);
        let last = self.last_life.load(Ordering::Relaxed);
        if last == 0 || now - last >= LIFE_RESOLUTION.as_millis() as u64 {
            self.last_life.store(now, Ordering::Relaxed);
            // A full channel is full of news that are as fresh.
            let _ = self.signals.try_send(Signal::ProofOfLife);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn changes_are_coalesced_while_the_driver_is_busy_and_none_is_lost() {
        let (sender, mut signals) = mpsc::channel(1);
        let news = News::new(sender);
        news.alive();
        let waiting = tokio::spawn({
            let news = news.clone();
            async move { news.tools_changed().await }
        });
        tokio::task::yield_now().await;
        for _ in 0..1000 {
            news.tools_changed().await;
        }
        assert_eq!(signals.recv().await, Some(Signal::ProofOfLife));
        waiting.await.unwrap();
        assert_eq!(signals.recv().await, Some(Signal::ToolsChanged));
        news.tools_changed().await;
        assert_eq!(signals.recv().await, Some(Signal::ToolsChanged));
        assert!(signals.try_recv().is_err());
    }

    #[tokio::test]
    async fn a_late_ear_matters_only_if_changes_are_announced_and_the_list_is_older() {
        let (sender, mut signals) = mpsc::channel(4);
        let news = News::new(sender);
        news.listening();
        news.listing();
        news.listening();
        news.expect_changes();
        news.listening();
        assert_eq!(signals.recv().await, Some(Signal::ToolsChanged));
        assert!(signals.try_recv().is_err());
    }
}
