//! The single read behind a score request.

use pyxis_core::address::EvmAddress;
use pyxis_core::id::ScorerId;
use tokio::time::Instant;

use super::key_cache::{CacheStamp, CachedKey, KeyHead, ScorerHead};
use super::{Stored, in_place_query, stored_query};
use crate::db::{FromRow, Row, SqlQuery, sql};
use crate::{Engine, Executor, Store, StoreError};

/// Data for a score request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// Key of the request.
    pub key: KeyHead,
    /// The scorer; `None` if the key's workspace has no scorer with this number.
    pub scorer: Option<ScorerHead>,
    /// The stored score, if any.
    pub stored: Option<Stored>,
}

impl FromRow for Lookup {
    const TABLE: &'static str = "api_keys";

    fn from_row(row: &mut Row<'_>) -> Result<Self, StoreError> {
        let key = KeyHead {
            id: row.take("id")?,
            workspace_id: row.take("workspace_id")?,
            stamps_tier: row.take("stamps_tier")?,
            stamps_limit: row.take("stamps_limit")?,
            can_read: row.take("can_read")?,
            can_read_history: row.take("can_read_history")?,
        };
        let revision: Option<_> = row.take("revision")?;
        let threshold: Option<_> = row.take("threshold")?;
        let next_change_at = row.take("next_change_at")?;
        let scorer = revision.zip(threshold);
        let scorer = scorer.map(|(revision, threshold)| ScorerHead { revision, threshold, next_change_at });
        let computed_at: Option<_> = row.take("computed_at")?;
        let stored = computed_at.map(|computed_at| {
            Ok::<_, StoreError>(Stored {
                computed_at,
                valid_until: row.take("valid_until")?,
                revision: row.take("revision")?,
                stale: row.take("stale")?,
                in_history: row.take("in_history")?,
                body: row.take("body")?,
            })
        });
        Ok(Self { key, scorer, stored: stored.transpose()? })
    }
}

/// Looks up a key by hash, unless it is unknown or revoked, with the scorer and the stored score in its workspace. One
/// statement with three index reads, or only that of the score if the others are cached. Lags commits of other
/// processes by at most two milliseconds.
pub async fn look_up(
    store: &Store,
    key_hash: &str,
    scorer_id: ScorerId,
    address: EvmAddress,
) -> Result<Option<Lookup>, StoreError> {
    let now = CacheStamp { commits: store.backend().commits(), at: Instant::now() };
    if let Some(CachedKey { key, scorer }) = store.key_cache().find(key_hash, scorer_id, now) {
        let stored = match scorer {
            Some(_) => read_stored(store, scorer_id, address).await?,
            None => None,
        };
        // If another process has already scored with terms that are new here, both are read again.
        let revision = scorer.map(|scorer| scorer.revision);
        if stored.as_ref().is_none_or(|stored| Some(stored.revision) == revision) {
            return Ok(Some(Lookup { key, scorer, stored }));
        }
    }
    let found: Option<Lookup> = store.optional(query(key_hash, scorer_id, address)).await?;
    if let Some(Lookup { key, scorer, .. }) = &found {
        store.key_cache().remember(key_hash, scorer_id, CachedKey { key: key.clone(), scorer: *scorer }, now);
    }
    Ok(found)
}

async fn read_stored(
    store: &Store,
    scorer: ScorerId,
    address: EvmAddress,
) -> Result<Option<Stored>, StoreError> {
    if store.engine() == Engine::Sqlite {
        let found: Option<Stored> = store.optional(in_place_query(scorer, address).relaxed()).await?;
        if found.is_some() {
            return Ok(found);
        }
    }
    store.optional(stored_query(scorer, address).relaxed()).await
}

pub(crate) fn query(key_hash: &str, scorer: ScorerId, address: EvmAddress) -> SqlQuery {
    sql("SELECT k.id, k.workspace_id, k.stamps_tier, k.stamps_limit, k.can_read, k.can_read_history, \
         s.revision, s.threshold, s.next_change_at, c.computed_at, c.valid_until, c.revision, c.stale, c.in_history, c.body \
         FROM api_keys k \
         LEFT JOIN scorers s ON s.workspace_id = k.workspace_id AND s.id = $1 AND s.revision > 0 \
         LEFT JOIN scores c ON c.scorer_id = s.id AND c.address = $2 \
         WHERE k.key_hash = $3 AND k.revoked_at IS NULL")
    .bind(scorer)
    .bind(address)
    .bind(key_hash)
    .relaxed()
}
