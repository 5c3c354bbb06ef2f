//! The Stamps explorer: explains an address's score, and revokes Stamps.

use std::collections::HashMap;

use axum::response::Response;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use pyxis_core::address::EvmAddress;
use pyxis_core::catalogue::Platform;
use pyxis_core::clock::{Clock, UnixMillis};
use pyxis_core::decimal::Decimal;
use pyxis_core::id::ScorerId;
use pyxis_core::score::SigningDigest;
use pyxis_gateway::Config;
use pyxis_scoring::credential::issuer_did;
use pyxis_scoring::icon;
use pyxis_scoring::service::stamps::{self, Explored, StampFilter, StampLine, StampStatus as Stands};
use pyxis_scoring::service::{catalogue, issuers, scorers};
use pyxis_store::Store;
use serde::Deserialize;

use super::list_query::{ListQuery, ListSlot};
use super::scoring::{A_KEY, EXAMPLE_ADDRESS, bring, curl_command, day};
use super::table::{By, Table};
use crate::Error;
use crate::chart::meter::Meter;
use crate::error::html;
use crate::form::{Page, PathId, QueryParams, SubmittedForm};
use crate::notice::Notice;
use crate::session::{ScoringManager, SignedIn};
use crate::text::{Middle, count_noun, hex, plain};
use crate::view::explorer::{ExplorerPage, ExplorerResult, StampRow, StampStatus};
use crate::view::{Choice, Search, Timestamp};

#[derive(Default, Deserialize)]
pub(crate) struct ExplorerParams {
    #[serde(default)]
    address: String,
    #[serde(default)]
    scorer: String,
}

const HERE: &str = "/app/explorer";
const NO_ADDRESS: &str =
    "Enter an address: 0x followed by 40 hex characters. Names such as vitalik.eth are not supported.";

pub(crate) async fn page(
    Page { state, who: ScoringManager(who, scoring), query }: Page<ScoringManager, ExplorerParams>,
    QueryParams(asked): QueryParams<ListQuery>,
) -> Result<Response, Error> {
    let ExplorerParams { address, scorer } = query;
    let all = scorers::list(&scoring.store, who.person.workspace(), scoring.now()).await?;
    let chosen = all.iter().find(|row| row.id.to_string() == scorer).or(all.first()).map(|row| row.id);
    let typed = address.trim();
    let asked = asked.also("address", typed).also("scorer", &scorer);
    let (found, problem) = match (typed.parse::<EvmAddress>(), chosen) {
        (Ok(address), Some(scorer)) => {
            let explored =
                stamps::show(&scoring.store, who.person.workspace(), Some(scorer), address, scoring.now())
                    .await?;
            let lines = lines(&explored);
            if let Some(file) = TABLE.file(&asked, &lines) {
                return Ok(file);
            }
            let shown = TABLE.page(HERE, &asked, lines);
            (
                Some(
                    find(
                        &state.gateway.config,
                        &*state.gateway.clock,
                        &scoring.store,
                        &who,
                        &explored,
                        shown,
                    )
                    .await?,
                ),
                None,
            )
        }
        (Err(_), _) if !typed.is_empty() => (None, Some(NO_ADDRESS.to_owned())),
        _ => (None, None),
    };
    let to_try = found.as_ref().map_or(EXAMPLE_ADDRESS, |found| &found.address);
    html(&ExplorerPage {
        shell: who.shell(&state).await?,
        bring: bring(&state.gateway.config, to_try),
        address: typed.to_owned(),
        problem,
        scorers: all
            .iter()
            .map(|row| Choice {
                value: row.id.to_string(),
                label: format!("{} · {}", row.id, row.name),
                chosen: Some(row.id) == chosen,
            })
            .collect(),
        found,
    })
}

