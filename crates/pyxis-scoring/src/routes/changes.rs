//! `GET …/changes`: the moments at which a score changed, and why, from the history of answers.

mod causes;

use std::collections::BTreeMap;

use axum::extract::{RawQuery, State as Extract};
use axum::http::HeaderMap;
use axum::response::Response;
use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::decimal::Decimal;
use pyxis_core::id::WorkspaceId;
use pyxis_core::score::{StampEntry, stored_to_json};
use pyxis_core::secret::SecretBytes;
use pyxis_store::scorers::ScorerRow;
use pyxis_store::stamps::Cursor;
use pyxis_store::{erasures, score_history, scorers};
use serde::Serialize;
use utoipa::ToSchema;

use self::causes::{ChangeCause, HistoricScore, ScoreState, causes};
use super::latest::known_scorer;
use super::parameters::{QueryPairs, Segments};
use super::responses::{BadPage, MalformedParameter, NoScorer};
use super::shared::{ChangesLimit, PageToken, ScorerPath};
use super::{json, respond};
use crate::auth::Caller;
use crate::engine::{self, ScoreKey};
use crate::error::{Error, Result};
use crate::page_token;
use crate::scoring_db::ScoringDb;
use crate::state::State;
use crate::values::{AddressPath, Amount, MicroTime};

/// Maximum number of changes on a page.
const MOST: u32 = 100;
/// Records read at once.
const PAGE: u32 = 200;
/// Maximum number of records read for one page.
const EFFORT: usize = 2000;

#[derive(Serialize, ToSchema)]
pub(super) struct ScoreChange {
    /// Time of the answer that first showed the change.
    #[schema(value_type = MicroTime)]
    at: String,
    /// Null for the first answer. Absent unless the key may read history.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<Option<ScoreState>>,
    /// Null for an erasure. Absent unless the key may read history.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<Option<ScoreState>>,
    causes: Vec<ChangeCause>,
}

#[derive(Serialize, ToSchema)]
pub(super) struct ScoreChanges {
    /// Token of the next, older page; null on the last one.
    #[schema(required)]
    next: Option<String>,
    items: Vec<ScoreChange>,
    /// Stamps that count with an earlier weight until they expire, by name.
    kept: BTreeMap<String, KeptContribution>,
}

/// Contribution of a Stamp whose weight was lowered.
#[derive(Serialize, ToSchema)]
struct KeptContribution {
    /// Present contribution, the earlier weight.
    #[schema(value_type = Amount)]
    contribution: Decimal,
    /// Weight of the Stamp when it is renewed.
    #[schema(value_type = Amount)]
    weight: Decimal,
    #[schema(value_type = MicroTime)]
    until: String,
}

/// Read why a score changed.
///
/// Newest first, from the scores that were answered: each item is an answer that differs from the one before, with the
/// causes. Scores and amounts are included only for keys approved for history.
#[utoipa::path(
    get,
    path = "/v2/stamps/{scorer_id}/score/{address}/changes",
    tag = "Stamps API",
    operation_id = "listScoreChanges",
    security(("apiKey" = [])),
    params(
        ScorerPath,
        AddressPath,
        ChangesLimit,
        PageToken,
    ),
    responses(
        (status = 200, description = "A page; empty if no score was answered.", body = ScoreChanges, example = json!({
            "next": null,
            "kept": {},
            "items": [{
                "at": "2026-01-31T09:00:00.000000+00:00",
                "before": {"score": "22.59800", "passing_score": true, "threshold": "20.00000"},
                "after": {"score": "6.58200", "passing_score": false, "threshold": "20.00000"},
                "causes": [{
                    "cause": "stamp_expired",
                    "stamp": "NFTScore#50",
                    "at": "2026-01-30T00:00:00.000000+00:00",
                    "before": "16.01600"
                }]
            }]
        })),
        (status = 400, response = BadPage),
        (status = 404, response = NoScorer),
        (status = 422, response = MalformedParameter),
    ),
)]
pub(crate) async fn get_changes(
    Extract(state): Extract<State>,
    segments: Segments,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    respond(&state, &headers, async |caller| {
        let scorer = segments.scorer();
        if let Err(error @ Error::Parameter(_)) = scorer {
            return Err(error);
        }
        let query = QueryPairs::read(query.as_deref());
        let limit = query.limit(MOST)?;
        if !caller.can_read {
            return Err(Error::Forbidden);
        }
        let scorer = known_scorer(&state.store, state.now(), caller.workspace, scorer?).await?;
        let address = segments.address()?;
        let before = match query.find("token") {
            None => UnixMillis(i64::MAX),
            Some(token) => position(&state.token_key, &caller, address, token)?,
        };
        let (next, items) = page(&state, (&caller).into(), &scorer, address, before, limit as usize).await?;
        let place = ScoreKey { workspace: caller.workspace, scorer: scorer.id, address };
        let page =
            ScoreChanges { next, items, kept: kept_contributions(&state.db, state.now(), place).await? };
        serde_json::to_vec(&page).map(json).map_err(|error| Error::Internal(error.into()))
    })
    .await
}

