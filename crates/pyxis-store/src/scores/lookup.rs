//! The one read of a request for a score.

use pyxis_core::address::EvmAddress;
use pyxis_core::id::{ApiKeyId, ScorerId, WorkspaceId};

use super::{Stored, stored_query};
use crate::db::sqlite::readers::Memo;
use crate::db::{Backend, FromRow, Query, Row, sql};
use crate::{Executor, Store, StoreError};

/// What a key may do, as far as a request for a score asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyHead {
    /// The key.
    pub id: ApiKeyId,
    /// Its workspace.
    pub workspace_id: WorkspaceId,
    /// Tier of the Stamps endpoints.
    pub stamps_tier: i64,
    /// Limit of its own.
    pub stamps_limit: Option<i64>,
    /// Whether it reads scores and Stamps.
    pub can_read: bool,
    /// Whether it reads history.
    pub can_read_history: bool,
}

/// What a request for a score needs to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// The key.
    pub key: KeyHead,
    /// The scorer's revision; `None` if the key's workspace has no such scorer.
    pub revision: Option<i64>,
    /// The stored score.
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
        let revision = row.take("revision")?;
        let computed_at: Option<_> = row.take("computed_at")?;
        let stored = computed_at.map(|computed_at| {
            Ok(Stored {
                computed_at,
                valid_until: row.take("valid_until")?,
                revision: row.take("revision")?,
                stale: row.take("stale")?,
                in_history: row.take("in_history")?,
                body: row.take("body")?,
            })
        });
        Ok(Self { key, revision, stored: stored.transpose()? })
    }
}

/// The key of a hash, unless it is unknown or revoked, and through its workspace the scorer and the
/// stored score: one statement, three index reads. On SQLite the first two are done once for all requests that a busy
/// thread answers from one state of the database. It lies behind what other processes commit by a millisecond at most.
pub async fn look_up(
    store: &Store,
    key_hash: &str,
    scorer: ScorerId,
    address: EvmAddress,
) -> Result<Option<Lookup>, StoreError> {
    let Backend::Sqlite(database) = store.backend() else {
        return store.optional(query(key_hash, scorer, address)).await;
    };
    database.readers().read_relaxed(|session, memo| {
        let known =
            heads(memo.as_deref()).iter().find(|head| (&*head.key_hash, head.scorer) == (key_hash, scorer));
        let Some(head) = known else {
            let found = session.optional(&query(key_hash, scorer, address))?;
            if let (Some(memo), Some(found)) = (memo, &found) {
                remember(memo, key_hash, scorer, found);
            }
            return Ok(found);
        };
        let stored = match head.revision {
            Some(_) => session.optional(&stored_query(scorer, address))?,
            None => None,
        };
        Ok(Some(Lookup { key: head.key.clone(), revision: head.revision, stored }))
    })
}

/// What requests with one key for one scorer have in common.
struct Head {
    key_hash: String,
    scorer: ScorerId,
    key: KeyHead,
    revision: Option<i64>,
}

/// More are not remembered: to search them would take as long as to read.
const HEADS: usize = 8;

fn heads(memo: Option<&Memo>) -> &[Head] {
    memo.and_then(Option::as_ref).and_then(|memo| memo.downcast_ref::<Vec<Head>>()).map_or(&[], Vec::as_slice)
}

fn remember(memo: &mut Memo, key_hash: &str, scorer: ScorerId, found: &Lookup) {
    let heads = memo.get_or_insert_with(|| Box::new(Vec::<Head>::new()));
    if let Some(heads) = heads.downcast_mut::<Vec<Head>>().filter(|heads| heads.len() < HEADS) {
        let (key, revision) = (found.key.clone(), found.revision);
        heads.push(Head { key_hash: key_hash.to_owned(), scorer, key, revision });
    }
}

pub(crate) fn query(key_hash: &str, scorer: ScorerId, address: EvmAddress) -> Query {
    sql("SELECT k.id, k.workspace_id, k.stamps_tier, k.stamps_limit, k.can_read, k.can_read_history, \
         s.revision, c.computed_at, c.valid_until, c.revision, c.stale, c.in_history, c.body \
         FROM api_keys k \
         LEFT JOIN scorers s ON s.workspace_id = k.workspace_id AND s.id = $1 \
         LEFT JOIN scores c ON c.scorer_id = s.id AND c.address = $2 \
         WHERE k.key_hash = $3 AND k.revoked_at IS NULL")
    .bind(scorer)
    .bind(address)
    .bind(key_hash)
}
