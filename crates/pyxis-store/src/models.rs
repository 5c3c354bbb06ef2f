//! Trained models, counts of served scores, and suspected groups.

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{ApiKeyId, WorkspaceId};

use crate::db::{Bind, FromRow, Row, Rows, sql};
use crate::{Executor, Store, StoreError, Tx};

/// Data for a model score request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookup {
    pub key: ApiKeyId,
    /// Workspace of the key.
    pub workspace_id: WorkspaceId,
    /// Tier of the models endpoint.
    pub models_tier: i64,
    /// Individual limit for the models endpoint, in requests per window.
    pub models_limit: Option<i64>,
    /// True if the key may read scores.
    pub can_read: bool,
    /// Active model revision; `None` if none was ever installed.
    pub revision: Option<i64>,
    /// Encoded features of the wallet, if any.
    pub features: Option<Vec<u8>>,
}

impl FromRow for Lookup {
    const TABLE: &'static str = "api_keys";

    fn from_row(row: &mut Row<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            key: row.take("id")?,
            workspace_id: row.take("workspace_id")?,
            models_tier: row.take("models_tier")?,
            models_limit: row.take("models_limit")?,
            can_read: row.take("can_read")?,
            revision: row.take("revision")?,
            features: row.take("features")?,
        })
    }
}

/// Looks up a key by hash, unless unknown or revoked, with the active models and the features of the wallet. One
/// statement. A missing address is treated like one without data.
pub async fn look_up(
    executor: impl Executor,
    key_hash: &str,
    address: Option<EvmAddress>,
) -> Result<Option<Lookup>, StoreError> {
    let query = sql("SELECT k.id, k.workspace_id, k.models_tier, k.models_limit, k.can_read, \
         (SELECT max(revision) FROM model_bundles), w.features FROM api_keys k \
         LEFT JOIN activity_wallets w ON w.address = $1 \
         WHERE k.key_hash = $2 AND k.revoked_at IS NULL");
    executor.optional(query.bind(address).bind(key_hash)).await
}

/// Activates models in place of a revision (`None`: none was ever installed). Returns the new revision, or `None` if
/// another one is active by now.
pub async fn install(
    store: &Store,
    after: Option<i64>,
    fingerprint: &str,
    data: Vec<u8>,
    now: UnixMillis,
) -> Result<Option<i64>, StoreError> {
    // Revisions are never reused or removed, so the next one is either free or taken.
    let query = sql("INSERT INTO model_bundles (revision, fingerprint, installed_at, data) \
         VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING RETURNING revision");
    let query = query.bind(after.unwrap_or(0) + 1).bind(fingerprint).bind(now).bind(data);
    let installed: Vec<(i64,)> = store.returning(query).await?;
    Ok(installed.first().map(|(revision,)| *revision))
}

/// Uninstalls the models by activating a revision without data, which stands for the built-in models. Returns true if
/// there was anything to uninstall.
pub async fn uninstall(store: &Store, now: UnixMillis) -> Result<bool, StoreError> {
    let mut tx = store.begin().await?;
    let query = sql("UPDATE model_bundles SET data = $1 WHERE length(data) > 0").bind(Vec::<u8>::new());
    if tx.execute(query).await? == 0 {
        return Ok(false);
    }
    let query = sql("INSERT INTO model_bundles (revision, fingerprint, installed_at, data) \
         VALUES ((SELECT max(revision) + 1 FROM model_bundles), $1, $2, $3)");
    tx.execute(query.bind("").bind(now).bind(Vec::<u8>::new())).await?;
    tx.commit().await?;
    Ok(true)
}

/// Active revision, if any was installed.
pub async fn revision(executor: impl Executor) -> Result<Option<i64>, StoreError> {
    let found: Option<(Option<i64>,)> =
        executor.optional(sql("SELECT max(revision) FROM model_bundles")).await?;
    Ok(found.and_then(|(revision,)| revision))
}

/// Models of a revision. No bytes mean the built-in models.
pub async fn bundle(executor: impl Executor, revision: i64) -> Result<Option<Vec<u8>>, StoreError> {
    let query = sql("SELECT data FROM model_bundles WHERE revision = $1").bind(revision);
    let found: Vec<(Vec<u8>,)> = executor.all(query).await?;
    Ok(found.into_iter().next().map(|(data,)| data))
}

/// Adds to the counts of served scores: model, bucket, number.
pub async fn count_serves(
    executor: impl Executor,
    serves: &[(&'static str, i64, i64)],
) -> Result<u64, StoreError> {
    let row =
        |(model, bucket, served): &(&'static str, i64, i64)| vec![model.bind(), bucket.bind(), served.bind()];
    let rows: Rows = serves.iter().map(row).collect();
    executor
        .execute_each(
            "INSERT INTO model_serves AS s (model, bucket, served) VALUES ($1, $2, $3) \
             ON CONFLICT (model, bucket) DO UPDATE SET served = s.served + excluded.served"
                .into(),
            rows,
        )
        .await
}

/// Counts of served scores: model, bucket, number.
pub async fn serves(executor: impl Executor) -> Result<Vec<(String, i64, i64)>, StoreError> {
    executor.all(sql("SELECT model, bucket, served FROM model_serves ORDER BY model, bucket")).await
}

/// A suspected group to store.
#[derive(Clone, Debug)]
pub struct NewGroup {
    /// The group as JSON.
    pub document: String,
    /// All members, encoded by the caller.
    pub members: Vec<u8>,
    /// Transfers between them, encoded by the caller.
    pub links: Vec<u8>,
}

/// A stored group with its members and links; `None` if an earlier release stored it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupRow {
    /// Position, from 1.
    pub position: i64,
    /// The group as JSON.
    pub document: String,
    /// All members.
    pub members: Option<Vec<u8>>,
    /// Transfers between them.
    pub links: Option<Vec<u8>>,
}

impl FromRow for GroupRow {
    const TABLE: &'static str = "suspect_groups";

    fn from_row(row: &mut Row<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            position: row.take("position")?,
            document: row.take("document")?,
            members: row.take("members")?,
            links: row.take("links")?,
        })
    }
}

/// Replaces the suspected groups, in order.
pub async fn replace_groups(tx: &mut Tx, groups: Vec<NewGroup>) -> Result<(), StoreError> {
    tx.execute(sql("DELETE FROM suspect_groups")).await?;
    let row = |(position, group): (i64, NewGroup)| {
        vec![position.bind(), group.document.bind(), group.members.bind(), group.links.bind()]
    };
    let rows: Rows = (1..).zip(groups).map(row).collect();
    let text = "INSERT INTO suspect_groups (position, document, members, links) VALUES ($1, $2, $3, $4)";
    tx.execute_each(text.into(), rows).await?;
    Ok(())
}

/// The first suspected group from a position on, with all its members.
pub async fn next_group(executor: impl Executor, from: i64) -> Result<Option<GroupRow>, StoreError> {
    let query = sql("SELECT position, document, members, links FROM suspect_groups WHERE position >= $1 \
         ORDER BY position LIMIT 1");
    Ok(executor.all(query.bind(from)).await?.pop())
}

/// Suspected groups from a position on: position and document.
pub async fn groups(
    executor: impl Executor,
    from: i64,
    limit: i64,
) -> Result<Vec<(i64, String)>, StoreError> {
    let query =
        sql("SELECT position, document FROM suspect_groups WHERE position >= $1 ORDER BY position LIMIT $2");
    executor.all(query.bind(from).bind(limit)).await
}
