//! Cache of the key and scorer that score requests share.
//!
//! They are read once for all requests within a millisecond, unless this process commits something. Changes by this
//! process are therefore visible immediately, and changes by others a millisecond later.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pyxis_core::clock::UnixMillis;
use pyxis_core::decimal::Decimal;
use pyxis_core::id::{ApiKeyId, ScorerId, WorkspaceId};
use tokio::time::Instant;

use crate::scorers::ScorerRow;

/// Maximum lag behind commits of other processes.
const KEPT: Duration = Duration::from_millis(1);
/// Maximum number of entries. Searching more would take as long as a read.
const MOST: usize = 16;

/// Permissions of a key that a request for a score needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyHead {
    pub id: ApiKeyId,
    /// Workspace of the key.
    pub workspace_id: WorkspaceId,
    /// Tier of the Stamps endpoints.
    pub stamps_tier: i64,
    /// Individual limit for the Stamps endpoints, in requests per window.
    pub stamps_limit: Option<i64>,
    /// True if the key may read scores and Stamps.
    pub can_read: bool,
    /// True if the key may read history.
    pub can_read_history: bool,
}

/// Settings of a scorer that a request for a score needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScorerHead {
    /// Rises with every change of weights or threshold.
    pub revision: i64,
    /// Minimum score to pass.
    pub threshold: Decimal,
    /// Moment of the earliest scheduled change that is not written down yet.
    pub next_change_at: Option<UnixMillis>,
}

impl ScorerHead {
    /// True if other terms are in force than these.
    pub fn is_due(&self, now: UnixMillis) -> bool {
        self.next_change_at.is_some_and(|at| at <= now)
    }
}

impl From<&ScorerRow> for ScorerHead {
    fn from(row: &ScorerRow) -> Self {
        let ScorerRow { revision, threshold, next_change_at, .. } = *row;
        Self { revision, threshold, next_change_at }
    }
}

/// Recently read keys and scorers.
#[derive(Default)]
pub(crate) struct KeyCache(Mutex<Vec<CachedEntry>>);

struct CachedEntry {
    key_hash: String,
    scorer: ScorerId,
    head: CachedKey,
    read: CacheStamp,
}

/// A key, with the scorer if it belongs to the key's workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CachedKey {
    pub(super) key: KeyHead,
    pub(super) scorer: Option<ScorerHead>,
}

/// State right before a read.
#[derive(Clone, Copy)]
pub(super) struct CacheStamp {
    /// Commits of this process up to that moment.
    pub(super) commits: u64,
    pub(super) at: Instant,
}

impl CacheStamp {
    fn is_as_good_as(self, now: Self) -> bool {
        self.commits == now.commits && now.at.saturating_duration_since(self.at) < KEPT
    }
}

impl KeyCache {
    pub(super) fn find(&self, key_hash: &str, scorer: ScorerId, now: CacheStamp) -> Option<CachedKey> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = |known: &&CachedEntry| known.scorer == scorer && known.key_hash == key_hash;
        all.iter().find(wanted).filter(|known| known.read.is_as_good_as(now)).map(|known| known.head.clone())
    }

    /// Caches the result of a read that started at `read`.
    pub(super) fn remember(&self, key_hash: &str, scorer: ScorerId, head: CachedKey, read: CacheStamp) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|known| {
            known.read.is_as_good_as(read) && (known.scorer != scorer || known.key_hash != key_hash)
        });
        if all.len() < MOST {
            all.push(CachedEntry { key_hash: key_hash.to_owned(), scorer, head, read });
        }
    }
}

#[cfg(test)]
mod tests {
    use pyxis_core::decimal::Decimal;
    use pyxis_core::entropy::SeededEntropy;
    use pyxis_core::id::{ApiKeyId, WorkspaceId};

    use super::*;

    fn head(revision: i64) -> CachedKey {
        let entropy = SeededEntropy::new(1);
        let key = KeyHead {
            id: ApiKeyId::new(&entropy),
            workspace_id: WorkspaceId::new(UnixMillis(0), &entropy),
            stamps_tier: 1,
            stamps_limit: None,
            can_read: true,
            can_read_history: false,
        };
        CachedKey {
            key,
            scorer: Some(ScorerHead { revision, threshold: Decimal::ZERO, next_change_at: None }),
        }
    }

    #[test]
    fn a_head_is_good_for_a_millisecond_and_until_this_process_commits() {
        let (heads, scorer) = (KeyCache::default(), "1".parse().unwrap());
        let began = Instant::now();
        let moment = |commits, micros| CacheStamp { commits, at: began + Duration::from_micros(micros) };
        let revision =
            |now| heads.find("a", scorer, now).map(|head| head.scorer.map(|scorer| scorer.revision));
        heads.remember("a", scorer, head(7), moment(5, 100));
        for now in [moment(5, 0), moment(5, 100), moment(5, 1099)] {
            assert_eq!(revision(now), Some(Some(7)));
        }
        for now in [moment(5, 1100), moment(6, 100), moment(4, 100)] {
            assert_eq!(revision(now), None);
        }
        assert_eq!(heads.find("b", scorer, moment(5, 100)), None);
        assert_eq!(heads.find("a", "2".parse().unwrap(), moment(5, 100)), None);
        heads.remember("a", scorer, head(8), moment(6, 200));
        assert_eq!(revision(moment(6, 300)), Some(Some(8)));
    }

    #[test]
    fn a_few_are_remembered_and_room_is_made_for_new_ones() {
        let (heads, scorer) = (KeyCache::default(), "1".parse().unwrap());
        let read = CacheStamp { commits: 1, at: Instant::now() };
        let key = |number: usize| number.to_string();
        for number in 0..2 * MOST {
            heads.remember(&key(number), scorer, head(1), read);
        }
        assert!(
            (0..2 * MOST).all(|number| heads.find(&key(number), scorer, read).is_some() == (number < MOST))
        );
        let later = CacheStamp { at: read.at + KEPT, ..read };
        heads.remember(&key(MOST), scorer, head(1), later);
        assert!(heads.find(&key(MOST), scorer, later).is_some());
        assert_eq!(heads.0.lock().unwrap().len(), 1);
    }
}
