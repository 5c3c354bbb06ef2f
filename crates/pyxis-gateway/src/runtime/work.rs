//! What requests leave to the loops of [`crate::workers`], and how these are woken and stopped.

use std::sync::{Arc, Mutex, PoisonError};

use pyxis_core::id::{TxnId, WorkspaceId};
use pyxis_store::chat_messages::ChatPlatform;
use tokio::sync::{Notify, Semaphore, watch};

/// Approved requests under way at once in this process.
const SENDING_AT_ONCE: usize = 64;

/// Nudges for the loops.
pub(crate) struct Work {
    approved: Notify,
    expiry: Notify,
    deliveries: Notify,
    telegram: Notify,
    matrix: Notify,
    push: Notify,
    slots: Arc<Semaphore>,
    queue: Mutex<Vec<(WorkspaceId, TxnId)>>,
    carried: Mutex<Vec<TxnId>>,
}

impl Default for Work {
    fn default() -> Self {
        Self {
            approved: Notify::new(),
            expiry: Notify::new(),
            deliveries: Notify::new(),
            telegram: Notify::new(),
            matrix: Notify::new(),
            push: Notify::new(),
            slots: Arc::new(Semaphore::new(SENDING_AT_ONCE)),
            queue: Mutex::default(),
            carried: Mutex::default(),
        }
    }
}

impl Work {
    /// A transaction was approved here: send it now, do not wait to find it in the store.
    pub(crate) fn approved(&self, workspace: WorkspaceId, txn: TxnId) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).push((workspace, txn));
        self.approved.notify_one();
    }

    /// Told when there may be something approved to send.
    pub(crate) const fn to_send(&self) -> &Notify {
        &self.approved
    }

    /// Room for one more request under way.
    pub(crate) const fn slots(&self) -> &Arc<Semaphore> {
        &self.slots
    }

    /// A transaction may now be the first to expire.
    pub(crate) fn expiry_changed(&self) {
        self.expiry.notify_one();
    }

    /// Told when something may expire earlier than it was thought.
    pub(crate) const fn expiry(&self) -> &Notify {
        &self.expiry
    }

    /// Told when a webhook delivery may have become due.
    pub(crate) const fn deliveries(&self) -> &Notify {
        &self.deliveries
    }

    /// Told when a message on this platform may have to be posted or edited.
    pub(crate) const fn chats(&self, platform: ChatPlatform) -> &Notify {
        match platform {
            ChatPlatform::Telegram => &self.telegram,
            ChatPlatform::Matrix => &self.matrix,
        }
    }

    /// Told when a browser may have to be notified.
    pub(crate) const fn push(&self) -> &Notify {
        &self.push
    }

    /// Something happened to an approval: there may be somebody to tell.
    pub(crate) fn wake_notifiers(&self) {
        for outbox in [&self.deliveries, &self.telegram, &self.matrix, &self.push] {
            outbox.notify_one();
        }
    }

    /// Takes what was approved here and is not under way.
    pub(crate) fn take(&self) -> Vec<(WorkspaceId, TxnId)> {
        std::mem::take(&mut *self.queue.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Says that this process carries out a transaction, until that is dropped.
    pub(crate) fn track_in_flight(&self, txn: TxnId) -> InFlightGuard<'_> {
        self.carried.lock().unwrap_or_else(PoisonError::into_inner).push(txn);
        InFlightGuard { work: self, txn }
    }

    /// True if this process carries out a transaction.
    pub(crate) fn carries(&self, txn: TxnId) -> bool {
        self.carried.lock().unwrap_or_else(PoisonError::into_inner).contains(&txn)
    }
}

/// A transaction that this process carries out.
pub(crate) struct InFlightGuard<'a> {
    work: &'a Work,
    txn: TxnId,
}

impl Drop for InFlightGuard<'_> {
    fn drop(&mut self) {
        let mut carried = self.work.carried.lock().unwrap_or_else(PoisonError::into_inner);
        // One place only: a second attempt at the same transaction has a place of its own.
        if let Some(place) = carried.iter().position(|txn| *txn == self.txn) {
            carried.swap_remove(place);
        }
    }
}

/// Tells the loops to stop.
pub type Stop = watch::Receiver<bool>;
