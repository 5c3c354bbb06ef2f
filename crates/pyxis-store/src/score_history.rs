//! Scores as they were returned to clients (`docs/reference/behavior/scoring.md#history`).

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{ScorerId, WorkspaceId};

use crate::db::sql;
use crate::scorers::own_scorer;
use crate::{Executor, StoreError};

/// Adds a score record in its stored form. Replaces one computed at the same time.
pub async fn insert(
    executor: impl Executor,
    workspace: WorkspaceId,
    scorer: ScorerId,
    address: EvmAddress,
    computed_at: UnixMillis,
    body: &str,
) -> Result<(), StoreError> {
    let query = sql("INSERT INTO score_history (scorer_id, address, computed_at, workspace_id, body) \
         VALUES ($1, $2, $3, $4, $5) \
         ON CONFLICT (scorer_id, address, computed_at) DO UPDATE SET body = excluded.body")
    .bind(scorer)
    .bind(address)
    .bind(computed_at)
    .bind(workspace)
    .bind(body);
    executor.execute(query).await.map(|_| ())
}

/// The latest score record computed before a time, in its stored form.
pub async fn latest_before(
    executor: impl Executor,
    workspace: WorkspaceId,
    scorer: ScorerId,
    address: EvmAddress,
    before: UnixMillis,
) -> Result<Option<String>, StoreError> {
    let query = sql("SELECT body FROM score_history WHERE workspace_id = $1 AND scorer_id = $2 \
         AND address = $3 AND computed_at < $4 ORDER BY computed_at DESC LIMIT 1");
    let found = executor.optional(query.bind(workspace).bind(scorer).bind(address).bind(before)).await?;
    Ok(found.map(|(body,)| body))
}

/// The latest record of each address computed before a time, in its stored form: in address order, after a given
/// address.
pub async fn page_before(
    executor: impl Executor,
    workspace: WorkspaceId,
    scorer: ScorerId,
    before: UnixMillis,
    after: Option<EvmAddress>,
    limit: u32,
) -> Result<Vec<(EvmAddress, String)>, StoreError> {
    let query = sql(concat!(
        "SELECT address, body FROM score_history WHERE scorer_id = ",
        own_scorer!(),
        " AND computed_at = (SELECT max(later.computed_at) FROM score_history later \
           WHERE later.scorer_id = score_history.scorer_id AND later.address = score_history.address \
             AND later.computed_at < $3)"
    ))
    .bind(workspace)
    .bind(scorer)
    .bind(before)
    .push_if(" AND address > ?", after)
    .then(" ORDER BY address")
    .limit(limit);
    executor.all(query).await
}

/// Records of an address computed before a time, newest first, in their stored form.
pub async fn newest_before(
    executor: impl Executor,
    workspace: WorkspaceId,
    scorer: ScorerId,
    address: EvmAddress,
    before: UnixMillis,
    limit: u32,
) -> Result<Vec<(UnixMillis, String)>, StoreError> {
    let query = sql(concat!(
        "SELECT computed_at, body FROM score_history WHERE scorer_id = ",
        own_scorer!(),
        " AND address = $3 AND computed_at < $4 ORDER BY computed_at DESC"
    ));
    executor.all(query.bind(workspace).bind(scorer).bind(address).bind(before).limit(limit)).await
}