async fn find(
    config: &Config,
    clock: &dyn Clock,
    store: &Store,
    who: &SignedIn,
    explored: &Explored,
    shown: (Vec<StampLine>, Search),
) -> Result<ExplorerResult, Error> {
    let workspace = who.person.workspace();
    let known = StampContext {
        platforms: &catalogue::get(store, workspace).await?.platforms,
        issuers: issuers::list(store, workspace).await?.into_iter().map(|row| (row.did, row.name)).collect(),
        now: clock.now(),
    };
    let ask = curl_command(config, &explored.scorer.id.to_string(), &explored.address.to_string(), A_KEY);
    Ok(found(explored, &known, shown, ask))
}

const TABLE: Table<StampLine> = Table {
    name: "stamps",
    place: ListSlot::First,
    columns: &[
        ("name", By::Text(|line| line.stamp.provider.to_string()), ()),
        ("state", By::Text(|line| stamp_status(line.standing).label().to_owned()), ()),
        ("why", By::Text(explain_status), ()),
        ("gives", By::Amount(|line| line.contribution), ()),
        ("weight", By::Amount(|line| line.weight.unwrap_or_default()), ()),
        ("expires", By::Time(|line| Some(line.stamp.expires_at)), ()),
        ("issued", By::Time(|line| Some(line.stamp.issued_at)), ()),
        ("issuer", By::Text(|line| line.stamp.issuer.clone()), ()),
    ],
    usual: "-gives",
};

/// The address's Stamps. Of equal contributions, a Stamp that could count comes first.
fn lines(explored: &Explored) -> Vec<StampLine> {
    let mut lines = explored.stamps.clone();
    lines.sort_by_key(rank);
    lines
}

fn found(
    explored: &Explored,
    known: &StampContext<'_>,
    (shown, search): (Vec<StampLine>, Search),
    ask: String,
) -> ExplorerResult {
    let threshold = explored.scorer.threshold;
    let contributing = explored.stamps.iter().filter(|line| line.contribution > Decimal::ZERO);
    let expires = contributing.clone().map(|line| line.stamp.expires_at).min();
    let gives: Vec<_> =
        contributing.map(|line| (line.stamp.provider.to_string(), line.contribution)).collect();
    let description = format!(
        "Score {}, threshold {}, from {}.",
        plain(explored.score),
        plain(threshold),
        count_noun(gives.len() as u64, "Stamp")
    );
    ExplorerResult {
        address: explored.address.to_string(),
        scorer: explored.scorer.id.to_string(),
        scorer_name: explored.scorer.name.clone(),
        score: plain(explored.score),
        threshold: plain(threshold),
        passes: explored.passing,
        margin: margin(explored, threshold),
        expires: expires.map(|at| Timestamp::new(at, known.now)),
        meter: Meter::new(description, gives, threshold),
        search,
        stamps: shown.iter().map(|line| known.line(line)).collect(),
        ask,
    }
}

/// Sort key: Stamps that could count come before those that no longer do.
fn rank(line: &StampLine) -> u8 {
    match line.standing {
        Stands::Counts | Stands::KeepsWeight => 0,
        Stands::Deduplicated { .. } => 1,
        Stands::NotYetValid => 2,
        Stands::NoWeight => 3,
        Stands::Expired => 4,
    }
}

fn margin(explored: &Explored, threshold: Decimal) -> String {
    let by = |units: i64| plain(Decimal::from_units(units.abs()));
    match (explored.passing, explored.score.units() - threshold.units()) {
        (true, 0) => "The score is exactly the threshold.".to_owned(),
        (true, more) => format!("{} above the threshold.", by(more)),
        (false, less) if less < 0 => format!("{} below the threshold.", by(less)),
        (false, _) => "An address without Stamps never passes.".to_owned(),
    }
}

/// Facts about Stamps that are not stored with them.
struct StampContext<'a> {
    platforms: &'a [Platform],
    /// Issuer names by DID.
    issuers: HashMap<String, String>,
    now: UnixMillis,
}

