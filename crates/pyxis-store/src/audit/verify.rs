//! Verification of the whole chain.

use super::{AuditKeys, AuditRow, Checkpoint, MAC_BYTES, stream};
use crate::db::sql;
use crate::{Executor, Store, StoreError};

/// Number of records read at a time, and search distance for a displaced record.
const PAGE: u32 = 1000;

/// Kind of damage at the first damaged position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DamageKind {
    /// The record differs from the original.
    Edited,
    /// The record is missing, although there are later ones.
    Missing,
    /// The record with this number is at another position.
    Reordered,
    /// The log ends before the position in its head, a checkpoint or the anchor.
    CutTail,
    /// A checkpoint has an invalid signature or does not match its record.
    Checkpoint,
    /// The head does not match the records.
    Head,
}

impl std::fmt::Display for DamageKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Edited => "the record was edited",
            Self::Missing => "the record is missing",
            Self::Reordered => "the record is in another position",
            Self::CutTail => "the records after it were removed",
            Self::Checkpoint => "a signed head has a bad signature or does not match its record",
            Self::Head => "the head does not match the records",
        })
    }
}

/// First damaged position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Record number.
    pub seq: i64,
    pub kind: DamageKind,
}

/// Result of a verification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainVerdict {
    /// Number of genuine records before the damage, or of all.
    pub records: i64,
    /// Number of checkpoints compared.
    pub checkpoints: usize,
    /// First damage; `None` if the chain is intact.
    pub damage: Option<Damage>,
}

/// Recomputes the chain. `anchor` is a checkpoint stored elsewhere. `progress` receives the number of checked records
/// and the total. Records appended during the check are left to the next one.
pub async fn verify(
    store: &Store,
    keys: &AuditKeys,
    anchor: Option<&Checkpoint>,
    mut progress: impl FnMut(i64, i64) + Send,
) -> Result<ChainVerdict, StoreError> {
    // Read in this order, so that a concurrent append cannot look like damage.
    let newest = super::newest(store).await?;
    let mut checkpoints: Vec<Checkpoint> =
        store.all(sql("SELECT seq, mac, signed_at, signature FROM audit_checkpoints")).await?;
    checkpoints.extend(anchor.cloned());
    checkpoints.sort_by_key(|checkpoint| checkpoint.seq);
    let head: Option<(i64, Vec<u8>)> =
        store.optional(sql("SELECT seq, mac FROM audit_head WHERE id = 1")).await?;
    let (head_seq, head_mac) = head.unwrap_or_default();

    let mut walk =
        Walk { keys, before: vec![0; MAC_BYTES], seq: 0, scratch: Vec::new(), checkpoints: &checkpoints };
    let last = head_seq.max(newest).max(checkpoints.last().map_or(0, |checkpoint| checkpoint.seq));
    let damage = walk.run(store, last, &mut progress).await?.or_else(|| {
        let fits = newest <= head_seq && (walk.seq != head_seq || walk.before == head_mac);
        (!fits).then_some(Damage { seq: head_seq, kind: DamageKind::Head })
    });
    Ok(ChainVerdict { records: walk.seq, checkpoints: checkpoints.len(), damage })
}

/// Walks along the chain. Everything up to `seq` is genuine.
struct Walk<'a> {
    keys: &'a AuditKeys,
    before: Vec<u8>,
    seq: i64,
    scratch: Vec<u8>,
    checkpoints: &'a [Checkpoint],
}

impl Walk<'_> {
    async fn run(
        &mut self,
        store: &Store,
        last: i64,
        progress: &mut (impl FnMut(i64, i64) + Send),
    ) -> Result<Option<Damage>, StoreError> {
        if let Some(kind) = self.checkpoint_damage() {
            return Ok(Some(Damage { seq: 0, kind }));
        }
        while self.seq < last {
            let page = stream(store, self.seq + 1, None, PAGE).await?;
            if page.is_empty() {
                return Ok(Some(Damage { seq: self.seq + 1, kind: DamageKind::CutTail }));
            }
            for (index, row) in page.iter().enumerate() {
                if self.seq == last {
                    break;
                }
                if let Some(kind) = self.step(row, &page[index..]) {
                    // A wrong checkpoint is detected after its record.
                    let seq = if kind == DamageKind::Checkpoint { self.seq } else { self.seq + 1 };
                    return Ok(Some(Damage { seq, kind }));
                }
            }
            progress(self.seq, last);
        }
        Ok(None)
    }

    /// Checks that `row` is the next record; `ahead` starts with it.
    fn step(&mut self, row: &AuditRow, ahead: &[AuditRow]) -> Option<DamageKind> {
        let next = self.seq + 1;
        if row.seq == next && self.follows(next, row) {
            self.seq = next;
            self.before.clone_from(&row.mac);
            return self.checkpoint_damage();
        }
        if ahead.iter().any(|other| other.seq != next && self.follows(next, other)) {
            return Some(DamageKind::Reordered);
        }
        Some(if row.seq == next { DamageKind::Edited } else { DamageKind::Missing })
    }

    /// True if the content of `row` was recorded as number `seq` after the records checked so far.
    fn follows(&mut self, seq: i64, row: &AuditRow) -> bool {
        self.keys.chain(&mut self.scratch, seq, &row.record, &self.before)[..] == row.mac[..]
    }

    fn checkpoint_damage(&self) -> Option<DamageKind> {
        let start = self.checkpoints.partition_point(|checkpoint| checkpoint.seq < self.seq);
        let here = self.checkpoints[start..].iter().take_while(|checkpoint| checkpoint.seq == self.seq);
        let wrong = |checkpoint: &Checkpoint| {
            checkpoint.mac[..] != self.before[..] || !checkpoint.is_genuine(self.keys)
        };
        here.into_iter().any(wrong).then_some(DamageKind::Checkpoint)
    }
}
