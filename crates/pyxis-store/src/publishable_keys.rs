//! Publishable keys: API keys that stand in pages, for one scorer and some origins
//! (`docs/reference/widget.md#publishable-keys`).
//!
//! The key's `api_keys` row has no permission, so a program that does not know this table refuses the key everywhere.

use std::collections::BTreeMap;

use pyxis_core::id::{ApiKeyId, ScorerId, WorkspaceId};

use crate::db::sql;
use crate::{Executor, StoreError, Tx};

/// Restrictions of a publishable key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishableKey {
    pub scorer: ScorerId,
    /// Origins of the pages, in alphabetical order.
    pub origins: Vec<String>,
}

/// A live publishable key, as the widget's routes need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublishableHead {
    pub id: ApiKeyId,
    pub workspace: WorkspaceId,
    /// Tier of the Stamps endpoints.
    pub stamps_tier: i64,
    /// Individual limit for the Stamps endpoints, in requests per window.
    pub stamps_limit: Option<i64>,
    /// The one scorer.
    pub scorer: ScorerId,
}

/// Makes an API key, which was just inserted, a publishable one.
pub async fn insert(
    tx: &mut Tx,
    workspace: WorkspaceId,
    id: ApiKeyId,
    key: &PublishableKey,
) -> Result<(), StoreError> {
    let query =
        sql("INSERT INTO publishable_keys (api_key_id, workspace_id, scorer_id) VALUES ($1, $2, $3) \
         ON CONFLICT DO NOTHING");
    crate::db::insert(&mut *tx, query.bind(id).bind(workspace).bind(key.scorer)).await?;
    insert_origins(tx, id, &key.origins).await
}

async fn insert_origins(tx: &mut Tx, id: ApiKeyId, origins: &[String]) -> Result<(), StoreError> {
    for origin in origins {
        let query = sql("INSERT INTO publishable_origins (origin, api_key_id) VALUES ($1, $2) \
             ON CONFLICT DO NOTHING");
        (&mut *tx).execute(query.bind(origin).bind(id)).await?;
    }
    Ok(())
}

/// Replaces the origins. Nonces and sessions of pages that are no longer listed stop working at once, because each
/// request is checked against the list.
pub async fn replace_origins(tx: &mut Tx, id: ApiKeyId, origins: &[String]) -> Result<(), StoreError> {
    (&mut *tx).execute(sql("DELETE FROM publishable_origins WHERE api_key_id = $1").bind(id)).await?;
    insert_origins(tx, id, origins).await
}

/// The live key with this hash, if it is a publishable one.
pub async fn find_live(
    executor: impl Executor,
    key_hash: &str,
) -> Result<Option<PublishableHead>, StoreError> {
    let query = sql("SELECT api_keys.id, api_keys.workspace_id, stamps_tier, stamps_limit, scorer_id \
         FROM api_keys JOIN publishable_keys ON publishable_keys.api_key_id = api_keys.id \
         WHERE key_hash = $1 AND revoked_at IS NULL");
    Ok(executor.optional(query.bind(key_hash)).await?.map(head))
}

/// The oldest live key of a scorer that lists one of these spellings of an origin.
pub async fn find_live_of(
    executor: impl Executor,
    scorer: ScorerId,
    spellings: [&str; 2],
) -> Result<Option<PublishableHead>, StoreError> {
    let [exact, pattern] = spellings;
    let query = sql("SELECT api_keys.id, api_keys.workspace_id, stamps_tier, stamps_limit, scorer_id \
         FROM publishable_origins JOIN publishable_keys ON publishable_keys.api_key_id = publishable_origins.api_key_id \
         JOIN api_keys ON api_keys.id = publishable_keys.api_key_id \
         WHERE origin IN ($1, $2) AND scorer_id = $3 AND revoked_at IS NULL \
         ORDER BY api_keys.created_at, api_keys.id LIMIT 1");
    let query = query.bind(exact).bind(pattern).bind(scorer);
    Ok(executor.optional(query).await?.map(head))
}

/// Columns of a head, in their order.
type HeadRow = (ApiKeyId, WorkspaceId, i64, Option<i64>, ScorerId);

fn head((id, workspace, stamps_tier, stamps_limit, scorer): HeadRow) -> PublishableHead {
    PublishableHead { id, workspace, stamps_tier, stamps_limit, scorer }
}

/// True if the key lists one of these spellings of an origin.
pub async fn allows_origin(
    executor: impl Executor,
    id: ApiKeyId,
    spellings: [&str; 2],
) -> Result<bool, StoreError> {
    let [exact, pattern] = spellings;
    let query = sql("SELECT count(*) FROM publishable_origins WHERE api_key_id = $1 AND origin IN ($2, $3)");
    let found: Option<(i64,)> = executor.optional(query.bind(id).bind(exact).bind(pattern)).await?;
    Ok(found.is_some_and(|(count,)| count > 0))
}

/// True if any live key lists one of these spellings of an origin.
pub async fn is_known_origin(executor: impl Executor, spellings: [&str; 2]) -> Result<bool, StoreError> {
    let [exact, pattern] = spellings;
    let query = sql("SELECT count(*) FROM publishable_origins JOIN api_keys ON api_keys.id = api_key_id \
         WHERE origin IN ($1, $2) AND revoked_at IS NULL");
    let found: Option<(i64,)> = executor.optional(query.bind(exact).bind(pattern)).await?;
    Ok(found.is_some_and(|(count,)| count > 0))
}

/// Publishable keys of a workspace, revoked or not.
pub async fn list(
    executor: impl Executor,
    workspace: WorkspaceId,
) -> Result<BTreeMap<ApiKeyId, PublishableKey>, StoreError> {
    let query = sql("SELECT publishable_keys.api_key_id, scorer_id, origin FROM publishable_keys \
         LEFT JOIN publishable_origins ON publishable_origins.api_key_id = publishable_keys.api_key_id \
         WHERE workspace_id = $1 ORDER BY publishable_keys.api_key_id, origin");
    let rows: Vec<(ApiKeyId, ScorerId, Option<String>)> = executor.all(query.bind(workspace)).await?;
    let mut keys = BTreeMap::new();
    for (id, scorer, origin) in rows {
        let key = keys.entry(id).or_insert_with(|| PublishableKey { scorer, origins: Vec::new() });
        key.origins.extend(origin);
    }
    Ok(keys)
}

/// Restrictions of one key; `None` if it is not a publishable one.
pub async fn find(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: ApiKeyId,
) -> Result<Option<PublishableKey>, StoreError> {
    let query = sql("SELECT scorer_id, origin FROM publishable_keys LEFT JOIN publishable_origins \
         ON publishable_origins.api_key_id = publishable_keys.api_key_id \
         WHERE workspace_id = $1 AND publishable_keys.api_key_id = $2 ORDER BY origin");
    let rows: Vec<(ScorerId, Option<String>)> = executor.all(query.bind(workspace).bind(id)).await?;
    let Some((scorer, _)) = rows.first() else { return Ok(None) };
    let scorer = *scorer;
    Ok(Some(PublishableKey { scorer, origins: rows.into_iter().filter_map(|(_, origin)| origin).collect() }))
}
