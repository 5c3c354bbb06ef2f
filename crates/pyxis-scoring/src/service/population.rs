//! All scored addresses of a scorer: pages, a table, and a summary. Each reads some rows at a time, so memory does not
//! depend on their number.

mod export;
mod summary;

use pyxis_core::actor::Actor;
use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{ScorerId, WorkspaceId};
use pyxis_store::{Store, score_history, scores};

pub use export::export;
pub use summary::{DayRate, StampShare, Summary, summary};

use super::{Error, Result};
use crate::record::Record;
use crate::scheduled_terms::ScheduledTerms;
use crate::terms_in_force;

#[derive(Clone, Debug)]
pub struct ScoredAddress {
    pub address: EvmAddress,
    /// Score as text, with five decimals.
    pub score: String,
    pub threshold: String,
    pub passing: bool,
    /// Time of the computation.
    pub computed_at: String,
    /// Time at which the first Stamp expires.
    pub expires_at: Option<String>,
    /// True if the score is to be computed again.
    pub outdated: bool,
    /// Note about Stamps that do not count.
    pub error: Option<String>,
    /// Stamps that make up the score: name, points, true if another address counts with it, and expiry.
    pub stamps: Vec<ScoredStamp>,
}

/// A Stamp of a score.
#[derive(Clone, Debug)]
pub struct ScoredStamp {
    pub name: String,
    pub score: String,
    pub dedup: bool,
    pub expires_at: String,
}

/// A scorer's population: as its scores stand, or as they were answered before a moment.
#[derive(Clone)]
pub struct Population {
    store: Store,
    workspace: WorkspaceId,
    scorer: ScorerId,
    revision: i64,
    now: UnixMillis,
    at: Option<UnixMillis>,
}

impl Population {
    /// The population of a scorer. `at` must be over.
    pub async fn load(
        store: &Store,
        now: UnixMillis,
        actor: &Actor,
        scorer: ScorerId,
        at: Option<UnixMillis>,
    ) -> Result<Self> {
        let workspace = actor.workspace;
        if at.is_some_and(|at| at > now) {
            return Err(Error::field("at", "a moment that is over; leave it out for now"));
        }
        let terms = terms_in_force::find(store, workspace, scorer, now).await?;
        let revision = terms.ok_or_else(|| Error::not_found("scorer"))?.revision;
        Ok(Self { store: store.clone(), workspace, scorer, revision, now, at })
    }

    /// Scored addresses in order, after a given one.
    pub async fn page(&self, after: Option<EvmAddress>, limit: u32) -> Result<Vec<ScoredAddress>> {
        let Self { store, workspace, scorer, .. } = self;
        match self.at {
            None => {
                let page = scores::page(store, *workspace, *scorer, after, limit).await?;
                let line = |found: scores::StoredOf| {
                    let outdated = !found.stored.is_fresh(self.revision, self.now);
                    let record = Record::from_stored(found.address, found.stored.body);
                    let passing = record.as_ref().map(|record| record.passing_score);
                    scored(found.address, record, passing, outdated)
                };
                page.into_iter().map(line).collect()
            }
            Some(at) => {
                // The change of the moment itself comes after every answer before it.
                let by = UnixMillis(at.0 - 1);
                let terms = ScheduledTerms::by(store, *workspace, *scorer, by).await?;
                let page = score_history::page_before(store, *workspace, *scorer, at, after, limit).await?;
                let line = |(address, stored)| {
                    let record = Record::from_stored(address, stored);
                    let record = record.and_then(|record| record.with_terms(&terms));
                    let passing = record.as_ref().and_then(|record| record.passes_at(at));
                    scored(address, record, passing, false)
                };
                page.into_iter().map(line).collect()
            }
        }
    }
}

fn scored(
    address: EvmAddress,
    record: Option<Record>,
    passing: Option<bool>,
    outdated: bool,
) -> Result<ScoredAddress> {
    let (Some(record), Some(passing)) = (record, passing) else {
        return Err(Error::internal(format!("the stored score of {address} is damaged; recompute it")));
    };
    let stamps = record.stamps.into_iter().map(|(name, stamp)| ScoredStamp {
        name,
        score: stamp.score,
        dedup: stamp.dedup,
        expires_at: stamp.expiration_date,
    });
    Ok(ScoredAddress {
        address,
        score: record.score,
        threshold: record.threshold,
        passing,
        computed_at: record.last_score_timestamp,
        expires_at: record.expiration_timestamp,
        outdated,
        error: record.error,
        stamps: stamps.collect(),
    })
}
