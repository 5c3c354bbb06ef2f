//! Scores of the addresses of a chunk.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use futures_util::{StreamExt, stream};
use pyxis_core::address::EvmAddress;
use pyxis_core::clock::Clock;
use pyxis_core::id::{ScorerId, WorkspaceId};
use pyxis_core::score::stored_to_json;
use pyxis_models::bundle::Scores;
use pyxis_models::scope::Model;
use pyxis_store::{Store, activity, addresses, scores};

use super::membership::Membership;
use super::rows::{RowOutcome, RowScore};
use crate::engine::{self, ScoreKey};
use crate::error::{Error, Result};
use crate::models::{ActiveModels, ActivitySource, SourceError, parallel, read};
use crate::record::Record;
use crate::state::State;
use crate::terms_in_force;

/// Scores computed at once. On SQLite they share commits.
const COMPUTED_AT_ONCE: usize = 32;
/// Lookups at indexers at once; their rate limit bounds the requests.
const LOOKED_UP_AT_ONCE: usize = 16;

/// Everything that all chunks of a run have in common.
pub(super) struct Context {
    pub(super) workspace: WorkspaceId,
    pub(super) scorer: ScorerId,
    pub(super) models: Arc<ActiveModels>,
    pub(super) membership: Membership,
}

/// Record and model scores of one address, or the reason of its failure.
type Each<T> = HashMap<EvmAddress, Result<T, String>>;

/// Scores every address. An error is that of the whole chunk: nothing can be said about its rows.
pub(super) async fn score(
    state: &State,
    context: &Context,
    wanted: &[EvmAddress],
) -> Result<HashMap<EvmAddress, RowOutcome>> {
    let mut wanted = wanted.to_vec();
    wanted.sort_unstable();
    wanted.dedup();
    if wanted.is_empty() {
        return Ok(HashMap::new());
    }
    let mut records = records(state, context, &wanted).await?;
    let mut models = model_scores(state, context, &wanted).await?;
    let missing = || "the server returned no result".to_owned();
    let outcome = |address: EvmAddress| {
        let record = records.remove(&address).unwrap_or_else(|| Err(missing()));
        let models = models.remove(&address).unwrap_or_else(|| Err(missing()));
        let outcome = match (record, models) {
            (Ok(record), Ok(models)) => RowOutcome::Scored(Box::new(RowScore {
                record,
                models,
                cluster: context.membership.get(address).cloned(),
            })),
            (Err(why), _) | (_, Err(why)) => RowOutcome::Failed(why),
        };
        (address, outcome)
    };
    Ok(wanted.into_iter().map(outcome).collect())
}

/// The score record of each address: stored ones are read together, the others computed.
async fn records(state: &State, context: &Context, wanted: &[EvmAddress]) -> Result<Each<Record>> {
    let Context { workspace, scorer, .. } = *context;
    let now = state.now();
    let terms = terms_in_force::find(&state.store, workspace, scorer, now).await?.ok_or(Error::NoScorer)?;
    let stored = scores::of_many(&state.store, workspace, scorer, wanted).await?;
    let fresh = stored.into_iter().filter(|found| found.stored.is_fresh(terms.revision, now));
    let mut records: Each<Record> = fresh
        .filter_map(|found| {
            Some((found.address, parse(&stored_to_json(found.address, found.stored.body).ok()?)))
        })
        .collect();
    let left: Vec<EvmAddress> =
        wanted.iter().copied().filter(|address| !records.contains_key(address)).collect();
    let known: HashSet<EvmAddress> =
        addresses::filter_known(&state.store, workspace, &left).await?.into_iter().collect();
    let compute = |address: EvmAddress| {
        let is_known = known.contains(&address);
        async move {
            let place = ScoreKey { workspace, scorer, address };
            let computed =
                if is_known { engine::score(&state.db, place, now, false).await } else { Ok(None) };
            (address, computed)
        }
    };
    let mut computing = stream::iter(left).map(compute).buffer_unordered(COMPUTED_AT_ONCE);
    while let Some((address, computed)) = computing.next().await {
        let body = match computed {
            Ok(Some(body)) => Ok(body),
            Ok(None) => Ok(engine::score_without_stamps(address, terms.threshold, now)),
            Err(error) => Err(of_row(address, error)?),
        };
        records.insert(address, body.and_then(|body| parse(&body)));
    }
    Ok(records)
}

