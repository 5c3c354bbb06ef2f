//! Scores as voting power, at a moment (`docs/reference/behavior/verification.md#score-strategy`). Only scorers that the
//! operator opened to votes answer here, and each of their scores becomes history when it is computed.

use std::collections::HashMap;

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::decimal::Decimal;
use pyxis_core::id::ScorerId;
use pyxis_store::scorers::ScorerRow;
use pyxis_store::{Store, addresses, score_history, scores};

use crate::batch_scores::{self, Purpose};
use crate::dated_record::{DatedRecord, DatedScore};
use crate::error::{Error, Result};
use crate::scheduled_terms::ScheduledTerms;
use crate::state::State;
use crate::terms_in_force;

/// A voter's score at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VoteScore {
    pub score: Decimal,
    /// True if the scorer's own threshold was reached.
    pub passes: bool,
    /// True if the address had a Stamp. Without one it passes nowhere.
    pub has_stamps: bool,
}

/// Reason that a voter's score at a moment is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownScore {
    /// The address had a Stamp by then, but the scorer had not scored it.
    NotRecorded,
    /// A stored Stamp could not be read, so the score was computed only in part.
    Partial,
}

/// Scores of voters, with each score that is unknown.
#[derive(Debug, Default)]
pub struct VoteScores {
    pub known: HashMap<EvmAddress, VoteScore>,
    /// In address order.
    pub unknown: Vec<(EvmAddress, UnknownScore)>,
}

const NOTHING: VoteScore = VoteScore { score: Decimal::ZERO, passes: false, has_stamps: false };

impl VoteScores {
    fn add(&mut self, address: EvmAddress, standing: DatedScore) {
        let DatedScore { score, passes, has_stamps, partial } = standing;
        if partial {
            self.unknown.push((address, UnknownScore::Partial));
        } else {
            self.known.insert(address, VoteScore { score, passes, has_stamps });
        }
    }
}

/// Reads the scores of voters in a scorer that is open to votes. Without a moment they are the current ones, computed if
/// necessary. With one they are the last that were computed by then, under the terms that were scheduled by then. So
/// the answer about a moment never changes. `None` if no such scorer is open.
pub async fn scores(
    state: &State,
    scorer: ScorerId,
    voters: &[EvmAddress],
    moment: Option<UnixMillis>,
) -> Result<Option<VoteScores>> {
    if !state.db.is_open_to_votes(scorer) {
        return Ok(None);
    }
    let Some(scorer) = terms_in_force::find_anywhere(&state.store, scorer, state.now()).await? else {
        return Ok(None);
    };
    let mut voters = voters.to_vec();
    voters.sort_unstable();
    voters.dedup();
    let mut found = match moment {
        None => current(state, &scorer, &voters).await?,
        Some(moment) => recorded(&state.store, &scorer, &voters, moment).await?,
    };
    found.unknown.sort_unstable_by_key(|(address, _)| *address);
    Ok(Some(found))
}

async fn current(state: &State, scorer: &ScorerRow, voters: &[EvmAddress]) -> Result<VoteScores> {
    let records = batch_scores::records(state, scorer, voters, Purpose::Vote).await?;
    let mut found = VoteScores::default();
    for (address, record) in records {
        found.add(address, DatedRecord::of_answer(&record).map_err(Error::Internal)?.as_computed());
    }
    Ok(found)
}

async fn recorded(
    store: &Store,
    scorer: &ScorerRow,
    voters: &[EvmAddress],
    moment: UnixMillis,
) -> Result<VoteScores> {
    let workspace = scorer.workspace_id;
    record(store, scorer, voters, moment).await?;
    let terms = ScheduledTerms::by(store, workspace, scorer.id, moment).await?;
    let mut found = VoteScores::default();
    for (address, stored) in
        score_history::latest_of_many(store, workspace, scorer.id, voters, moment).await?
    {
        let standing = DatedRecord::of_stored(address, stored).map_err(Error::Internal)?.at(moment, &terms);
        found.add(address, standing.ok_or_else(|| Error::Internal("not a score record".into()))?);
    }
    let mut unscored = voters.to_vec();
    unscored.retain(|address| !found.known.contains_key(address));
    unscored.retain(|address| !found.unknown.iter().any(|(unknown, _)| unknown == address));
    let held = addresses::known_by(store, workspace, &unscored, moment).await?;
    for address in unscored {
        if held.contains(&address) {
            found.unknown.push((address, UnknownScore::NotRecorded));
        } else {
            // It never had a Stamp by then.
            found.known.insert(address, NOTHING);
        }
    }
    Ok(found)
}

/// Makes stored scores history that were computed by a moment, before the scorer was opened to votes. So they last.
async fn record(store: &Store, scorer: &ScorerRow, voters: &[EvmAddress], moment: UnixMillis) -> Result<()> {
    let workspace = scorer.workspace_id;
    let stored = scores::of_many(store, workspace, scorer.id, voters).await?;
    let unrecorded =
        stored.iter().filter(|found| !found.stored.in_history && found.stored.computed_at <= moment);
    let unrecorded: Vec<EvmAddress> = unrecorded.map(|found| found.address).collect();
    if unrecorded.is_empty() {
        return Ok(());
    }
    Ok(scores::mark_many_in_history(store, workspace, scorer.id, &unrecorded, moment).await?)
}
