//! A tree over all records, with which a record's place in the log can be proved to someone without the chain's key.
//!
//! Leaves are the records in order. Hashes of complete subtrees are stored as tiles of 256; everything else is
//! computed when it is needed. Records are checked against the chain before they are hashed.

use std::ops::Range;

use ed25519_dalek::Signer;
use pyxis_core::clock::UnixMillis;
use pyxis_core::hex;
use pyxis_core::merkle_log::{LogHash, PartialTree, head_message, node_hash, root_from_path};

use super::disclosure::{Disclosure, disclosures, leaf};
use super::{AuditKeys, AuditRow, ChainMac, Checkpoint, MAC_BYTES, stream};
use crate::db::{Bind, FromRow, Row, Rows, sql};
use crate::{Executor, Store, StoreError};

/// Bits of a level: a tile covers 256 of the level below.
const BITS: u32 = 8;
/// Levels of stored tiles.
const LEVELS: u32 = 3;
/// Tiles of records that are hashed in one step.
const STEP: u64 = 4;

/// Failure to prove a record's place.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A record, a tile or a signed head is not the original.
    #[error("the audit trail is damaged near record {seq}; run pyxis audit verify")]
    Damaged {
        /// Record number.
        seq: i64,
    },
}

/// Progress of hashing the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeProgress {
    /// Proofs are possible.
    Ready,
    /// More records must be hashed first.
    Building {
        /// Records hashed so far.
        hashed: i64,
        /// Records to hash.
        needed: i64,
    },
}

/// End of the log at one moment: the number of a record and its MAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeEnd {
    /// Number of the record, and of the records up to it.
    pub seq: i64,
    /// MAC of the record.
    pub mac: ChainMac,
}

/// A signed head of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeHead {
    /// Last record.
    pub end: TreeEnd,
    /// Root of the tree.
    pub root: LogHash,
    /// Time of the signature.
    pub signed_at: UnixMillis,
    /// Ed25519 signature of [`head_message`] by the key of checkpoints.
    pub signature: [u8; 64],
}

/// A record and its place in the log.
#[derive(Clone, Debug)]
pub struct ProvenRecord {
    /// The record.
    pub row: AuditRow,
    /// All its members.
    pub members: Vec<Disclosure>,
    /// Siblings from the leaf to the root.
    pub path: Vec<LogHash>,
}

/// A stored tile.
struct Tile {
    number: i64,
    hash: Vec<u8>,
    seal: String,
}

impl FromRow for Tile {
    const TABLE: &'static str = "audit_tiles";

    fn from_row(row: &mut Row<'_>) -> Result<Self, StoreError> {
        Ok(Self { number: row.take("number")?, hash: row.take("hash")?, seal: row.take("seal")? })
    }
}

/// The end of the log for proofs of records up to `seq`: the nearest signed head at or after it, or else the newest
/// record. `None` if the log ends before `seq`.
pub async fn end_after(store: &Store, keys: &AuditKeys, seq: i64) -> Result<Option<TreeEnd>, TreeError> {
    let query =
        sql("SELECT seq, mac, signed_at, signature FROM audit_checkpoints WHERE seq >= $1 ORDER BY seq");
    let signed: Option<Checkpoint> = store.optional(query.bind(seq).limit(1)).await?;
    if let Some(signed) = signed {
        let end = TreeEnd { seq: signed.seq, mac: signed.mac };
        return if signed.is_genuine(keys) {
            Ok(Some(end))
        } else {
            Err(TreeError::Damaged { seq: end.seq })
        };
    }
    let head: Option<(i64, Vec<u8>)> =
        store.optional(sql("SELECT seq, mac FROM audit_head WHERE id = 1")).await?;
    let Some((newest, mac)) = head.filter(|(newest, _)| *newest >= seq) else { return Ok(None) };
    let mac = mac.try_into().map_err(|_| TreeError::Damaged { seq: newest })?;
    Ok(Some(TreeEnd { seq: newest, mac }))
}

