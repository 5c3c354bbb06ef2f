//! Reviews of scores: the scored person asks, a manager decides on record. A decision changes no score; the person sees
//! it with its reason.

use std::time::Duration;

use pyxis_core::actor::Actor;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::hex;
use pyxis_core::id::{ScoreReviewId, WorkspaceId};
use pyxis_core::webhook::{ReviewEvent, ReviewOutcome};
use pyxis_store::score_reviews::{self, ReviewState, ScoreReviewRow};
use pyxis_store::{Store, StoreError};
use serde_json::json;

use super::self_check::SelfCheck;
use super::{Error, Result};
use crate::engine::ScoreKey;
use crate::state::State;
use crate::widget_error::WidgetError;

/// Longest text of a holder or a manager, in characters.
pub const MAX_TEXT: usize = 1000;
/// Reviews on a page.
pub const PAGE: u32 = 50;
/// Time between two requests of one address in a scorer.
const PAUSE: Duration = Duration::from_hours(24);
/// Maximum number of open reviews of a scorer.
const MOST_OPEN: i64 = 10_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewDecision {
    Grant,
    Decline,
}

/// Asks for a review, for the holder of the address.
pub(crate) async fn request(
    state: &State,
    place: ScoreKey,
    found: &SelfCheck,
    reason: &str,
) -> crate::error::Result<ScoreReviewRow> {
    let ScoreKey { workspace, scorer, address } = place;
    let now = state.now();
    if let Some(last) = score_reviews::latest(&state.store, scorer, address).await? {
        if last.state == ReviewState::Open {
            return Err(WidgetError::ReviewOpen.into());
        }
        if last.created_at.plus(PAUSE) > now {
            return Err(WidgetError::ReviewTooSoon(last.created_at.plus(PAUSE)).into());
        }
    }
    if score_reviews::count_open(&state.store, scorer).await? >= MOST_OPEN {
        return Err(WidgetError::ReviewsFull.into());
    }
    let row = ScoreReviewRow {
        id: ScoreReviewId::new(now, &*state.entropy),
        workspace_id: workspace,
        scorer_id: scorer,
        address,
        reason: reason.to_owned(),
        score: found.score,
        threshold: found.threshold,
        state: ReviewState::Open,
        created_at: now,
        decided_by: None,
        decided_at: None,
        answer: None,
    };
    let mut tx = state.store.begin().await?;
    match score_reviews::insert(&mut tx, &row).await {
        Err(StoreError::Conflict { .. }) => return Err(WidgetError::ReviewOpen.into()),
        other => other?,
    }
    state.db.enqueue_review(&mut tx, workspace, &event_of(&row), now).await?;
    tx.commit().await?;
    Ok(row)
}

/// The event that reports a review in its present state.
fn event_of(row: &ScoreReviewRow) -> ReviewEvent<'_> {
    let decision = match (&row.answer, &row.decided_by, row.decided_at) {
        (Some(answer), Some(by), Some(at)) => {
            Some(ReviewOutcome { state: row.state.as_str(), answer, by, at })
        }
        _ => None,
    };
    ReviewEvent {
        review: row.id,
        scorer: row.scorer_id,
        address: row.address,
        score: row.score,
        threshold: row.threshold,
        reason: &row.reason,
        created_at: row.created_at,
        decision,
    }
}

/// Reviews of a workspace, newest first, before a given one.
pub async fn list(
    store: &Store,
    workspace: WorkspaceId,
    state: Option<ReviewState>,
    before: Option<ScoreReviewId>,
) -> Result<Vec<ScoreReviewRow>> {
    Ok(score_reviews::list(store, workspace, state, before, PAGE).await?)
}

/// One review.
pub async fn find(store: &Store, workspace: WorkspaceId, id: ScoreReviewId) -> Result<ScoreReviewRow> {
    score_reviews::find(store, workspace, id).await?.ok_or(Error::not_found("review"))
}

/// Decides an open review. The holder sees the reason.
pub async fn decide(
    state: &State,
    actor: &Actor,
    id: ScoreReviewId,
    decision: ReviewDecision,
    reason: &str,
) -> Result<ScoreReviewRow> {
    check(reason).map_err(|fault| Error::field("reason", fault))?;
    find(&state.store, actor.workspace, id).await?;
    let mut change = state.audited.begin(actor).await?;
    let (decided, event) = match decision {
        ReviewDecision::Grant => (ReviewState::Granted, AuditEvent::ScoreReviewGranted),
        ReviewDecision::Decline => (ReviewState::Declined, AuditEvent::ScoreReviewDeclined),
    };
    let answer = (actor.name.as_str(), reason);
    let now = state.now();
    if !score_reviews::decide(&mut change.tx, actor.workspace, id, decided, answer, now).await? {
        return Err(Error::Conflict("the review is already decided"));
    }
    let row = score_reviews::find(&mut change.tx, actor.workspace, id).await?;
    let row = row.ok_or(Error::not_found("review"))?;
    state.db.enqueue_review(&mut change.tx, actor.workspace, &event_of(&row), now).await?;
    // The record outlives an erasure, so it names no address.
    let hash = state.db.hash_of(actor.workspace, row.address).as_address();
    let detail = json!({
        "review": id, "scorer": row.scorer_id, "address_hash": hex::encode(&hash.0), "reason": reason,
    });
    change.commit(event, detail).await?;
    Ok(row)
}

/// The fault of a text, if it has one.
pub(crate) fn check(text: &str) -> std::result::Result<(), String> {
    let is_control = |char: char| char.is_control() && char != '\n';
    if text.trim().is_empty() || text.chars().count() > MAX_TEXT || text.chars().any(is_control) {
        return Err(format!("1 to {MAX_TEXT} characters, without control characters"));
    }
    Ok(())
}
