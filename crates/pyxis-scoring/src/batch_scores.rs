//! Current scores of many addresses in few reads.

use std::collections::HashMap;

use pyxis_core::address::EvmAddress;
use pyxis_core::score::stored_to_json;
use pyxis_store::scorers::ScorerRow;
use pyxis_store::scores::ScorerHead;
use pyxis_store::{addresses, scores};

use crate::engine::{self, ScoreKey};
use crate::error::Result;
use crate::score_metrics::METRICS;
use crate::state::State;

/// Use of the scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A response that adds nothing to history.
    Read,
    /// A vote, whose scores become history.
    Vote,
}

/// The record of each address: one read for stored ones, the rest (and damaged ones) are computed.
pub(crate) async fn records(
    state: &State,
    scorer: &ScorerRow,
    addresses: &[EvmAddress],
    purpose: Purpose,
) -> Result<HashMap<EvmAddress, String>> {
    let now = state.now();
    let terms: ScorerHead = scorer.into();
    let (workspace, scorer) = (scorer.workspace_id, scorer.id);
    let mut wanted = addresses.to_vec();
    wanted.sort_unstable();
    wanted.dedup();
    let stored = scores::of_many(&state.store, workspace, scorer, &wanted).await?;
    let fresh: Vec<_> =
        stored.into_iter().filter(|found| found.stored.is_fresh(terms.revision, now)).collect();
    if purpose == Purpose::Vote {
        let new = fresh.iter().filter(|found| !found.stored.in_history);
        let new: Vec<EvmAddress> = new.map(|found| found.address).collect();
        scores::mark_many_in_history(&state.store, workspace, scorer, &new, now).await?;
    }
    let mut records: HashMap<EvmAddress, String> = fresh
        .into_iter()
        .filter_map(|found| Some((found.address, stored_to_json(found.address, found.stored.body).ok()?)))
        .collect();
    METRICS.stored.increment(records.len() as u64);
    wanted.retain(|address| !records.contains_key(address));
    METRICS.computed.increment(wanted.len() as u64);
    let known = addresses::filter_known(&state.store, workspace, &wanted).await?;
    for address in wanted {
        let computed = if known.contains(&address) {
            let place = ScoreKey { workspace, scorer, address };
            engine::score(&state.db, place, now, purpose == Purpose::Vote).await?
        } else {
            None
        };
        let record = computed.unwrap_or_else(|| engine::score_without_stamps(address, terms.threshold, now));
        records.insert(address, record);
    }
    Ok(records)
}
