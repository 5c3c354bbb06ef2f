//! Requests waiting for a transaction.
//!
//! A waiting request has one entry here and is woken when its transaction changes, without polling.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use pyxis_core::id::TxnId;
use tokio::sync::Notify;

/// Waiting requests of this process.
#[derive(Default)]
pub(crate) struct Waiters {
    waiting: Mutex<HashMap<TxnId, Weak<Notify>>>,
    stopped: AtomicBool,
}

/// Registration for one transaction.
pub(crate) struct Waiter<'a> {
    txn: TxnId,
    notify: Arc<Notify>,
    waiters: &'a Waiters,
}

impl Waiters {
    /// Registers a waiter. Read the transaction *after* this, so that no change is missed.
    pub(crate) fn join(&self, txn: TxnId) -> Waiter<'_> {
        let mut waiting = self.lock();
        let notify = waiting.get(&txn).and_then(Weak::upgrade).unwrap_or_else(|| {
            let notify = Arc::new(Notify::new());
            waiting.insert(txn, Arc::downgrade(&notify));
            notify
        });
        Waiter { txn, notify, waiters: self }
    }

    /// Wakes all waiters for `txn`.
    pub(crate) fn wake(&self, txn: TxnId) {
        let waiting = self.lock().get(&txn).and_then(Weak::upgrade);
        if let Some(notify) = waiting {
            notify.notify_waiters();
        }
    }

    /// Wakes everyone, after an unknown change.
    pub(crate) fn wake_all(&self) {
        let all: Vec<_> = self.lock().values().filter_map(Weak::upgrade).collect();
        for notify in all {
            notify.notify_waiters();
        }
    }

    /// Wakes everyone permanently. The server is about to stop, and each request reports its current status.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        self.wake_all();
    }

    /// True if no one should wait anymore. Check it *after* a [`Waiter::changed`] was enabled.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<TxnId, Weak<Notify>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiter<'_> {
    /// Resolves at the next change. Create it before reading the transaction.
    pub(crate) fn changed(&self) -> tokio::sync::futures::Notified<'_> {
        self.notify.notified()
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let mut waiting = self.waiters.lock();
        if Arc::strong_count(&self.notify) == 1 {
            waiting.remove(&self.txn);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pyxis_core::entropy::SeededEntropy;

    #[tokio::test]
    async fn a_change_wakes_those_who_wait_for_it_and_nobody_stays_listed() {
        let waiters = Waiters::default();
        let entropy = SeededEntropy::new(1);
        let (mine, other) = (TxnId::new(&entropy), TxnId::new(&entropy));
        {
            let waiter = waiters.join(mine);
            let stranger = waiters.join(other);
            let mut changed = std::pin::pin!(waiter.changed());
            let mut strange = std::pin::pin!(stranger.changed());
            changed.as_mut().enable();
            strange.as_mut().enable();
            waiters.wake(mine);
            changed.await;
            assert!(futures_util::poll!(strange).is_pending());
        }
        assert!(waiters.lock().is_empty());
    }
}