fn parse(body: &str) -> Result<Record, String> {
    Record::from_json(body).ok_or_else(|| "its stored score is damaged; recompute it".to_owned())
}

/// The failure of one row, or the error if it is not about this row.
fn of_row(address: EvmAddress, error: Error) -> Result<String> {
    match error {
        Error::Busy => Ok("others kept changing its Stamps; run it again".to_owned()),
        Error::ScoreTooLarge => Ok("the score exceeds the largest one".to_owned()),
        Error::Internal(cause) => {
            tracing::error!(%address, error = %cause, "cannot score an address of a job");
            Ok("internal error; the server's log has the cause".to_owned())
        }
        other => Err(other),
    }
}

/// The model scores of each address.
async fn model_scores(
    state: &State,
    context: &Context,
    wanted: &[EvmAddress],
) -> Result<Each<BTreeMap<String, f64>>> {
    match state.activity() {
        Some(source) => looked_up(&*state.clock, context, source, wanted).await,
        None => imported(&state.store, context, wanted).await,
    }
}

/// The same from imported activity, on all cores.
async fn imported(
    store: &Store,
    context: &Context,
    wanted: &[EvmAddress],
) -> Result<Each<BTreeMap<String, f64>>> {
    let rows = activity::wallets(store, wanted).await?;
    let models = Arc::clone(&context.models);
    let scored = tokio::task::spawn_blocking(move || {
        parallel(&rows, |row| {
            let features = read(row.address, &row.features);
            let scores = features.and_then(|features| models.bundle.scores(&features));
            (row.address, scores.map(|scores| by_name(&scores)).map_err(|error| error.to_string()))
        })
    });
    let scored = scored.await.map_err(|error| Error::Internal(error.into()))?;
    let mut all: Each<BTreeMap<String, f64>> =
        wanted.iter().map(|address| (*address, Ok(BTreeMap::new()))).collect();
    all.extend(scored);
    Ok(all)
}

/// The same with activity from an indexer.
async fn looked_up(
    clock: &dyn Clock,
    context: &Context,
    source: &dyn ActivitySource,
    wanted: &[EvmAddress],
) -> Result<Each<BTreeMap<String, f64>>> {
    let look =
        |address: EvmAddress| async move { (address, source.fetch_features(address, clock.now()).await) };
    let mut looking = stream::iter(wanted.iter().copied()).map(look).buffer_unordered(LOOKED_UP_AT_ONCE);
    let mut all = HashMap::with_capacity(wanted.len());
    while let Some((address, found)) = looking.next().await {
        let scores = match found {
            Ok(None) => Ok(BTreeMap::new()),
            Ok(Some(features)) => {
                let scores = context.models.bundle.scores(&features);
                scores.map(|scores| by_name(&scores)).map_err(|error| error.to_string())
            }
            Err(SourceError::Store(error)) => return Err(error.into()),
            Err(SourceError::Damaged(error)) => Err(error.to_string()),
            Err(error @ SourceError::Indexer { chain, .. }) => {
                tracing::debug!(chain, %error, "an indexer failed for an address of a job");
                Err(format!("the indexer of {chain} does not respond; run it again later"))
            }
        };
        all.insert(address, scores);
    }
    Ok(all)
}

fn by_name(scores: &Scores) -> BTreeMap<String, f64> {
    let named = |model: &Model| Some((model.as_str().to_owned(), scores.get(*model)?));
    Model::ALL.iter().filter_map(named).collect()
}
