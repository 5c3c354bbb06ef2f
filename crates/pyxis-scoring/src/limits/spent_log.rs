//! A file of the requests that a process admitted from its reservations. The system keeps a killed process's writes, so
//! not one request is lost.
//!
//! The file begins with the system's name for its current boot, because what was written before a power cut may be
//! incomplete. Then comes a number for each slot: eight bytes, lowest first.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, PoisonError};

use pyxis_core::id::NodeId;

/// Offset of the numbers.
const HEADER: usize = 64;
/// Bytes of a number.
const NUMBER: usize = size_of::<u64>();
/// Maximum number of slots. Windows beyond these are counted request by request.
const SLOTS: u16 = 4096;

/// Record of a process's admitted requests.
pub struct SpentLog {
    node: NodeId,
    file: File,
    free: Mutex<Free>,
}

/// Free slots.
struct Free {
    left: Vec<u16>,
    /// All slots from here on are free.
    rest: u16,
}

impl SpentLog {
    /// Creates an empty log of a node in its own file. After the node's end, the finder of the file
    /// [releases](super::release_unspent) what it had not spent.
    pub fn new(node: NodeId, file: File) -> io::Result<Self> {
        file.set_len(0)?;
        file.write_all_at(&present_run().unwrap_or([0; HEADER]), 0)?;
        Ok(Self { node, file, free: Mutex::new(Free { left: Vec::new(), rest: 0 }) })
    }

    pub(super) const fn node(&self) -> NodeId {
        self.node
    }

    /// Takes a free slot, if there is a writable one.
    pub(super) fn take(self: &Arc<Self>) -> Option<Slot> {
        let number = {
            let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
            let next = free.rest;
            let fresh = (next < SLOTS).then_some(next);
            free.rest += u16::from(free.left.is_empty() && fresh.is_some());
            free.left.pop().or(fresh)?
        };
        let slot = Slot { ledger: Arc::clone(self), number, spent: 0, is_clear: true };
        slot.note(0).then_some(slot)
    }
}

/// A slot for the admitted requests of one reservation. Free again when it is dropped.
pub(super) struct Slot {
    ledger: Arc<SpentLog>,
    number: u16,
    spent: u64,
    is_clear: bool,
}

impl Slot {
    pub(super) fn number(&self) -> i64 {
        self.number.into()
    }

    /// Number of admitted requests.
    pub(super) fn spent(&self) -> i64 {
        i64::try_from(self.spent).unwrap_or(i64::MAX)
    }

    /// Records one more admitted request; true if that worked.
    pub(super) fn spend(&mut self) -> bool {
        let noted = self.note(self.spent + 1);
        self.spent += u64::from(noted);
        noted
    }

    /// Marks the slot as unusable by others: the database may still execute a request for it.
    pub(super) const fn is_unclear(&mut self) {
        self.is_clear = false;
    }

    fn note(&self, spent: u64) -> bool {
        let place = (HEADER + NUMBER * usize::from(self.number)) as u64;
        let written = self.ledger.file.write_all_at(&spent.to_le_bytes(), place);
        if let Err(error) = &written {
            tracing::warn!(%error, "cannot log admitted requests, so every request waits until it is counted");
        }
        written.is_ok()
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if self.is_clear {
            self.ledger.free.lock().unwrap_or_else(PoisonError::into_inner).left.push(self.number);
        }
    }
}

/// Counts recorded by a dead process, by slot; `None` if the machine was rebooted since then.
pub(super) fn read(file: &File) -> io::Result<Option<Vec<u64>>> {
    let length = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    let mut bytes = vec![0; length.min(HEADER + NUMBER * usize::from(SLOTS))];
    file.read_exact_at(&mut bytes, 0)?;
    let Some((header, numbers)) = bytes.split_at_checked(HEADER) else { return Ok(None) };
    if present_run().is_none_or(|run| run != header) {
        return Ok(None);
    }
    Ok(Some(numbers.as_chunks().0.iter().map(|number| u64::from_le_bytes(*number)).collect()))
}

/// Linux's id of its current boot; `None` if it has none.
fn present_run() -> Option<[u8; HEADER]> {
    let name = std::fs::read("/proc/sys/kernel/random/boot_id").ok()?;
    let mut run = [0; HEADER];
    run.get_mut(..name.len())?.copy_from_slice(&name);
    Some(run)
}

#[cfg(test)]
mod tests;
