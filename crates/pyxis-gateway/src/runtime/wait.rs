//! Who waits for which transaction.
//!
//! A waiting request holds one entry here and is woken when its transaction changes; nothing polls.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use pyxis_core::id::TxnId;
use tokio::sync::Notify;

/// The waiting requests of this process.
#[derive(Default)]
pub(crate) struct Waiters {
    waiting: Mutex<HashMap<TxnId, Weak<Notify>>>,
    stopped: AtomicBool,
}

/// A place in the queue of one transaction.
pub(crate) struct Waiter<'a> {
    txn: TxnId,
    notify: Arc<Notify>,
    waiters: &'a Waiters,
}

impl Waiters {
    /// Takes a place. Look at the transaction *after* this, so that no change is missed.
    pub(crate) fn join(&self, txn: TxnId) -> Waiter<'_> {
        let mut waiting = self.lock();
        let notify = waiting.get(&txn).and_then(Weak::upgrade).unwrap_or_else(|| {
            let notify = Arc::new(Notify::new());
            waiting.insert(txn, Arc::downgrade(&notify));
            notify
        });
        Waiter { txn, notify, waiters: self }
    }

    /// Wakes whoever waits for `txn`.
    pub(crate) fn wake(&self, txn: TxnId) {
        let waiting = self.lock().get(&txn).and_then(Weak::upgrade);
        if let Some(notify) = waiting {
            notify.notify_waiters();
        }
    }

    /// Wakes everybody: something changed, nobody knows what.
    pub(crate) fn wake_all(&self) {
        let all: Vec<_> = self.lock().values().filter_map(Weak::upgrade).collect();
        for notify in all {
            notify.notify_waiters();
        }
    }

    /// Wakes everybody for good: the server is about to stop, and each is to say how far it has come.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        self.wake_all();
    }

    /// True if nobody is to wait any more. Look at it *after* a [`Waiter::changed`] was enabled.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<TxnId, Weak<Notify>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiter<'_> {
    /// A future that resolves at the next change. Create it before looking at the transaction.
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
