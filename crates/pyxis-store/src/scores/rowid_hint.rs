//! Where a score lies in SQLite's table.
//!
//! A table is a tree by row number. Where the number follows from what is asked for, a read goes down that tree
//! alone and not first down an index, whose page for an address is as seldom in memory as the row's. The number is a
//! hint: reads say which row they mean, and fall back on the index for a row that lies elsewhere because another had
//! the place.

use pyxis_core::address::EvmAddress;
use pyxis_core::id::ScorerId;

/// Moves every score to its place, after an upgrade or a restore.
pub(crate) const SETTLE: &str = include_str!("../../migrations/sqlite/0017_score_places.sql");

/// The row number: the last five bytes of the address, which are as good as random, and the scorer above them.
pub(super) fn rowid_hint(scorer: ScorerId, EvmAddress(address): EvmAddress) -> i64 {
    let mut bytes = [0; 8];
    bytes[..5].copy_from_slice(&address[15..]);
    i64::from_le_bytes(bytes) | (scorer.get() & 63) << 40
}
