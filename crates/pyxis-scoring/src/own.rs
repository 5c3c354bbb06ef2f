//! Stamps that a workspace issues itself, by rules of its own: lists of addresses, and conditions on chains. `issue`
//! answers requests, `recheck` withdraws what no longer holds.

mod amount;
mod conditions;
mod evaluate;
mod issue;
mod keys;
mod recheck;
mod rule;

use std::time::Duration;

use pyxis_core::address::EvmAddress;
use pyxis_core::stamp::Nullifier;

pub(crate) use conditions::{Item, KINDS, Kind, SettingError, read as read_condition};
pub(crate) use evaluate::{ConditionSubject, evaluate};
pub(crate) use issue::{IssueOutcome, IssueRequest, MAX_ISSUED, issue};
pub(crate) use keys::{new_row, signer};
pub use recheck::{CheckScope, RecheckCount, recheck, run};
pub use rule::ALLOW_LIST;
pub(crate) use rule::{NETWORK, OnChainRule, StampRule};

/// The nullifier of a Stamp that counts for one address.
pub(crate) fn nullifier_of(address: EvmAddress) -> Nullifier {
    format!("address:{address}").parse().expect("printable text")
}

/// A number of days as a duration.
pub(crate) fn days(days: i64) -> Duration {
    Duration::from_hours(24 * days.unsigned_abs())
}