fn position(
    token_key: &SecretBytes,
    caller: &Caller,
    address: EvmAddress,
    token: &str,
) -> Result<UnixMillis> {
    match page_token::read(token_key, caller.workspace, address, token) {
        Some(Cursor::Older(at)) => Ok(UnixMillis(at)),
        _ => Err(Error::InvalidToken),
    }
}

/// Reader of a list of changes.
#[derive(Clone, Copy)]
pub(super) struct Reader {
    pub(super) workspace: WorkspaceId,
    /// True to include scores and amounts.
    pub(super) with_scores: bool,
}

impl From<&Caller> for Reader {
    fn from(caller: &Caller) -> Self {
        Self { workspace: caller.workspace, with_scores: caller.can_read_history }
    }
}

/// The newest changes of an address.
pub(super) async fn recent(
    state: &State,
    reader: Reader,
    scorer: &ScorerRow,
    address: EvmAddress,
    limit: usize,
) -> Result<Vec<ScoreChange>> {
    Ok(page(state, reader, scorer, address, UnixMillis(i64::MAX), limit).await?.1)
}

async fn page(
    state: &State,
    reader: Reader,
    scorer: &ScorerRow,
    address: EvmAddress,
    before: UnixMillis,
    limit: usize,
) -> Result<(Option<String>, Vec<ScoreChange>)> {
    let (store, workspace) = (&state.store, reader.workspace);
    let terms = scorers::terms(store, workspace, scorer.id).await?.ok_or(Error::NoScorer)?;
    let mut items = Vec::new();
    let mut later: Option<HistoricScore> = None;
    let (mut position, mut read) = (before, 0);
    loop {
        let rows = score_history::newest_before(store, workspace, scorer.id, address, position, PAGE).await?;
        let is_last = rows.len() < PAGE as usize;
        read += rows.len();
        for (at, body) in rows {
            let record = HistoricScore::read(at, &stored_to_json(address, body)?)?;
            if let Some(after) = later.take() {
                let found = causes(&record, &after, &terms.kept);
                if !found.is_empty() {
                    items.push(item(reader, after.at, Some(&record), Some(&after), found));
                }
            }
            position = at;
            later = Some(record);
            if items.len() == limit || read > EFFORT {
                // The record just read begins the next page.
                let next = Cursor::Older(at.0.saturating_add(1));
                let next = page_token::write(&state.token_key, workspace, address, next);
                return Ok((Some(next), items));
            }
        }
        if is_last {
            break;
        }
    }
    if let Some(first) = later {
        items.push(item(reader, first.at, None, Some(&first), vec![ChangeCause::first_answer()]));
    }
    let hash = state.db.hash_of(workspace, address);
    for receipt in erasures::list_for(store, workspace, hash).await? {
        items.push(item(reader, receipt.erased_at, None, None, vec![ChangeCause::erased()]));
    }
    Ok((None, items))
}

/// The Stamps of an address that count with an earlier weight.
async fn kept_contributions(
    db: &ScoringDb,
    now: UnixMillis,
    place: ScoreKey,
) -> Result<BTreeMap<String, KeptContribution>> {
    let (terms, settled) = engine::preview(db, place, now).await?;
    let entry = |entry: &StampEntry| {
        let weight = terms.weights.get(&entry.provider).copied().unwrap_or_default();
        let until = entry.expires_at.to_iso_micros();
        let kept = KeptContribution { contribution: entry.score, weight, until };
        (entry.score > weight).then(|| (entry.provider.to_string(), kept))
    };
    Ok(settled.stamps.iter().filter_map(entry).collect())
}

/// Scores and amounts are history, which a key reads only if it was approved for it.
fn item(
    reader: Reader,
    at: UnixMillis,
    before: Option<&HistoricScore>,
    after: Option<&HistoricScore>,
    causes: Vec<ChangeCause>,
) -> ScoreChange {
    let with_scores = reader.with_scores;
    let state = |record: Option<&HistoricScore>| with_scores.then(|| record.map(HistoricScore::state));
    let causes = causes.into_iter().map(|cause| if with_scores { cause } else { cause.without_amounts() });
    ScoreChange {
        at: at.to_iso_micros(),
        before: state(before),
        after: state(after),
        causes: causes.collect(),
    }
}
