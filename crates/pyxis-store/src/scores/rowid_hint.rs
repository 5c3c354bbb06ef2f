//! Hints about the place of a score in SQLite's table.
//!
//! A table is a tree by row id. If the row id follows from the query, a read descends only that tree. It avoids
//! the index, whose page for an address is as rarely cached as that of the row. The row id is only a hint. Reads
//! check that they found the right row, and fall back on the index if another row took the place.

use pyxis_core::address::EvmAddress;
use pyxis_core::id::ScorerId;

/// Moves every score to its place, after an upgrade or a restore.
pub(crate) const SETTLE: &str = include_str!("../../migrations/sqlite/0017_score_places.sql");

/// Row id: the scorer, followed by the last five bytes of the address, which are practically random.
pub(super) fn rowid_hint(scorer: ScorerId, EvmAddress(address): EvmAddress) -> i64 {
    let mut bytes = [0; 8];
    bytes[..5].copy_from_slice(&address[15..]);
    i64::from_le_bytes(bytes) | (scorer.get() & 63) << 40
}
