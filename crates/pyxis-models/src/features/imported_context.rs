//! Combines an indexer's knowledge of a wallet with imported activity.
//!
//! An indexer is queried for whole chains: for these it knows better, and for all other chains the import does. The
//! import has only numbers and no transfers left, so the numbers of all chains together are combined from those of the
//! parts. Counts, sums and extremes are then exact, except that counterparties and days common to two parts count
//! twice. Means are weighted by the quantity that they average over.

use super::scope::{self, PARTIES, ScopedTransfer};
use super::{Features, SCOPE, chains, index_of, to_float, wallet};
use crate::graph::Node;
use crate::scope::{Chain, ChainScope};

type Numbers = [f32; SCOPE];

const OUT: usize = index_of(&scope::NAMES, "out_transfers");
const IN: usize = index_of(&scope::NAMES, "in_transfers");
const OUT_PARTIES: usize = index_of(&scope::NAMES, "out_parties");
const IN_PARTIES: usize = index_of(&scope::NAMES, "in_parties");
const REPEAT: usize = index_of(&scope::NAMES, "repeat_share");
const NFT: usize = index_of(&scope::NAMES, "nft_share");
const AGE: usize = index_of(&scope::NAMES, "age_days");
const SPAN: usize = index_of(&scope::NAMES, "span_days");
const ACTIVE: usize = index_of(&scope::NAMES, "active_days");
const BURST: usize = index_of(&scope::NAMES, "burst_share");
const FUNDER: usize = index_of(&scope::NAMES, "funder_popularity");
const BRIDGED: usize = SCOPE + index_of(&wallet::NAMES, "first_bridge_age_days");
const PEERS: usize = SCOPE + index_of(&wallet::NAMES, "peers");

// Rules for combining the numbers of several parts; all others are means over transfers.
const SUMS: [usize; 6] =
    [OUT, IN, OUT_PARTIES, IN_PARTIES, PARTIES, index_of(&scope::NAMES, "mutual_parties")];
const MOST: [usize; 3] =
    [AGE, index_of(&scope::NAMES, "out_popularity_max"), index_of(&scope::NAMES, "in_popularity_max")];
const LEAST: [usize; 2] =
    [index_of(&scope::NAMES, "out_popularity_min"), index_of(&scope::NAMES, "in_popularity_min")];
/// Means over recipients.
const OF_OUT: [usize; 3] = [
    index_of(&scope::NAMES, "out_popularity_mean"),
    index_of(&scope::NAMES, "out_quiet_share"),
    index_of(&scope::NAMES, "out_hub_share"),
];
/// Means over senders.
const OF_IN: [usize; 3] = [
    index_of(&scope::NAMES, "in_popularity_mean"),
    index_of(&scope::NAMES, "in_quiet_share"),
    index_of(&scope::NAMES, "in_hub_share"),
];

impl Features {
    /// True if a first bridging is known.
    pub fn bridged(&self) -> bool {
        !self.wallet[BRIDGED].is_nan()
    }

    /// True if the wallet's context is known: its counterparties' other dealings, and the wallets that arrived with it.
    pub fn knows_company(&self) -> bool {
        !self.wallet[PEERS].is_nan()
    }

    /// Combines the imported features in `self` with the wallet's transfers on the queried chains; `None` if every
    /// scope has too little activity.
    pub fn with_imported_context(
        &self,
        events: &[ScopedTransfer],
        popularity: &impl Fn(Node) -> f32,
        latest: Option<u32>,
        is_asked: &impl Fn(Chain) -> bool,
    ) -> Option<Self> {
        let found = Self::of_events(events, popularity, latest, self.bridged());
        let found = found.map_or_else(Vec::new, |found| found.scopes);
        let asked = |scope: ChainScope| matches!(scope, ChainScope::Chain(chain) if is_asked(chain));
        let others: Vec<(ChainScope, Numbers)> = self
            .scopes
            .iter()
            .filter(|(scope, _)| *scope != ChainScope::Nft && !asked(*scope))
            .copied()
            .collect();
        let nfts_on_asked: f32 = self
            .scopes
            .iter()
            .filter(|(scope, numbers)| asked(*scope) && transfers(numbers) > 0.0)
            .map(|(_, numbers)| numbers[NFT] * transfers(numbers))
            .sum();
        let nfts = nfts(of_nfts(&found), of_nfts(&self.scopes), nfts_on_asked);
        let mut wallet = self.wallet.clone();
        if !events.is_empty() {
            let own = scope::measure(events, popularity, latest);
            let parts: Vec<&Numbers> =
                std::iter::once(&own).chain(others.iter().map(|(_, numbers)| numbers)).collect();
            wallet[..SCOPE].copy_from_slice(&combine(&parts));
            let more = others.iter().filter(|(_, numbers)| transfers(numbers) > 0.0).count();
            wallet[SCOPE] = to_float(chains(events)) + super::count(more);
        }
        let mut scopes: Vec<(ChainScope, Numbers)> =
            found.into_iter().filter(|(scope, _)| asked(*scope)).collect();
        scopes.extend(others);
        scopes.extend(nfts.map(|numbers| (ChainScope::Nft, numbers)));
        scopes.sort_by_key(|(scope, _)| *scope);
        (!scopes.is_empty()).then_some(Self { wallet, scopes })
    }
}

