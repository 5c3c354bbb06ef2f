//! The self-check page: a holder sees what counts, what does not and why, and what would help
//! (`docs/guides/let-holders-check-their-score.md`).
//!
//! The page of a scorer is open while a publishable key of this scorer allows the server's own origin.

use std::collections::BTreeMap;

use pyxis_core::catalogue::{CatalogueStamp, Platform};
use pyxis_core::clock::UnixMillis;
use pyxis_core::decimal::Decimal;
use pyxis_core::id::{ScorerId, WorkspaceId};
use pyxis_core::stamp::StampName;
use pyxis_store::own_stamps::{self, OwnStampRow};
use pyxis_store::publishable_keys::{self, PublishableHead};
use pyxis_store::{Store, scorers};
use url::Url;

use super::stamps::{self, StampLine, StampStatus};
use super::{Error, Result, catalogue};
use crate::engine::ScoreKey;
use crate::own::StampRule;
use crate::page_keys::spellings;
use crate::signed::ScoreSigner;
use crate::state::State;
use crate::terms_in_force;

/// Maximum number of Stamps that are suggested.
const MOST_SUGGESTED: usize = 20;

/// A scorer's page before sign-in.
#[derive(Clone, Debug)]
pub struct OpenPage {
    /// Name of the scorer.
    pub name: String,
    /// The only origin at which the page works, as browsers write it.
    pub origin: String,
    /// The score needed to pass.
    pub threshold: Decimal,
    /// Stamps with a weight, the heaviest first.
    pub stamps: Vec<WeighedStamp>,
}

/// A Stamp with its weight and what the catalogue says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeighedStamp {
    pub name: StampName,
    /// Description of the holder, as the Stamp attests it; empty if the catalogue lacks the Stamp.
    pub description: String,
    /// Name of the platform; `None` if the catalogue lacks the Stamp.
    pub platform: Option<String>,
    /// Prompt for a person who starts there.
    pub how: String,
    /// Page where the Stamp is issued, if the catalogue says it.
    pub url: Option<String>,
    /// Items that the holder names, if this server issues the Stamp: `none`, `token_ids` or `attestation`.
    pub issued_here: Option<&'static str>,
    pub weight: Decimal,
}

/// Explanation of a score for its holder.
#[derive(Clone, Debug)]
pub struct SelfCheck {
    pub threshold: Decimal,
    pub score: Decimal,
    pub passing: bool,
    /// The Stamps of the address, with their effect.
    pub stamps: Vec<(WeighedStamp, StampLine)>,
    /// Stamps that would add points, the heaviest first.
    pub suggestions: Vec<WeighedStamp>,
}

/// The server's own origin, as browsers send it.
pub(crate) fn own_origin(signer: &ScoreSigner) -> Option<String> {
    Url::parse(&signer.config().issuer).ok().map(|url| url.origin().ascii_serialization())
}

/// The key that opens a scorer's page; `None` if none does.
pub(crate) async fn key_of(
    signer: &ScoreSigner,
    store: &Store,
    scorer: ScorerId,
) -> Result<Option<PublishableHead>> {
    let Some(origin) = own_origin(signer) else { return Ok(None) };
    Ok(publishable_keys::find_live_of(store, scorer, spellings(&origin)).await?)
}

/// The page of a scorer; `None` if it is not open.
pub async fn open_page(state: &State, scorer: ScorerId) -> Result<Option<OpenPage>> {
    let (Some(origin), Some(key)) =
        (own_origin(&state.signer), key_of(&state.signer, &state.store, scorer).await?)
    else {
        return Ok(None);
    };
    let row = terms_in_force::find(&state.store, key.workspace, scorer, state.now()).await?;
    let Some(row) = row else { return Ok(None) };
    let terms = scorers::terms(&state.store, key.workspace, scorer).await?;
    let terms = terms.ok_or(Error::not_found("scorer"))?;
    let platforms = catalogue::served(&state.store, key.workspace).await?;
    let known = known(&platforms);
    let counting = terms.weights.iter().filter(|(_, weight)| **weight > Decimal::ZERO);
    let mut stamps: Vec<_> = counting.map(|(name, weight)| weighed(&known, name, *weight)).collect();
    sort(&mut stamps);
    Ok(Some(OpenPage { name: row.name, origin, threshold: terms.threshold, stamps }))
}