/// Hashes records up to `end` that are not hashed yet, at most `most` of them.
pub async fn extend_tree(
    store: &Store,
    keys: &AuditKeys,
    end: TreeEnd,
    most: u64,
) -> Result<TreeProgress, TreeError> {
    let (size, needed) = (size_of(end), size_of(end) >> BITS);
    let stored: Option<(Option<i64>,)> =
        store.optional(sql("SELECT max(number) FROM audit_tiles WHERE level = 1")).await?;
    let mut next = stored.and_then(|(newest,)| newest).map_or(0, |newest| newest.unsigned_abs() + 1);
    let last = needed.min(next.saturating_add((most >> BITS).max(1)));
    while next < last {
        let to = last.min(next + STEP);
        let leaves = Leaves::load(store, keys, (next << BITS)..(to << BITS)).await?;
        let hashes: Vec<LogHash> = leaves.rows.iter().map(|(_, members)| leaf(members)).collect();
        for (number, tile) in (next..to).zip(hashes.chunks(1 << BITS)) {
            add_tile(store, keys, number, complete_root(tile)).await?;
        }
        next = to;
    }
    Ok(if next >= needed {
        TreeProgress::Ready
    } else {
        TreeProgress::Building { hashed: signed(next << BITS), needed: signed(size) }
    })
}

/// Proves the places of records up to `end`, and signs the head there.
pub async fn prove(
    store: &Store,
    keys: &AuditKeys,
    end: TreeEnd,
    seqs: &[i64],
    now: UnixMillis,
) -> Result<(TreeHead, Vec<ProvenRecord>), TreeError> {
    let size = size_of(end);
    let mut tree = PartialTree::new(size);
    for level in 1..=LEVELS {
        for range in needed_tiles(size, level, seqs) {
            load_tiles(store, keys, level, range, &mut tree).await?;
        }
    }
    let mut found = Vec::new();
    for range in needed_tiles(size, 0, seqs) {
        let leaves = Leaves::load(store, keys, range).await?;
        if leaves.end == end.seq && leaves.mac[..] != end.mac[..] {
            return Err(TreeError::Damaged { seq: end.seq });
        }
        for (row, members) in leaves.rows {
            tree.insert(0, index_of(row.seq), leaf(&members));
            if seqs.contains(&row.seq) && !found.iter().any(|(known, _): &(AuditRow, _)| known.seq == row.seq)
            {
                found.push((row, members));
            }
        }
    }
    check_end(store, end).await?;
    let damaged = |seq| TreeError::Damaged { seq };
    let root = tree.root().ok_or(damaged(end.seq))?;
    let mut proven = Vec::with_capacity(seqs.len());
    for (row, members) in found {
        let index = index_of(row.seq);
        let path = tree.path(index).ok_or(damaged(row.seq))?;
        // Tiles above hold hashes of the records as they were.
        if root_from_path(leaf(&members), index, size, &path) != Some(root) {
            return Err(damaged(row.seq));
        }
        proven.push(ProvenRecord { row, members, path });
    }
    proven.sort_by_key(|record| record.row.seq);
    let message = head_message(size, &root, &end.mac, now.0);
    let signature = keys.signing.sign(&message).to_bytes();
    Ok((TreeHead { end, root, signed_at: now, signature }, proven))
}

/// Tiles of a level that are needed: those that end the tree, and those around each record. Level 0 are the records.
fn needed_tiles(size: u64, level: u32, seqs: &[i64]) -> Vec<Range<u64>> {
    let count = size >> (BITS * level);
    let group = |first: u64| (first << BITS)..((first + 1) << BITS).min(count);
    let ending = if level == LEVELS { 0..count } else { group(count >> BITS) };
    let mut groups = vec![ending];
    if level < LEVELS {
        for seq in seqs {
            let around = group(index_of(*seq) >> (BITS * (level + 1)));
            if !groups.contains(&around) {
                groups.push(around);
            }
        }
    }
    groups.retain(|range| !range.is_empty());
    groups
}

/// Fails unless the record at the end of the log has its MAC.
async fn check_end(store: &Store, end: TreeEnd) -> Result<(), TreeError> {
    let query = sql("SELECT mac FROM audit_records WHERE seq = $1").bind(end.seq);
    let found: Option<(Vec<u8>,)> = store.optional(query).await?;
    match found {
        Some((mac,)) if mac == end.mac => Ok(()),
        _ => Err(TreeError::Damaged { seq: end.seq }),
    }
}

/// Records that were checked against the chain, with their members.
struct Leaves {
    rows: Vec<(AuditRow, Vec<Disclosure>)>,
    /// Number and MAC of the last record.
    end: i64,
    mac: Vec<u8>,
}

