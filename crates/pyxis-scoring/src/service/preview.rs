//! Preview of other terms: scores of a sample of stored addresses under current and proposed terms. Nothing is written.

use std::collections::{BTreeMap, HashMap};

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::decimal::Decimal;
use pyxis_core::id::{ScorerId, WorkspaceId};
use pyxis_core::score::{Claim, Input, ScoreResult, Stamp, Weights, compute, weights_for};
use pyxis_core::stamp::Nullifier;
use pyxis_store::scorers::Terms;
use pyxis_store::{Store, addresses, claims, nullifier_sets, scorer_changes, stamps};

use super::scorers::{ScheduledChange, check_weights};
use super::{Error, Result};

/// Maximum number of addresses in a sample.
pub const SAMPLE: u32 = 1000;
/// Addresses read at once.
const CHUNK: usize = 100;
/// Approximate number of buckets in a histogram.
const BUCKETS: i64 = 20;

/// Other terms to try.
#[derive(Clone, Debug, Default)]
pub struct Proposal {
    /// The score needed to pass; `None`: unchanged.
    pub threshold: Option<Decimal>,
    /// Each Stamp's weight; `None`: unchanged.
    pub weights: Option<Weights>,
    /// True if credentials that exist today keep a weight that is lowered, until they expire.
    pub keep_until_expiry: bool,
}

/// Effect of a proposal on the sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// The scorer's revision behind `before`.
    pub revision: i64,
    /// Changes that wait for their moment.
    pub scheduled: Vec<ScheduledChange>,
    /// Addresses in the sample: all there are, at most [`SAMPLE`].
    pub sampled: u32,
    /// Addresses that pass today.
    pub passing_before: u32,
    /// Addresses that would pass.
    pub passing_after: u32,
    /// Addresses that do not pass today, but would.
    pub gained: u32,
    /// Addresses that pass today, but would not.
    pub lost: u32,
    /// Scores, lowest first, without gaps; empty for an empty sample.
    pub histogram: Vec<Bucket>,
}

/// Addresses with a score in `from..to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Lowest score.
    pub from: Decimal,
    /// The lowest score of the next bucket.
    pub to: Decimal,
    /// Addresses today.
    pub before: u32,
    /// Addresses under the proposal.
    pub after: u32,
}

/// Scores a sample of the addresses that ever had a Stamp, under the scorer's terms and under the proposal.
pub async fn preview(
    store: &Store,
    workspace: WorkspaceId,
    id: ScorerId,
    proposal: Proposal,
    now: UnixMillis,
) -> Result<Preview> {
    let before = scorer_changes::read_terms_at(store, workspace, id, now).await?;
    let before = before.ok_or(Error::not_found("scorer"))?;
    if let Some(weights) = &proposal.weights {
        check_weights(weights)?;
    }
    let changes = scorer_changes::list(store, workspace, id).await?;
    let waits = |change: &ScheduledChange| change.applied_at.is_none() && change.effective_from > now;
    let scheduled: Vec<_> = changes.into_iter().filter(waits).collect();
    let keeps_from = proposal.keep_until_expiry.then_some(now);
    let after = before.clone().changed(proposal.threshold, proposal.weights, keeps_from);
    let addresses = addresses::sample(store, workspace, SAMPLE).await?;
    let mut pairs = Vec::with_capacity(addresses.len());
    let mut held = HashMap::new();
    for chunk in addresses.chunks(CHUNK) {
        let (stamps, stored) = read(store, workspace, id, chunk, now).await?;
        for claim in stored {
            held.entry(claim.nullifier.clone()).or_insert(claim);
        }
        for address in chunk {
            let own = stamps.get(address).map_or(&[][..], Vec::as_slice);
            pairs.push(both(*address, own, &mut held, [&before, &after], now));
        }
    }
    Ok(Preview { scheduled, ..summary(before.revision, &pairs) })
}

/// The score of an address before and after. Its claims count against later addresses, as if each were scored in turn.
/// Claims do not depend on the terms.
fn both(
    address: EvmAddress,
    stamps: &[Stamp],
    held: &mut HashMap<Nullifier, Claim>,
    terms: [&Terms; 2],
    now: UnixMillis,
) -> (ScoreResult, ScoreResult) {
    let claims = claims_on(stamps, held);
    let [before, after] = terms.map(|Terms { weights, threshold, kept, .. }| {
        let weights = &weights_for(weights, kept, stamps);
        compute(&Input { address, stamps, claims: &claims, weights, threshold: *threshold, now })
    });
    held.extend(before.claims.iter().map(|claim| (claim.nullifier.clone(), claim.clone())));
    (before, after)
}

