//! Scores as they were returned to clients (`docs/reference/behavior/scoring.md#history`).

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{ScorerId, WorkspaceId};

use crate::db::{FromRow, Row, sql};
use crate::scorers::own_scorer;
use crate::{Engine, Executor, StoreError};

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

/// The latest record of each of these addresses computed by a moment, in its stored form. At most a few thousand at once.
pub async fn latest_of_many(
    executor: impl Executor,
    workspace: WorkspaceId,
    scorer: ScorerId,
    addresses: &[EvmAddress],
    moment: UnixMillis,
) -> Result<Vec<(EvmAddress, String)>, StoreError> {
    if addresses.is_empty() {
        return Ok(Vec::new());
    }
    let engine = executor.engine();
    let query = sql(concat!(
        "SELECT address, body FROM score_history WHERE scorer_id = ",
        own_scorer!(),
        " AND computed_at = (SELECT max(later.computed_at) FROM score_history later \
           WHERE later.scorer_id = score_history.scorer_id AND later.address = score_history.address \
             AND later.computed_at <= $3)"
    ));
    let query = query.bind(workspace).bind(scorer).bind(moment).and_in(engine, "address", addresses);
    executor.all(query).await
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
    .append(" ORDER BY address")
    .limit(limit);
    executor.all(query).await
}

/// Scores of a day that changed how many addresses pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DayChange {
    /// Days since 1970-01-01 UTC.
    pub day: i64,
    /// Addresses that were answered for the first time.
    pub joined: i64,
    /// Addresses that pass now and did not before, minus those that no longer pass.
    pub passing: i64,
}

impl FromRow for DayChange {
    const TABLE: &'static str = "score_history";

    fn from_row(row: &mut Row<'_>) -> Result<Self, StoreError> {
        Ok(Self { day: row.take("day")?, joined: row.take("joined")?, passing: row.take("passing")? })
    }
}

/// 1 if a stored record passes, otherwise 0: its fifth word, or a member of a record from when they were JSON.
const PASSING_POSTGRES: &str = "CASE WHEN body LIKE '{%' \
    THEN CASE WHEN body LIKE '%\"passing_score\":true%' THEN 1 ELSE 0 END \
    ELSE CASE WHEN split_part(body, ' ', 5) LIKE '1%' THEN 1 ELSE 0 END END";
/// The same with the functions of SQLite: each level leaves out a word.
const PASSING_SQLITE: &str = "CASE WHEN body LIKE '{%' \
    THEN CASE WHEN body LIKE '%\"passing_score\":true%' THEN 1 ELSE 0 END \
    ELSE (SELECT substr(d, instr(d, ' ') + 1, 1) = '1' FROM \
         (SELECT substr(c, instr(c, ' ') + 1) AS d FROM \
         (SELECT substr(b, instr(b, ' ') + 1) AS c FROM \
         (SELECT substr(body, instr(body, ' ') + 1) AS b)))) END";

/// Changes of each day on which scores of a scorer were answered, oldest first: of all scores, or of those computed
/// before a time.
pub async fn changes_by_day(
    executor: impl Executor,
    workspace: WorkspaceId,
    scorer: ScorerId,
    before: Option<UnixMillis>,
) -> Result<Vec<DayChange>, StoreError> {
    let passing = match executor.engine() {
        Engine::Sqlite => PASSING_SQLITE,
        Engine::Postgres => PASSING_POSTGRES,
    };
    let query = sql("SELECT day, CAST(sum(joined) AS BIGINT), CAST(sum(changed) AS BIGINT) FROM (\
         SELECT day, CASE WHEN previous IS NULL THEN 1 ELSE 0 END AS joined, \
         passing - COALESCE(previous, 0) AS changed FROM (\
         SELECT day, passing, lag(passing) OVER (PARTITION BY address ORDER BY computed_at) AS previous FROM (\
         SELECT address, computed_at, computed_at / 86400000 AS day, ")
    .append(passing)
    .append(" AS passing FROM score_history WHERE scorer_id = ")
    .append(own_scorer!())
    .bind(workspace)
    .bind(scorer)
    .push_if(" AND computed_at < ?", before)
    .append(") AS records) AS pairs) AS changes GROUP BY day ORDER BY day");
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
