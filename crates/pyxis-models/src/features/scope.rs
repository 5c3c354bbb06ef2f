//! Features of the transfers in one scope.

use std::num::NonZeroU32;

use super::count;
use crate::graph::Node;
use crate::scope::{Chain, Kind};

/// A transfer from the wallet's point of view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScopedTransfer {
    pub chain: Chain,
    pub kind: Kind,
    /// The other end; `None` for a transfer to oneself.
    pub party: Option<Node>,
    /// True if the wallet sent it.
    pub outgoing: bool,
    /// Unix seconds.
    pub time: Option<NonZeroU32>,
    /// True for a round amount.
    pub round: Option<bool>,
}

/// Names and plain words, in the order of [`measure`].
///
/// The *popularity* of an address is the logarithm (natural, of one more) of the number of distinct addresses it
/// exchanged anything with, on all chains.
pub const NAMES: [(&str, &str); 28] = [
    ("out_transfers", "transfers sent"),
    ("in_transfers", "transfers received"),
    ("out_parties", "addresses sent to"),
    ("in_parties", "addresses received from"),
    ("parties", "different counterparties"),
    ("mutual_parties", "counterparties in both directions"),
    ("out_popularity_mean", "mean popularity of receivers"),
    ("out_popularity_max", "popularity of the most popular receiver"),
    ("out_popularity_min", "popularity of the least popular receiver"),
    ("in_popularity_mean", "mean popularity of senders"),
    ("in_popularity_max", "popularity of the most popular sender"),
    ("in_popularity_min", "popularity of the least popular sender"),
    ("out_quiet_share", "share of receivers with few other counterparties"),
    ("in_quiet_share", "share of senders with few other counterparties"),
    ("out_hub_share", "share of receivers with very many counterparties"),
    ("in_hub_share", "share of senders with very many counterparties"),
    ("repeat_share", "share of transfers with a repeat counterparty"),
    ("token_share", "share of transfers that move tokens"),
    ("nft_share", "share of transfers that move NFTs"),
    ("contract_share", "share of transfers that call a contract"),
    ("round_share", "share of round amounts"),
    ("age_days", "days since the first transfer"),
    ("span_days", "days between the first and the last transfer"),
    ("active_days", "days with a transfer"),
    ("gap_median_hours", "median hours between transfers"),
    ("gap_variation", "variation of the time between transfers"),
    ("burst_share", "share of transfers on the busiest day"),
    ("funder_popularity", "popularity of the first sender"),
];

/// Index of the number of counterparties: the wallet's popularity as its counterparties see it.
pub(super) const PARTIES: usize = super::index_of(&NAMES, "parties");

/// At most this popular (logarithm of 1 + 3 counterparties) is quiet.
const QUIET: f32 = 1.3863;
/// At least this popular (logarithm of 1 + 1,000 counterparties) is a hub.
const HUB: f32 = 6.9087;

/// The numbers of [`NAMES`]. `popularity` gives the number of distinct counterparties of an address, NaN if unknown;
/// `latest` is the moment from which ages are counted, Unix seconds.
pub fn measure(
    events: &[ScopedTransfer],
    popularity: &impl Fn(Node) -> f32,
    latest: Option<u32>,
) -> [f32; NAMES.len()] {
    let outgoing = events.iter().filter(|event| event.outgoing).count();
    let sent_to = parties(events, true);
    let got_from = parties(events, false);
    let mutual = sent_to.iter().filter(|party| got_from.binary_search(party).is_ok()).count();
    let distinct = sent_to.len() + got_from.len() - mutual;
    let (out, into) = (Popularity::compute(&sent_to, popularity), Popularity::compute(&got_from, popularity));
    let share = |wanted: fn(&ScopedTransfer) -> bool| {
        ratio(events.iter().filter(|event| wanted(event)).count(), events.len())
    };
    let known: Vec<bool> = events.iter().filter_map(|event| event.round).collect();
    let timing = Timing::compute(events, latest);
    [
        count(outgoing),
        count(events.len() - outgoing),
        count(sent_to.len()),
        count(got_from.len()),
        count(distinct),
        count(mutual),
        out.mean,
        out.most,
        out.least,
        into.mean,
        into.most,
        into.least,
        out.quiet,
        into.quiet,
        out.hubs,
        into.hubs,
        ratio(events.len().saturating_sub(distinct), events.len()),
        share(|event| event.kind == Kind::Erc20),
        share(|event| event.kind == Kind::Nft),
        share(|event| event.kind == Kind::Call),
        ratio(known.iter().filter(|round| **round).count(), known.len()),
        timing.age_days,
        timing.span_days,
        timing.active_days,
        timing.gap_median_hours,
        timing.gap_variation,
        timing.burst_share,
        funder(events).map_or(f32::NAN, |party| popularity(party).ln_1p()),
    ]
}