impl Leaves {
    async fn load(store: &Store, keys: &AuditKeys, indexes: Range<u64>) -> Result<Self, TreeError> {
        let (before, last) = (signed(indexes.start), signed(indexes.end));
        let mut mac = vec![0; MAC_BYTES];
        if before > 0 {
            let query = sql("SELECT mac FROM audit_records WHERE seq = $1").bind(before);
            let found: Option<(Vec<u8>,)> = store.optional(query).await?;
            mac = found.ok_or(TreeError::Damaged { seq: before })?.0;
        }
        let limit = u32::try_from(last - before).unwrap_or(u32::MAX);
        let page = stream(store, before + 1, None, limit).await?;
        let (mut scratch, mut seq) = (Vec::new(), before);
        let mut rows = Vec::with_capacity(page.len());
        for row in page {
            seq += 1;
            if row.seq != seq || keys.chain(&mut scratch, seq, &row.record, &mac)[..] != row.mac[..] {
                return Err(TreeError::Damaged { seq });
            }
            mac.clone_from(&row.mac);
            let members = disclosures(keys, &row);
            rows.push((row, members));
        }
        if seq == last { Ok(Self { rows, end: last, mac }) } else { Err(TreeError::Damaged { seq: seq + 1 }) }
    }
}

/// Reads tiles into the tree.
async fn load_tiles(
    store: &Store,
    keys: &AuditKeys,
    level: u32,
    numbers: Range<u64>,
    tree: &mut PartialTree,
) -> Result<(), TreeError> {
    for (number, hash) in numbers.clone().zip(tiles(store, keys, level, numbers).await?) {
        tree.insert(BITS * level, number, hash);
    }
    Ok(())
}

/// Reads tiles, all of which must exist and be genuine.
async fn tiles(
    store: &Store,
    keys: &AuditKeys,
    level: u32,
    numbers: Range<u64>,
) -> Result<Vec<LogHash>, TreeError> {
    let query = sql("SELECT number, hash, seal FROM audit_tiles \
         WHERE level = $1 AND number >= $2 AND number < $3 ORDER BY number")
    .bind(i64::from(level))
    .bind(signed(numbers.start))
    .bind(signed(numbers.end));
    let found: Vec<Tile> = store.all(query).await?;
    let damaged = |number: u64| TreeError::Damaged { seq: signed(number << (BITS * level)) + 1 };
    if found.len() as u64 != numbers.end - numbers.start {
        return Err(damaged(numbers.start));
    }
    let mut hashes = Vec::with_capacity(found.len());
    for (number, tile) in numbers.zip(found) {
        let genuine = tile.number == signed(number) && tile.seal == seal(keys, level, number, &tile.hash);
        let hash = tile.hash.try_into().map_err(|_| damaged(number))?;
        hashes.push(if genuine { hash } else { return Err(damaged(number)) });
    }
    Ok(hashes)
}

/// Stores a tile of records and the tiles above that it completes, all or none. Another node may have stored the same.
async fn add_tile(store: &Store, keys: &AuditKeys, number: u64, hash: LogHash) -> Result<(), TreeError> {
    let (mut level, mut number, mut hash) = (1, number, hash);
    let mut rows: Rows = Vec::new();
    loop {
        rows.push(vec![
            i64::from(level).bind(),
            signed(number).bind(),
            hash.to_vec().bind(),
            seal(keys, level, number, &hash).bind(),
        ]);
        if level == LEVELS || (number + 1) % (1 << BITS) != 0 {
            break;
        }
        let mut below = tiles(store, keys, level, (number + 1 - (1 << BITS))..number).await?;
        below.push(hash);
        (level, number, hash) = (level + 1, number >> BITS, complete_root(&below));
    }
    let insert =
        "INSERT INTO audit_tiles (level, number, hash, seal) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
    store.execute_each(insert.into(), rows).await?;
    Ok(())
}

fn seal(keys: &AuditKeys, level: u32, number: u64, hash: &[u8]) -> String {
    keys.seal(&format!("audit tile {level} {number} {}", hex::encode(hash)))
}

/// Root over a power of two of hashes.
fn complete_root(hashes: &[LogHash]) -> LogHash {
    match hashes {
        [] => [0; 32],
        [one] => *one,
        _ => {
            let (left, right) = hashes.split_at(hashes.len() / 2);
            node_hash(&complete_root(left), &complete_root(right))
        }
    }
}

/// Number of records up to the end.
const fn size_of(end: TreeEnd) -> u64 {
    end.seq.unsigned_abs()
}

/// Position of a record among the leaves.
const fn index_of(seq: i64) -> u64 {
    seq.unsigned_abs().saturating_sub(1)
}

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
