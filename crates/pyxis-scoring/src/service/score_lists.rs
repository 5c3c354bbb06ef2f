//! Lists of the addresses that pass a scorer.

use pyxis_core::actor::Actor;
use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{ScorerId, WorkspaceId};
use pyxis_core::score::stored_to_json;
use pyxis_store::{Store, score_history, scores};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{Error, Result};
use crate::dated_record::DatedRecord;
use crate::engine::{self, ScoreKey};
use crate::merkle::AddressTree;
use crate::scheduled_terms::ScheduledTerms;
use crate::scoring_db::ScoringDb;
use crate::state::State;
use crate::terms_in_force;

/// Addresses read at once.
const PAGE: u32 = 2000;

/// Addresses that pass, as a Merkle tree.
pub struct PassingList {
    /// `None` if no address passes.
    pub tree: Option<AddressTree>,
    /// Moment of the list.
    pub at: UnixMillis,
    /// Addresses left out because their score could be computed only in part.
    pub partial: u64,
}

/// Members of a score record that decide.
#[derive(Deserialize)]
struct RecordSummary {
    passing_score: bool,
    error: Option<IgnoredAny>,
}

/// Addresses found so far.
#[derive(Default)]
struct Listing {
    passing: Vec<EvmAddress>,
    partial: u64,
}

impl Listing {
    fn add(&mut self, address: EvmAddress, passing: bool, partial: bool) {
        if passing && partial {
            self.partial += 1;
        } else if passing {
            self.passing.push(address);
        }
    }
}

/// Lists the addresses that pass. Without `at`, these are the scores as they stand, and stale ones are computed again.
/// With it, they are those of the history, as at that moment.
pub async fn passing(
    state: &State,
    actor: &Actor,
    scorer: ScorerId,
    at: Option<UnixMillis>,
) -> Result<PassingList> {
    let now = state.now();
    if at.is_some_and(|at| at > now) {
        return Err(Error::field("at", "a moment that is over; leave it out for now"));
    }
    let workspace = actor.workspace;
    let terms = terms_in_force::find(&state.store, workspace, scorer, now).await?;
    let revision = terms.ok_or_else(|| Error::not_found("scorer"))?.revision;
    let found = if let Some(at) = at {
        at_moment(&state.store, workspace, scorer, at).await?
    } else {
        let found = now_passing(&state.db, workspace, scorer, revision, now).await?;
        let after = terms_in_force::find(&state.store, workspace, scorer, state.now()).await?;
        if after.is_none_or(|after| after.revision != revision) {
            return Err(Error::Conflict("the scorer's terms changed meanwhile; make the list again"));
        }
        found
    };
    let Listing { passing, partial } = found;
    let tree = tokio::task::spawn_blocking(move || AddressTree::build(passing)).await;
    Ok(PassingList { tree: tree.map_err(Error::internal)?, at: at.unwrap_or(now), partial })
}

async fn now_passing(
    db: &ScoringDb,
    workspace: WorkspaceId,
    scorer: ScorerId,
    revision: i64,
    now: UnixMillis,
) -> Result<Listing> {
    let (mut found, mut after) = (Listing::default(), None);
    loop {
        let page = scores::page(&**db, workspace, scorer, after, PAGE).await?;
        let Some(last) = page.last() else { return Ok(found) };
        after = Some(last.address);
        for scores::StoredOf { address, stored } in page {
            let fresh = stored.is_fresh(revision, now).then(|| stored_to_json(address, stored.body));
            let record = match fresh {
                Some(Ok(record)) => Some(record),
                _ => engine::score(db, ScoreKey { workspace, scorer, address }, now, false).await?,
            };
            if let Some(record) = record {
                let read: RecordSummary = serde_json::from_str(&record).map_err(Error::internal)?;
                found.add(address, read.passing_score, read.error.is_some());
            }
        }
    }
}

async fn at_moment(
    store: &Store,
    workspace: WorkspaceId,
    scorer: ScorerId,
    at: UnixMillis,
) -> Result<Listing> {
    let (mut found, mut after) = (Listing::default(), None);
    let terms = ScheduledTerms::by(store, workspace, scorer, at).await?;
    loop {
        let page = score_history::page_before(store, workspace, scorer, at, after, PAGE).await?;
        let Some((last, _)) = page.last() else { return Ok(found) };
        after = Some(*last);
        for (address, stored) in page {
            let record = DatedRecord::of_stored(address, stored).map_err(Error::internal)?;
            let standing = record.at(at, &terms).ok_or_else(|| Error::internal("not a score record"))?;
            found.add(address, standing.passes, standing.partial);
        }
    }
}
