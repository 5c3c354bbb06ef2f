//! Reviews of scores that holders asked for.

use std::fmt::Write;

use axum::response::Response;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::ScoreReviewId;
use pyxis_scoring::service::score_reviews::{self, ReviewDecision};
use pyxis_scoring::service::stamps;
use pyxis_store::score_reviews::{ReviewState, ScoreReviewRow};
use serde::Deserialize;

use super::agents::unprocessable;
use super::explorer::stamp_status;
use super::scoring::problem;
use crate::error::html;
use crate::form::{Page, PathId, SubmittedForm};
use crate::notice::Notice;
use crate::session::{ScoringManager, SignedIn};
use crate::view::reviews::{EvidenceRow, ReviewBadge, ReviewLine, ReviewPage, ReviewsPage};
use crate::view::{Choice, Problems, Timestamp};
use crate::{Error, State, text};

const LIST: &str = "/app/reviews";

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct ReviewQuery {
    state: String,
    before: String,
}

const STATES: [(&str, &str, Option<ReviewState>); 4] = [
    ("open", "Open", Some(ReviewState::Open)),
    ("granted", "Granted", Some(ReviewState::Granted)),
    ("declined", "Declined", Some(ReviewState::Declined)),
    ("all", "All", None),
];

pub(crate) async fn list(
    Page { state, who: ScoringManager(who, scoring), query }: Page<ScoringManager, ReviewQuery>,
) -> Result<Response, Error> {
    let (name, _, only) = *STATES.iter().find(|(name, ..)| *name == query.state).unwrap_or(&STATES[0]);
    let before: Option<ScoreReviewId> = query.before.parse().ok();
    let rows = score_reviews::list(&scoring.store, who.person.workspace(), only, before).await?;
    let older = (rows.len() == score_reviews::PAGE as usize).then(|| rows.last()).flatten();
    let mut link = String::new();
    if let Some(last) = older {
        // Writing to a String does not fail.
        let _ = write!(link, "{LIST}?state={name}&before={}", last.id);
    }
    html(&ReviewsPage {
        shell: who.shell(&state).await?,
        states: STATES
            .iter()
            .map(|(value, label, _)| Choice {
                value: (*value).to_owned(),
                label: (*label).to_owned(),
                chosen: *value == name,
            })
            .collect(),
        reviews: rows.iter().map(|row| line(state.gateway.now(), row)).collect(),
        older: older.is_some().then_some(link),
    })
}

fn line(now: UnixMillis, row: &ScoreReviewRow) -> ReviewLine {
    ReviewLine {
        id: row.id.to_string(),
        address: row.address.to_string(),
        scorer: row.scorer_id.to_string(),
        reason: row.reason.clone(),
        score: text::plain(row.score),
        threshold: text::plain(row.threshold),
        state: match row.state {
            ReviewState::Open => ReviewBadge::Open,
            ReviewState::Granted => ReviewBadge::Granted,
            ReviewState::Declined => ReviewBadge::Declined,
        },
        created: Timestamp::new(row.created_at, now),
        decided: row.decided_by.clone().zip(row.decided_at).map(|(by, at)| (by, Timestamp::new(at, now))),
        answer: row.answer.clone(),
    }
}

fn review_id(text: &str) -> Result<ScoreReviewId, Error> {
    text.parse().map_err(|_| Error::NotFound)
}

pub(crate) async fn show(
    Page { state, who: ScoringManager(who, scoring), .. }: Page<ScoringManager>,
    PathId(id): PathId,
) -> Result<Response, Error> {
    let row = score_reviews::find(&scoring.store, who.person.workspace(), review_id(&id)?).await?;
    page(&state, &scoring, &who, &row, (String::new(), Problems::default())).await
}

/// The review with its evidence: the Stamps of the address as they are now.
async fn page(
    state: &State,
    scoring: &pyxis_scoring::State,
    who: &SignedIn,
    row: &ScoreReviewRow,
    (typed, problems): (String, Problems),
) -> Result<Response, Error> {
    let (store, now) = (&scoring.store, scoring.now());
    let found = stamps::show(store, row.workspace_id, Some(row.scorer_id), row.address, now).await?;
    let evidence = found.stamps.iter().map(|line| EvidenceRow {
        stamp: line.stamp.provider.to_string(),
        contribution: text::plain(line.contribution),
        standing: stamp_status(line.standing),
        expires: Timestamp::new(line.stamp.expires_at, now),
    });
    html(&ReviewPage {
        shell: who.shell(state).await?,
        review: line(state.gateway.now(), row),
        score_now: text::plain(found.score),
        passes_now: found.passing,
        evidence: evidence.collect(),
        typed,
        problems,
    })
}

pub(crate) async fn decide(
    PathId(id): PathId,
    SubmittedForm { state, who: ScoringManager(who, scoring), fields }: SubmittedForm<ScoringManager>,
) -> Result<Response, Error> {
    let id = review_id(&id)?;
    let row = score_reviews::find(&scoring.store, who.person.workspace(), id).await?;
    let reason = fields.trimmed("reason").replace("\r\n", "\n");
    let (decision, notice) = match fields.get("decision") {
        "grant" => (ReviewDecision::Grant, Notice::ReviewGranted),
        "decline" => (ReviewDecision::Decline, Notice::ReviewDeclined),
        _ => {
            let mut problems = Problems::default();
            problems.add("reason", "Choose Grant or Decline.");
            return Ok(unprocessable(page(&state, &scoring, &who, &row, (reason, problems)).await?));
        }
    };
    match score_reviews::decide(&scoring, &who.person.actor(), id, decision, &reason).await {
        Ok(_) => Ok(notice.redirect(state.cookies, &format!("{LIST}/{id}"))),
        Err(error) => {
            let problems = problem(error, |_| "reason")?;
            Ok(unprocessable(page(&state, &scoring, &who, &row, (reason, problems)).await?))
        }
    }
}
