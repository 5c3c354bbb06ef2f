//! Stored scores: the latest one of each address in each scorer, in response form
//! (`docs/reference/behavior/scoring.md#score-record`).

mod key_cache;
mod lookup;
mod rowid_hint;
mod stale;

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::decimal::Decimal;
use pyxis_core::id::{ScorerId, WorkspaceId};

use crate::db::{Bind, FromRow, Row, Rows, SqlQuery, row, sql};
use crate::scorers::own_scorer;
use crate::{Engine, Executor, Store, StoreError, Tx};

pub(crate) use key_cache::KeyCache;
pub use key_cache::{KeyHead, ScorerHead};
#[cfg(test)]
pub(crate) use lookup::query as lookup_query;
pub use lookup::{Lookup, look_up};
pub(crate) use rowid_hint::SETTLE;
pub use stale::{StaleProgress, addresses, count, progress, stale};

row! {
    pub Stored: "scores", stored_columns {
        /// Time of the computation.
        computed_at: UnixMillis,
        /// Time at which the score changes without any other event.
        valid_until: UnixMillis,
        /// Scorer revision that it was computed with.
        revision: i64,
        /// True if anything else that it depends on has changed.
        stale: bool,
        /// True if it was returned to a client, and so belongs to history.
        in_history: bool,
        /// The score record in stored form ([`pyxis_core::score::stored_to_json`]).
        body: String,
    }
}

/// Scores that one transaction adds to history.
const MARKED_AT_ONCE: usize = 200;

impl Stored {
    /// True if this score is still current in a scorer at `revision`.
    pub fn is_fresh(&self, revision: i64, now: UnixMillis) -> bool {
        !self.stale && now < self.valid_until && self.revision == revision
    }
}

macro_rules! stored {
    ($more:literal) => {
        concat!("SELECT ", stored_columns!(), " FROM scores WHERE scorer_id = $1 AND address = $2", $more)
    };
}

/// Query of the score in a scorer that is known to belong to the workspace.
pub(crate) fn stored_query(scorer: ScorerId, address: EvmAddress) -> SqlQuery {
    sql(stored!("")).bind(scorer).bind(address)
}

/// SQLite query of the score, if it is at its hinted place.
pub(crate) fn in_place_query(scorer: ScorerId, address: EvmAddress) -> SqlQuery {
    sql(stored!(" AND rowid = $3")).bind(scorer).bind(address).bind(rowid_hint::rowid_hint(scorer, address))
}

/// A score to store.
#[derive(Clone, Debug)]
pub struct NewScore {
    /// Number of the scorer.
    pub scorer: ScorerId,
    /// Scored address.
    pub address: EvmAddress,
    /// Computed score.
    pub score: Decimal,
    /// Time of the computation.
    pub computed_at: UnixMillis,
    /// Time at which the score changes without any other event.
    pub valid_until: UnixMillis,
    /// Scorer revision that it was computed with.
    pub revision: i64,
    /// True if it is about to be returned to a client. The caller must add its history row in the same transaction.
    pub in_history: bool,
    /// The score record in stored form ([`pyxis_core::score::Record::to_stored`]).
    pub body: String,
}

macro_rules! put {
    ($column:literal, $value:literal) => {
        concat!(
            "INSERT INTO scores (scorer_id, address, workspace_id, score, computed_at, valid_until, revision, \
             stale, in_history, body",
            $column,
            ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10",
            $value,
            ") ON CONFLICT (scorer_id, address) DO UPDATE SET score = excluded.score, \
             computed_at = excluded.computed_at, valid_until = excluded.valid_until, \
             revision = excluded.revision, stale = excluded.stale, in_history = excluded.in_history, \
             body = excluded.body"
        )
    };
}

const PUT: &str = put!("", "");
/// If the place is taken by another row, SQLite chooses one.
const PUT_IN_PLACE: &str =
    put!(", rowid", ", CASE WHEN EXISTS (SELECT 1 FROM scores WHERE rowid = $11) THEN NULL ELSE $11 END");