/// Distinct counterparties of one direction, in order.
fn parties(events: &[ScopedTransfer], outgoing: bool) -> Vec<Node> {
    let wanted = events.iter().filter(|event| event.outgoing == outgoing);
    let mut parties: Vec<Node> = wanted.filter_map(|event| event.party).collect();
    parties.sort_unstable();
    parties.dedup();
    parties
}

/// The sender of the first incoming transfer, if times are known.
fn funder(events: &[ScopedTransfer]) -> Option<Node> {
    let came = events.iter().filter(|event| !event.outgoing && event.time.is_some());
    came.min_by_key(|event| event.time)?.party
}

/// A share; NaN if the whole is zero.
#[expect(clippy::cast_precision_loss, reason = "a share needs no more than seven digits")]
fn ratio(part: usize, whole: usize) -> f32 {
    if whole == 0 { f32::NAN } else { part as f32 / whole as f32 }
}

struct Popularity {
    mean: f32,
    most: f32,
    least: f32,
    quiet: f32,
    hubs: f32,
}

impl Popularity {
    fn compute(parties: &[Node], popularity: &impl Fn(Node) -> f32) -> Self {
        let known: Vec<f32> =
            parties.iter().map(|party| popularity(*party).ln_1p()).filter(|log| !log.is_nan()).collect();
        Self {
            mean: if known.is_empty() { f32::NAN } else { known.iter().sum::<f32>() / count(known.len()) },
            most: known.iter().copied().fold(f32::NAN, f32::max),
            least: known.iter().copied().fold(f32::NAN, f32::min),
            quiet: ratio(known.iter().filter(|log| **log <= QUIET).count(), known.len()),
            hubs: ratio(known.iter().filter(|log| **log >= HUB).count(), known.len()),
        }
    }
}

const DAY: u32 = 86_400;

struct Timing {
    age_days: f32,
    span_days: f32,
    active_days: f32,
    gap_median_hours: f32,
    gap_variation: f32,
    burst_share: f32,
}

impl Timing {
    fn compute(events: &[ScopedTransfer], latest: Option<u32>) -> Self {
        let mut times: Vec<u32> = events.iter().filter_map(|event| event.time).map(NonZeroU32::get).collect();
        times.sort_unstable();
        let (Some(&first), Some(&last)) = (times.first(), times.last()) else { return Self::unknown() };
        let days = |seconds: u32| super::to_float(seconds) / super::to_float(DAY);
        let busy: Vec<usize> =
            times.chunk_by(|one, next| one / DAY == next / DAY).map(<[u32]>::len).collect();
        let mut gaps: Vec<f32> =
            times.windows(2).map(|pair| super::to_float(pair[1] - pair[0]) / 3600.0).collect();
        gaps.sort_unstable_by(f32::total_cmp);
        let mean = gaps.iter().sum::<f32>() / count(gaps.len());
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f32>() / count(gaps.len());
        Self {
            age_days: latest.map_or(f32::NAN, |latest| days(latest.saturating_sub(first))),
            span_days: days(last - first),
            active_days: count(busy.len()),
            gap_median_hours: gaps.get(gaps.len() / 2).copied().unwrap_or(f32::NAN),
            gap_variation: if mean > 0.0 { variance.sqrt() / mean } else { f32::NAN },
            burst_share: ratio(busy.iter().copied().max().unwrap_or(0), times.len()),
        }
    }

    const fn unknown() -> Self {
        Self {
            age_days: f32::NAN,
            span_days: f32::NAN,
            active_days: f32::NAN,
            gap_median_hours: f32::NAN,
            gap_variation: f32::NAN,
            burst_share: f32::NAN,
        }
    }
}