fn of_nfts(scopes: &[(ChainScope, Numbers)]) -> Option<&Numbers> {
    scopes.iter().find(|(scope, _)| *scope == ChainScope::Nft).map(|(_, numbers)| numbers)
}

/// NFTs on every chain: those imported for the queried chains are also among those found.
fn nfts(found: Option<&Numbers>, local: Option<&Numbers>, on_asked: f32) -> Option<Numbers> {
    let Some(local) = local else { return found.copied() };
    // Counts were computed from shares.
    let elsewhere = transfers(local) - on_asked > 0.5;
    match found {
        None => elsewhere.then_some(*local),
        Some(found) if !elsewhere => Some(*found),
        Some(found) if on_asked < 0.5 => Some(combine(&[found, local])),
        // They overlap by an unknown amount: the one that saw more wins.
        Some(found) if transfers(local) > transfers(found) => Some(*local),
        Some(found) => Some(*found),
    }
}

fn transfers(numbers: &Numbers) -> f32 {
    numbers[OUT] + numbers[IN]
}

/// The combined numbers of several parts of a wallet's activity.
fn combine(parts: &[&Numbers]) -> Numbers {
    let parts: Vec<&Numbers> = parts.iter().copied().filter(|part| transfers(part) > 0.0).collect();
    let known = |place: usize| parts.iter().map(move |part| part[place]).filter(|number| !number.is_nan());
    let most = |place: usize| known(place).fold(f32::NAN, f32::max);
    let least = |place: usize| known(place).fold(f32::NAN, f32::min);
    let sum = |place: usize| known(place).sum::<f32>();
    let mean = |place: usize, weight: &dyn Fn(&Numbers) -> f32| {
        let (mut sum, mut whole) = (0.0, 0.0);
        for part in parts.iter().copied().filter(|part| !part[place].is_nan()) {
            sum += part[place] * weight(part);
            whole += weight(part);
        }
        if whole > 0.0 { sum / whole } else { f32::NAN }
    };
    let all: f32 = parts.iter().map(|part| transfers(part)).sum();
    let mut numbers = [f32::NAN; SCOPE];
    for (place, number) in numbers.iter_mut().enumerate() {
        *number = if SUMS.contains(&place) {
            sum(place)
        } else if MOST.contains(&place) {
            most(place)
        } else if LEAST.contains(&place) {
            least(place)
        } else if OF_OUT.contains(&place) {
            mean(place, &|part| part[OUT_PARTIES])
        } else if OF_IN.contains(&place) {
            mean(place, &|part| part[IN_PARTIES])
        } else {
            mean(place, &transfers)
        };
    }
    numbers[REPEAT] = if all > 0.0 { (all - numbers[PARTIES]).max(0.0) / all } else { f32::NAN };
    // Ages are counted from now; the newest transfer's age is the age minus the span.
    let newest = parts.iter().map(|part| part[AGE] - part[SPAN]).filter(|days| !days.is_nan());
    numbers[SPAN] = numbers[AGE] - newest.fold(f32::NAN, f32::min);
    let days = if known(ACTIVE).next().is_some() { sum(ACTIVE) } else { f32::NAN };
    numbers[ACTIVE] = days.min(numbers[SPAN].floor() + 2.0);
    let busiest = parts.iter().map(|part| part[BURST] * transfers(part)).filter(|count| !count.is_nan());
    numbers[BURST] = busiest.fold(f32::NAN, f32::max) / all;
    let funded = parts.iter().filter(|part| !part[FUNDER].is_nan() && !part[AGE].is_nan());
    let first = funded.max_by(|one, other| one[AGE].total_cmp(&other[AGE]));
    numbers[FUNDER] = first.map_or(f32::NAN, |part| part[FUNDER]);
    numbers
}
