//! Work that requests hand over to the loops of [`crate::workers`], with the signals that wake and stop them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use pyxis_core::chat::ChatPlatform;
use pyxis_core::id::{TxnId, WorkspaceId};
use tokio::sync::{Notify, Semaphore, watch};

/// Maximum concurrent approved requests in this process.
const SENDING_AT_ONCE: usize = 64;

/// Wakeup signals for the loops.
pub(crate) struct Work {
    approved: Notify,
    expiry: Notify,
    deliveries: Notify,
    chats: BTreeMap<ChatPlatform, Notify>,
    examinations: Notify,
    push: Notify,
    slots: Arc<Semaphore>,
    queue: Mutex<Vec<(WorkspaceId, TxnId)>>,
    in_flight: Mutex<Vec<TxnId>>,
}

impl Default for Work {
    fn default() -> Self {
        Self {
            approved: Notify::new(),
            expiry: Notify::new(),
            deliveries: Notify::new(),
            chats: ChatPlatform::ALL.iter().map(|platform| (*platform, Notify::new())).collect(),
            examinations: Notify::new(),
            push: Notify::new(),
            slots: Arc::new(Semaphore::new(SENDING_AT_ONCE)),
            queue: Mutex::default(),
            in_flight: Mutex::default(),
        }
    }
}

impl Work {
    /// Announces a transaction approved in this process, so that it is sent immediately without a store query.
    pub(crate) fn approved(&self, workspace: WorkspaceId, txn: TxnId) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).push((workspace, txn));
        self.approved.notify_one();
    }

    /// Signals that there may be approved requests to send.
    pub(crate) const fn to_send(&self) -> &Notify {
        &self.approved
    }

    /// Slots for requests being sent.
    pub(crate) const fn slots(&self) -> &Arc<Semaphore> {
        &self.slots
    }

    /// Announces that a transaction may now be the first to expire.
    pub(crate) fn expiry_changed(&self) {
        self.expiry.notify_one();
    }

    /// Signals that something may expire earlier than expected.
    pub(crate) const fn expiry(&self) -> &Notify {
        &self.expiry
    }

    /// Signals that a webhook delivery may be due.
    pub(crate) const fn deliveries(&self) -> &Notify {
        &self.deliveries
    }

    /// Announces that a message on this platform may have to be posted or edited.
    pub(crate) fn wake_chats(&self, platform: ChatPlatform) {
        if let Some(signal) = self.chats.get(&platform) {
            signal.notify_one();
        }
    }

    /// Waits until a message on this platform may have to be posted or edited.
    pub(crate) async fn chats_due(&self, platform: ChatPlatform) {
        match self.chats.get(&platform) {
            Some(signal) => signal.notified().await,
            None => std::future::pending().await,
        }
    }

    /// Signals that a bot may have been let into a chat or put out of one.
    pub(crate) const fn examinations(&self) -> &Notify {
        &self.examinations
    }

    /// Signals that a push message may be due.
    pub(crate) const fn push(&self) -> &Notify {
        &self.push
    }

    /// Wakes all notifiers after a change of an approval.
    pub(crate) fn wake_notifiers(&self) {
        for outbox in [&self.deliveries, &self.push].into_iter().chain(self.chats.values()) {
            outbox.notify_one();
        }
    }

    /// Takes the transactions approved here that are not in progress.
    pub(crate) fn drain_approved(&self) -> Vec<(WorkspaceId, TxnId)> {
        std::mem::take(&mut *self.queue.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Marks a transaction as executed by this process until the guard is dropped.
    pub(crate) fn track_in_flight(&self, txn: TxnId) -> InFlightGuard<'_> {
        self.in_flight.lock().unwrap_or_else(PoisonError::into_inner).push(txn);
        InFlightGuard { work: self, txn }
    }

    /// True if this process executes a transaction.
    pub(crate) fn is_in_flight(&self, txn: TxnId) -> bool {
        self.in_flight.lock().unwrap_or_else(PoisonError::into_inner).contains(&txn)
    }
}

/// A transaction executed by this process.
pub(crate) struct InFlightGuard<'a> {
    work: &'a Work,
    txn: TxnId,
}

impl Drop for InFlightGuard<'_> {
    fn drop(&mut self) {
        let mut in_flight = self.work.in_flight.lock().unwrap_or_else(PoisonError::into_inner);
        // Removes only one entry, because a second attempt at the same transaction has its own.
        if let Some(place) = in_flight.iter().position(|txn| *txn == self.txn) {
            in_flight.swap_remove(place);
        }
    }
}

/// Stop signal for the loops.
pub type Stop = watch::Receiver<bool>;