/// Stores a score and replaces the previous one. The address must be locked (see [`crate::addresses`]).
pub async fn put(executor: impl Executor, workspace: WorkspaceId, new: &NewScore) -> Result<(), StoreError> {
    let sqlite = executor.engine() == Engine::Sqlite;
    let query = sql(if sqlite { PUT_IN_PLACE } else { PUT })
        .bind(new.scorer)
        .bind(new.address)
        .bind(workspace)
        .bind(new.score)
        .bind(new.computed_at)
        .bind(new.valid_until)
        .bind(new.revision)
        .bind(false)
        .bind(new.in_history)
        .bind(&new.body);
    let query = if sqlite { query.bind(rowid_hint::rowid_hint(new.scorer, new.address)) } else { query };
    executor.execute(query).await.map(|_| ())
}

/// The stored score, if it is current at this time under the scorer's current terms.
pub async fn fresh(
    executor: impl Executor,
    workspace: WorkspaceId,
    scorer: ScorerId,
    address: EvmAddress,
    now: UnixMillis,
) -> Result<Option<Stored>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        stored_columns!(),
        " FROM scores WHERE scorer_id = ",
        own_scorer!(),
        " AND address = $3 AND valid_until > $4 AND stale = $5 \
         AND revision = (SELECT revision FROM scorers WHERE id = scorer_id \
         AND (next_change_at IS NULL OR next_change_at > $4))"
    ));
    executor.optional(query.bind(workspace).bind(scorer).bind(address).bind(now).bind(false)).await
}