impl StampContext<'_> {
    fn line(&self, line: &StampLine) -> StampRow {
        let stamp = &line.stamp;
        let entry = self.platforms.iter().find_map(|platform| {
            let mut entries = platform.groups.iter().flat_map(|group| &group.stamps);
            let entry = entries.find(|entry| entry.name == stamp.provider)?;
            Some((platform, entry))
        });
        StampRow {
            name: stamp.provider.to_string(),
            icon: entry.map(|(platform, _)| icon::path(&platform.id)),
            description: entry.map(|(_, entry)| entry.description.clone()).unwrap_or_default(),
            standing: stamp_status(line.standing),
            why: explain_status(line),
            holder: match line.standing {
                Stands::Deduplicated { holder, .. } => Some(holder.to_string()),
                _ => None,
            },
            weight: plain(line.weight.unwrap_or_default()),
            contribution: plain(line.contribution),
            expires: Timestamp::new(stamp.expires_at, self.now),
            issued: Timestamp::new(stamp.issued_at, self.now),
            issuer: self
                .issuers
                .get(&issuer_did(&stamp.issuer).unwrap_or_else(|_| stamp.issuer.clone()))
                .cloned()
                .unwrap_or_else(|| "no longer trusted".to_owned()),
            did: stamp.issuer.clone(),
            digest: hex(&stamp.digest),
        }
    }
}

pub(super) fn stamp_status(stands: Stands) -> StampStatus {
    match stands {
        Stands::Counts => StampStatus::Counts,
        Stands::KeepsWeight => StampStatus::KeepsWeight,
        Stands::NoWeight => StampStatus::Weightless,
        Stands::Deduplicated { .. } => StampStatus::Deduplicated,
        Stands::Expired => StampStatus::Expired,
        Stands::NotYetValid => StampStatus::Early,
    }
}

fn explain_status(line: &StampLine) -> String {
    match line.standing {
        Stands::Counts => "Counts with its full weight.".to_owned(),
        Stands::KeepsWeight => {
            format!("Keeps an earlier weight until it expires on {}.", day(line.stamp.expires_at))
        }
        Stands::NoWeight => "This scorer gives this Stamp no weight.".to_owned(),
        Stands::Deduplicated { holder, until } => {
            let Middle { head, tail, .. } = Middle::new(&holder.to_string(), 12);
            format!(
                "The same account was verified first by {head}…{}, so the Stamp counts there \
                 until {} unless it is renewed.",
                tail.unwrap_or_default(),
                day(until)
            )
        }
        Stands::Expired => format!("Expired on {}.", day(line.stamp.expires_at)),
        Stands::NotYetValid => format!("Valid from {}.", day(line.stamp.issued_at)),
    }
}

pub(crate) async fn revoke(
    PathId(digest): PathId,
    SubmittedForm { state, who: ScoringManager(who, scoring), fields }: SubmittedForm<ScoringManager>,
) -> Result<Response, Error> {
    let digest = digest_of(&digest).ok_or(Error::NotFound)?;
    let reason = Some(fields.trimmed("reason")).filter(|reason| !reason.is_empty());
    let (_, done) =
        stamps::revoke(&scoring, &who.person.actor(), StampFilter::Digest(digest), reason).await?;
    let notice = if done.new { Notice::StampRevoked } else { Notice::StampRevokedBefore };
    Ok(notice.redirect(state.cookies, &form_url(fields.get("address"), fields.get("scorer"))))
}

/// The page with the form. Only an address and a number get into the link.
fn form_url(address: &str, scorer: &str) -> String {
    let address = address.parse::<EvmAddress>().map(|address| address.to_string()).unwrap_or_default();
    let scorer = scorer.parse::<ScorerId>().map(|scorer| scorer.to_string()).unwrap_or_default();
    format!("/app/explorer?address={}&scorer={scorer}", utf8_percent_encode(&address, NON_ALPHANUMERIC))
}

fn digest_of(text: &str) -> Option<SigningDigest> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let bytes = pairs.iter().map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?));
    let bytes: Option<Vec<u8>> = bytes.collect();
    bytes.filter(|_| rest.is_empty())?.try_into().ok()
}