/// Live Stamps of some addresses, named by their sets of nullifiers, and the claims on these.
async fn read(
    store: &Store,
    workspace: WorkspaceId,
    scorer: ScorerId,
    addresses: &[EvmAddress],
    now: UnixMillis,
) -> Result<(BTreeMap<EvmAddress, Vec<Stamp>>, Vec<Claim>)> {
    let rows = stamps::live_of_many(store, workspace, addresses, now).await?;
    let listed = || rows.iter().flat_map(|row| &row.nullifiers);
    let sets = nullifier_sets::read(store, workspace, listed().collect()).await?;
    let held = claims::list_for(store, workspace, scorer, &sets.names(listed())).await?;
    let mut stamps: BTreeMap<EvmAddress, Vec<Stamp>> = BTreeMap::new();
    for row in rows {
        stamps.entry(row.address).or_default().push(sets.with_set_names(row.into()));
    }
    Ok((stamps, held))
}

fn claims_on(stamps: &[Stamp], held: &HashMap<Nullifier, Claim>) -> Vec<Claim> {
    let mut nullifiers: Vec<&Nullifier> = stamps.iter().flat_map(|stamp| &stamp.nullifiers).collect();
    nullifiers.sort_unstable();
    nullifiers.dedup();
    nullifiers.into_iter().filter_map(|nullifier| held.get(nullifier)).cloned().collect()
}

fn summary(revision: i64, pairs: &[(ScoreResult, ScoreResult)]) -> Preview {
    let count = |wanted: fn(bool, bool) -> bool| {
        let found = pairs.iter().filter(|(before, after)| wanted(before.passing, after.passing));
        u32::try_from(found.count()).unwrap_or(u32::MAX)
    };
    Preview {
        revision,
        scheduled: Vec::new(),
        sampled: count(|_, _| true),
        passing_before: count(|before, _| before),
        passing_after: count(|_, after| after),
        gained: count(|before, after| !before && after),
        lost: count(|before, after| before && !after),
        histogram: histogram(pairs),
    }
}

fn histogram(pairs: &[(ScoreResult, ScoreResult)]) -> Vec<Bucket> {
    let highest = pairs.iter().map(|(before, after)| before.score.max(after.score)).max();
    let Some(highest) = highest else { return Vec::new() };
    let width = width(highest);
    let mut buckets: Vec<Bucket> = (0..=highest.units() / width)
        .map(|number| Bucket {
            from: Decimal::from_units(number * width),
            to: Decimal::from_units((number + 1) * width),
            before: 0,
            after: 0,
        })
        .collect();
    let place = |score: Decimal| usize::try_from(score.units() / width).unwrap_or(0);
    for (before, after) in pairs {
        buckets[place(before.score)].before += 1;
        buckets[place(after.score)].after += 1;
    }
    buckets
}

/// The width of a bucket in hundred-thousandths: 1, 2 or 5 followed by zeros, so that the edges read well.
fn width(highest: Decimal) -> i64 {
    let least = (highest.units() / BUCKETS).max(1);
    let mut unit = 1;
    loop {
        for step in [1, 2, 5] {
            if unit * step >= least {
                return unit * step;
            }
        }
        unit *= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compute_scores(score: &str, passing: bool) -> ScoreResult {
        ScoreResult {
            score: score.parse().unwrap(),
            passing,
            expires_at: None,
            valid_until: UnixMillis(i64::MAX),
            stamps: Vec::new(),
            claims: Vec::new(),
        }
    }

    #[test]
    fn every_score_is_in_the_one_bucket_that_spans_it() {
        let pairs = [
            (compute_scores("0", false), compute_scores("35.76600", true)),
            (compute_scores("19.99999", false), compute_scores("20", true)),
            (compute_scores("20", true), compute_scores("0", false)),
        ];
        let preview = summary(1, &pairs);
        assert_eq!((preview.sampled, preview.passing_before, preview.passing_after), (3, 1, 2));
        assert_eq!((preview.gained, preview.lost), (2, 1));
        let buckets = &preview.histogram;
        assert_eq!(buckets.len(), 18);
        assert_eq!(
            (buckets[0].from.to_string(), buckets[0].to.to_string()),
            ("0.00000".into(), "2.00000".into())
        );
        let full: Vec<_> = buckets.iter().filter(|bucket| bucket.before + bucket.after > 0).collect();
        let counts: Vec<_> = full.iter().map(|b| (b.from.to_string(), b.before, b.after)).collect();
        let expected = [("0.00000", 1, 1), ("18.00000", 1, 0), ("20.00000", 1, 1), ("34.00000", 0, 1)];
        assert_eq!(counts, expected.map(|(from, before, after)| (from.to_owned(), before, after)));
    }

    #[test]
    fn an_empty_sample_has_no_buckets_and_one_of_noughts_has_one() {
        assert!(summary(1, &[]).histogram.is_empty());
        assert_eq!(histogram(&[(compute_scores("0", false), compute_scores("0", false))]).len(), 1);
        let large = compute_scores("9999999.99999", true);
        assert!(histogram(&[(large.clone(), large)]).len() <= 22);
    }
}