/// Adds a stored score to history, unless it is already there or another score has replaced it. Returns true if this
/// call added it.
pub async fn mark_in_history(
    store: &Store,
    workspace: WorkspaceId,
    scorer: ScorerId,
    address: EvmAddress,
    computed_at: UnixMillis,
) -> Result<bool, StoreError> {
    match store.execute_all(make_history(workspace, scorer, address, computed_at)).await {
        Ok(touched) => Ok(touched.first() == Some(&1)),
        // The scorer was removed meanwhile, and the score with it.
        Err(StoreError::Reference) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Adds the stored scores of these addresses that were computed by a moment to history, unless they are already there.
pub async fn mark_many_in_history(
    store: &Store,
    workspace: WorkspaceId,
    scorer: ScorerId,
    addresses: &[EvmAddress],
    moment: UnixMillis,
) -> Result<(), StoreError> {
    // In address order, so that two requests cannot deadlock.
    let mut addresses = addresses.to_vec();
    addresses.sort_unstable();
    let engine = store.engine();
    for part in addresses.chunks(MARKED_AT_ONCE) {
        let found =
            sql("SELECT address, computed_at FROM scores WHERE workspace_id = $1 AND scorer_id = $2 \
             AND computed_at <= $3 AND in_history = $4")
            .bind(workspace)
            .bind(scorer)
            .bind(moment)
            .bind(false)
            .and_in(engine, "address", part)
            .append(" ORDER BY address");
        let found: Vec<(EvmAddress, UnixMillis)> = store.all(found).await?;
        let queries: Vec<SqlQuery> = found
            .into_iter()
            .flat_map(|(address, computed_at)| make_history(workspace, scorer, address, computed_at))
            .collect();
        if queries.is_empty() {
            continue;
        }
        match store.execute_all(queries).await {
            // The scorer was removed meanwhile, and its scores with it.
            Ok(_) | Err(StoreError::Reference) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Like [`mark_in_history`], for a score whose address is locked.
pub async fn mark_locked_in_history(
    tx: &mut Tx,
    workspace: WorkspaceId,
    scorer: ScorerId,
    address: EvmAddress,
    computed_at: UnixMillis,
) -> Result<(), StoreError> {
    for query in make_history(workspace, scorer, address, computed_at) {
        tx.execute(query).await?;
    }
    Ok(())
}

/// Callers that replace a score also write both tables, the score first. Of two scores computed at the same time, the
/// later one is in history, as in [`crate::score_history::insert`].
fn make_history(
    workspace: WorkspaceId,
    scorer: ScorerId,
    address: EvmAddress,
    computed_at: UnixMillis,
) -> Vec<SqlQuery> {
    let mark = sql("UPDATE scores SET in_history = $1 WHERE workspace_id = $2 AND scorer_id = $3 \
         AND address = $4 AND computed_at = $5 AND in_history = $6");
    let keep = sql("INSERT INTO score_history (scorer_id, address, computed_at, workspace_id, body) \
         SELECT scorer_id, address, computed_at, workspace_id, body FROM scores WHERE workspace_id = $1 \
         AND scorer_id = $2 AND address = $3 AND computed_at = $4 AND in_history = $5 \
         ON CONFLICT (scorer_id, address, computed_at) DO UPDATE SET body = excluded.body");
    let mark = mark.bind(true).bind(workspace).bind(scorer).bind(address).bind(computed_at).bind(false);
    let keep = keep.bind(workspace).bind(scorer).bind(address).bind(computed_at).bind(true);
    vec![mark, keep]
}

/// Marks the scores of the given addresses in a scorer as stale, because something that they depend on changed.
pub async fn mark_stale(
    tx: &mut Tx,
    workspace: WorkspaceId,
    scorer: ScorerId,
    addresses: &[EvmAddress],
) -> Result<(), StoreError> {
    // In address order, so that two transactions cannot deadlock.
    let mut addresses = addresses.to_vec();
    addresses.sort_unstable();
    let row = |address: &EvmAddress| {
        vec![true.bind(), workspace.bind(), scorer.bind(), address.bind(), false.bind()]
    };
    let rows: Rows = addresses.iter().map(row).collect();
    tx.execute_each(
        "UPDATE scores SET stale = $1 WHERE workspace_id = $2 AND scorer_id = $3 AND address = $4 \
         AND stale = $5"
            .into(),
        rows,
    )
    .await?;
    Ok(())
}

/// Scorers that have scored an address.
pub async fn scorers_of(
    executor: impl Executor,
    workspace: WorkspaceId,
    address: EvmAddress,
) -> Result<Vec<ScorerId>, StoreError> {
    let query =
        sql("SELECT scorer_id FROM scores WHERE workspace_id = $1 AND address = $2 ORDER BY scorer_id");
    let found = executor.all(query.bind(workspace).bind(address)).await?;
    Ok(found.into_iter().map(|(scorer,)| scorer).collect())
}

/// A stored score with its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredOf {
    /// Scored address.
    pub address: EvmAddress,
    /// Score of the address.
    pub stored: Stored,
}

impl FromRow for StoredOf {
    const TABLE: &'static str = "scores";

    fn from_row(row: &mut Row<'_>) -> Result<Self, StoreError> {
        Ok(Self { address: row.take("address")?, stored: Stored::from_row(row)? })
    }
}

/// Stored scores of a scorer, in address order, after a given address.
pub async fn page(
    executor: impl Executor,
    workspace: WorkspaceId,
    scorer: ScorerId,
    after: Option<EvmAddress>,
    limit: u32,
) -> Result<Vec<StoredOf>, StoreError> {
    let query =
        sql(concat!("SELECT address, ", stored_columns!(), " FROM scores WHERE scorer_id = ", own_scorer!()))
            .bind(workspace)
            .bind(scorer)
            .push_if(" AND address > ?", after)
            .append(" ORDER BY address")
            .limit(limit);
    executor.all(query).await
}

/// Stored scores of the given addresses, at most a few thousand, in address order.
pub async fn of_many(
    executor: impl Executor,
    workspace: WorkspaceId,
    scorer: ScorerId,
    addresses: &[EvmAddress],
) -> Result<Vec<StoredOf>, StoreError> {
    if addresses.is_empty() {
        return Ok(Vec::new());
    }
    let engine = executor.engine();
    let query =
        sql(concat!("SELECT address, ", stored_columns!(), " FROM scores WHERE scorer_id = ", own_scorer!()))
            .bind(workspace)
            .bind(scorer)
            .and_in(engine, "address", addresses)
            .append(" ORDER BY address");
    executor.all(query).await
}
