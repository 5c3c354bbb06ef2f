//! Requests waiting for a transaction or a task.
//!
//! A waiting request has one entry here and is woken when that changes, without polling.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use pyxis_core::id::{TaskId, TxnId};
use tokio::sync::Notify;

/// Item that a request waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum WaitKey {
    /// The outcome of a transaction.
    Transaction(TxnId),
    /// The decision about a task.
    Task(TaskId),
}

impl From<TxnId> for WaitKey {
    fn from(txn: TxnId) -> Self {
        Self::Transaction(txn)
    }
}

impl From<TaskId> for WaitKey {
    fn from(task: TaskId) -> Self {
        Self::Task(task)
    }
}

/// Waiting requests of this process.
#[derive(Default)]
pub(crate) struct Waiters {
    waiting: Mutex<HashMap<WaitKey, Weak<Notify>>>,
    stopped: AtomicBool,
}

/// Registration for one item.
pub(crate) struct Waiter<'a> {
    item: WaitKey,
    notify: Arc<Notify>,
    waiters: &'a Waiters,
}

impl Waiters {
    /// Registers a waiter. Read the item *after* this, so that no change is missed.
    pub(crate) fn join(&self, item: impl Into<WaitKey>) -> Waiter<'_> {
        let item = item.into();
        let mut waiting = self.lock();
        let notify = waiting.get(&item).and_then(Weak::upgrade).unwrap_or_else(|| {
            let notify = Arc::new(Notify::new());
            waiting.insert(item, Arc::downgrade(&notify));
            notify
        });
        Waiter { item, notify, waiters: self }
    }

    /// Wakes all waiters for an item.
    pub(crate) fn wake(&self, item: impl Into<WaitKey>) {
        let waiting = self.lock().get(&item.into()).and_then(Weak::upgrade);
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

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<WaitKey, Weak<Notify>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiter<'_> {
    /// Resolves at the next change. Create it before reading the item.
    pub(crate) fn changed(&self) -> tokio::sync::futures::Notified<'_> {
        self.notify.notified()
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let mut waiting = self.waiters.lock();
        if Arc::strong_count(&self.notify) == 1 {
            waiting.remove(&self.item);
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
