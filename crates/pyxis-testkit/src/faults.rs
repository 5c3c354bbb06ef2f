//! Faults of a peer that a test draws at random: it is down, refuses, limits, or loses a request or its answer.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use crate::long_form::Dice;

/// Outcome of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It works.
    None,
    /// It is refused with this status, and may work another time.
    Refused(u16),
    /// It is refused, with a time in seconds to wait.
    Limited(u64),
    /// The connection ends before the peer receives it.
    CutBefore,
    /// The peer receives it, and its answer is lost.
    CutAfter,
}

/// Statuses of refusals.
const STATUSES: [u16; 3] = [500, 502, 503];
/// Longest wait of a limit that is drawn, in seconds.
const LONGEST_LIMIT: u64 = 3;

/// Faults of one peer.
pub struct Faults {
    dice: Arc<Mutex<Dice>>,
    /// Of each hundred calls, those that meet a fault.
    percent: AtomicU64,
    down: watch::Sender<bool>,
    scripted: Mutex<VecDeque<Fault>>,
    calls: AtomicUsize,
}

impl Faults {
    /// None at first.
    pub fn new(dice: Arc<Mutex<Dice>>) -> Self {
        Self {
            dice,
            percent: AtomicU64::new(0),
            down: watch::Sender::new(false),
            scripted: Mutex::default(),
            calls: AtomicUsize::new(0),
        }
    }

    /// Sets the number of calls of each hundred that meet a fault.
    pub fn set_percent(&self, percent: u64) {
        self.percent.store(percent, Ordering::Relaxed);
    }

    /// Ends every connection and accepts none while down.
    pub fn set_down(&self, down: bool) {
        self.down.send_replace(down);
    }

    /// Sets the outcome of the next call that has none yet.
    pub fn script(&self, fault: Fault) {
        self.scripted.lock().unwrap_or_else(PoisonError::into_inner).push_back(fault);
    }

    /// Number of calls so far.
    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    pub(crate) fn is_down(&self) -> bool {
        *self.down.borrow()
    }

    /// Returns once the peer is down.
    pub(crate) async fn cut_off(&self) {
        // The sender lives as long as this.
        let _ = self.down.subscribe().wait_for(|down| *down).await;
    }

    /// The outcome of the next call.
    pub(crate) fn draw(&self) -> Fault {
        self.calls.fetch_add(1, Ordering::Relaxed);
        if let Some(scripted) = self.scripted.lock().unwrap_or_else(PoisonError::into_inner).pop_front() {
            return scripted;
        }
        let mut dice = self.dice.lock().unwrap_or_else(PoisonError::into_inner);
        if dice.below(100) >= self.percent.load(Ordering::Relaxed) {
            return Fault::None;
        }
        match dice.below(6) {
            kind @ 0..3 => Fault::Refused(STATUSES[usize::try_from(kind).expect("a small number")]),
            3 => Fault::Limited(1 + dice.below(LONGEST_LIMIT)),
            4 => Fault::CutBefore,
            _ => Fault::CutAfter,
        }
    }
}