/// Explains the score of an address to its holder. Nothing is written.
pub(crate) async fn check(store: &Store, now: UnixMillis, place: ScoreKey) -> Result<SelfCheck> {
    let ScoreKey { workspace, scorer, address } = place;
    let found = stamps::show(store, workspace, Some(scorer), address, now).await?;
    let terms = scorers::terms(store, workspace, scorer).await?;
    let terms = terms.ok_or(Error::not_found("scorer"))?;
    let platforms = catalogue::served(store, workspace).await?;
    let known = known(&platforms);
    // One that another address holds, or that is on its way, is no suggestion.
    let helps = |line: &StampLine| matches!(line.standing, StampStatus::Expired);
    let held: Vec<&StampName> =
        found.stamps.iter().filter(|line| !helps(line)).map(|line| &line.stamp.provider).collect();
    let missing =
        terms.weights.iter().filter(|(name, weight)| **weight > Decimal::ZERO && !held.contains(name));
    let mut suggestions: Vec<_> = missing.map(|(name, weight)| weighed(&known, name, *weight)).collect();
    sort(&mut suggestions);
    suggestions.truncate(MOST_SUGGESTED);
    let offers = offers(store, workspace).await?;
    for stamp in &mut suggestions {
        stamp.issued_here = offers.get(&stamp.name).copied();
    }
    let line = |line: StampLine| {
        let name = line.stamp.provider.clone();
        (weighed(&known, &name, line.weight.unwrap_or_default()), line)
    };
    Ok(SelfCheck {
        threshold: terms.threshold,
        score: found.score,
        passing: found.passing,
        stamps: found.stamps.into_iter().map(line).collect(),
        suggestions,
    })
}

/// Stamps that this server issues on request, with the items that the holder names.
pub(crate) async fn offers(
    store: &Store,
    workspace: WorkspaceId,
) -> Result<BTreeMap<StampName, &'static str>> {
    let rows = own_stamps::list(store, workspace).await?;
    // A rule that this version cannot read is no offer.
    let offer = |row: OwnStampRow| {
        let rule = StampRule::from_row(&row).ok()?;
        Some((row.provider, rule.items().as_str()))
    };
    Ok(rows.into_iter().filter_map(offer).collect())
}

type KnownStamps<'a> = BTreeMap<&'a StampName, (&'a Platform, &'a CatalogueStamp)>;

fn known(platforms: &[Platform]) -> KnownStamps<'_> {
    let mut known = KnownStamps::new();
    for platform in platforms {
        for stamp in platform.groups.iter().flat_map(|group| &group.stamps) {
            known.insert(&stamp.name, (platform, stamp));
        }
    }
    known
}

fn weighed(known: &KnownStamps<'_>, name: &StampName, weight: Decimal) -> WeighedStamp {
    let found = known.get(name);
    WeighedStamp {
        name: name.clone(),
        description: found.map(|(_, stamp)| stamp.description.clone()).unwrap_or_default(),
        platform: found.map(|(platform, _)| platform.name.clone()),
        how: found.map(|(platform, _)| platform.connect_message.clone()).unwrap_or_default(),
        url: found.and_then(|(platform, _)| platform.url.clone()),
        issued_here: None,
        weight,
    }
}

fn sort(stamps: &mut [WeighedStamp]) {
    stamps.sort_by(|one, other| other.weight.cmp(&one.weight).then_with(|| one.name.cmp(&other.name)));
}
