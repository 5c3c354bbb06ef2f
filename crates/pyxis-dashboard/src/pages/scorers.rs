//! Scorers: Stamp weights and thresholds.

use std::collections::BTreeSet;

use axum::response::Response;
use http::StatusCode;
use pyxis_core::clock::UnixMillis;
use pyxis_core::decimal::Decimal;
use pyxis_core::id::ScorerId;
use pyxis_core::score::{KeptWeight, Weights};
use pyxis_core::stamp::StampName;
use pyxis_scoring::service::preview::{self, Proposal};
use pyxis_scoring::service::scorers::{self, Rescore, Scorer, ScorerInput, ScorerPatch};
use pyxis_scoring::service::{Error as Service, catalogue, scorer_changes};
use pyxis_store::lists::{self, ScorerItem, SortKey};

use super::agents::unprocessable;
use super::list_query::{ListQuery, ListSlot};
use super::scorer_form::Draft;
use super::scoring::{A_KEY, EXAMPLE_ADDRESS, count, curl_command, problem};
use super::table::{By, Table};
use super::weight_impact::weight_reach;
use crate::chart::histogram::{Bin, Histogram};
use crate::error::html;
use crate::form::{Page, PathId, SubmittedForm};
use crate::notice::Notice;
use crate::session::{ScoringManager, SignedIn};
use crate::view::scorers::{
    Freshness, KeptRow, NewScorerPage, Preview, ScheduledRow, ScorerLine, ScorerPage, ScorersPage,
};
use crate::view::{Problems, Timestamp};
use crate::{Error, State, text};

pub(crate) async fn list(
    Page { state, who: ScoringManager(who, scoring), query: asked }: Page<ScoringManager, ListQuery>,
) -> Result<Response, Error> {
    let store = &scoring.store;
    // Scheduled changes that are due count on this page, too.
    scorers::list(store, who.person.workspace(), scoring.now()).await?;
    let list = lists::scorers(who.person.workspace());
    if let Some(file) = TABLE.file(store, &asked, &list) {
        return Ok(file);
    }
    let (shown, search) = TABLE.page(store, "/app/scorers", &asked, &list).await?;
    let lines: Vec<_> = shown.into_iter().map(|item| line(item, state.gateway.now())).collect();
    let first = lines.first().map_or("1", |line| line.id.as_str());
    let ask = curl_command(&state.gateway.config, first, EXAMPLE_ADDRESS, A_KEY);
    html(&ScorersPage { shell: who.shell(&state).await?, search, scorers: lines, ask })
}

const TABLE: Table<ScorerItem, SortKey<ScorerItem>> = Table {
    name: "scorers",
    place: ListSlot::First,
    columns: &[
        ("name", By::Text(|item| item.row.name.clone()), ScorerItem::NAME),
        ("number", By::Number(|item| item.row.id.get()), ScorerItem::NUMBER),
        ("passes_at", By::Amount(|item| item.row.threshold), ScorerItem::THRESHOLD),
        ("stamps", By::Number(|item| item.stamps), ScorerItem::STAMPS),
        ("weights_together", By::Amount(|item| item.sum), ScorerItem::SUM),
        ("scored", By::Number(|item| item.scored), ScorerItem::SCORED),
        ("added", By::Time(|item| Some(item.row.created_at)), ScorerItem::CREATED),
    ],
    usual: "number",
};

fn line(item: ScorerItem, now: UnixMillis) -> ScorerLine {
    let stamps = text::count_noun(count(item.stamps), "Stamp");
    ScorerLine {
        id: item.row.id.to_string(),
        name: item.row.name,
        threshold: text::plain(item.row.threshold),
        stamps: format!("{stamps}, sum {}", text::plain(item.sum)),
        addresses: text::grouped(count(item.scored)),
        created: Timestamp::new(item.row.created_at, now),
    }
}

pub(crate) async fn new(
    Page { state, who: ScoringManager(who, _), .. }: Page<ScoringManager>,
) -> Result<Response, Error> {
    html(&NewScorerPage {
        shell: who.shell(&state).await?,
        name: String::new(),
        threshold: "20".to_owned(),
        empty: false,
        problems: Problems::default(),
    })
}

pub(crate) async fn add(
    SubmittedForm { state, who: ScoringManager(who, scoring), fields }: SubmittedForm<ScoringManager>,
) -> Result<Response, Error> {
    let (name, threshold) = (fields.trimmed("name"), fields.trimmed("threshold"));
    let empty = fields.get("start") == "empty";
    let mut problems = Problems::default();
    if let Ok(needed) = threshold.parse() {
        let weights = empty.then(Weights::new);
        let input = ScorerInput { name: name.clone(), threshold: Some(needed), weights };
        match scorers::create(&scoring.audited, &who.person.actor(), input).await {
            Ok(made) => return Ok(Notice::ScorerAdded.redirect(state.cookies, &path(made.id))),
            Err(error) => problems = problem(error, field)?,
        }
    } else {
        problems.add("threshold", "Enter a number such as 20, with at most five decimal places.");
    }
    let page = NewScorerPage { shell: who.shell(&state).await?, name, threshold, empty, problems };
    Ok(unprocessable(html(&page)?))
}

fn field(name: &str) -> &'static str {
    match name {
        "threshold" => "threshold",
        "weights" => "weights",
        _ => "name",
    }
}

fn path(id: ScorerId) -> String {
    format!("/app/scorers/{id}")
}

/// Parses a scorer number. Anything else is not found.
fn scorer_id(text: &str) -> Result<ScorerId, Error> {
    text.parse().map_err(|_| Error::NotFound)
}

/// The parts that differ between responses.
#[derive(Default)]
struct ScorerListItem {
    overtaken: bool,
    preview: Option<Preview>,
}

async fn page(
    state: &State,
    scoring: &pyxis_scoring::State,
    who: &SignedIn,
    stored: &Scorer,
    draft: &Draft,
    shown: ScorerListItem,
) -> Result<Response, Error> {
    let platforms = catalogue::get(&scoring.store, who.person.workspace()).await?.platforms;
    let progress = scorers::progress(&scoring.db, who.person.workspace(), stored.id, scoring.now()).await?;
    let id = stored.id.to_string();
    html(&ScorerPage {
        shell: who.shell(state).await?,
        name: stored.name.clone(),
        threshold: text::plain(stored.terms.threshold),
        addresses: addresses(count(progress.stored)),
        created: Timestamp::new(stored.created_at, state.gateway.now()),
        form: draft.form(stored, &platforms),
        reach: weight_reach(&draft.weights, draft.threshold.unwrap_or(stored.terms.threshold)),
        overtaken: shown.overtaken,
        preview: shown.preview,
        kept: stored.terms.kept.iter().map(|one| kept_row(one, state.gateway.now())).collect(),
        scheduled: stored
            .scheduled
            .iter()
            .map(|change| scheduled(stored, change, state.gateway.now()))
            .collect(),
        freshness: freshness(&progress),
        ask: curl_command(&state.gateway.config, &id, EXAMPLE_ADDRESS, A_KEY),
        id,
    })
}

fn kept_row(kept: &KeptWeight, now: UnixMillis) -> KeptRow {
    KeptRow {
        stamp: kept.provider.to_string(),
        weight: text::plain(kept.weight),
        before: Timestamp::new(kept.issued_before, now),
    }
}

fn scheduled(stored: &Scorer, change: &scorers::ScheduledChange, now: UnixMillis) -> ScheduledRow {
    let current = &stored.terms.weights;
    let changed = change.weights.as_ref().map(|new| {
        let names = new.keys().chain(current.keys()).collect::<BTreeSet<_>>();
        let differs = |name: &&StampName| {
            new.get(*name).copied().unwrap_or_default() != current.get(*name).copied().unwrap_or_default()
        };
        names.into_iter().filter(differs).count()
    });
    ScheduledRow {
        id: change.id.to_string(),
        from: Timestamp::new(change.effective_from, now),
        threshold: change.threshold.map(text::plain),
        weights: changed.map(|count| match count {
            1 => "1 weight differs from today's".to_owned(),
            count => format!("{count} weights differ from today's"),
        }),
        keeps: change.keep_until_expiry,
        by: change.created_by.clone(),
    }
}

pub(crate) async fn withdraw_change(
    PathId(id): PathId,
    SubmittedForm { state, who: ScoringManager(who, scoring), fields }: SubmittedForm<ScoringManager>,
) -> Result<Response, Error> {
    let id = scorer_id(&id)?;
    let change = fields.get("change").parse().map_err(|_| Error::NotFound)?;
    scorer_changes::withdraw(&scoring.audited, &who.person.actor(), id, change).await?;
    Ok(Notice::ScorerChangeWithdrawn.redirect(state.cookies, &path(id)))
}

fn freshness(found: &Rescore) -> Freshness {
    let stale = text::grouped(count(found.outdated));
    let noun = if found.unscored > 0 { "scores" } else { "stored scores" };
    match (found.stored + found.unscored, found.outdated) {
        (0, _) => Freshness::Nothing,
        (_, 0) => Freshness::Current,
        _ if found.running => Freshness::Running(stale),
        (all, _) => Freshness::Stale(format!("{stale} of {} {noun}", text::grouped(count(all)))),
    }
}

/// `1 address`, `1,204 addresses`.
fn addresses(number: u64) -> String {
    if number == 1 { "1 address".to_owned() } else { format!("{} addresses", text::grouped(number)) }
}

pub(crate) async fn show(
    Page { state, who: ScoringManager(who, scoring), .. }: Page<ScoringManager>,
    PathId(id): PathId,
) -> Result<Response, Error> {
    let stored = scorers::get(&scoring.store, who.person.workspace(), scorer_id(&id)?, scoring.now()).await?;
    page(&state, &scoring, &who, &stored, &Draft::from_scorer(&stored), ScorerListItem::default()).await
}

pub(crate) async fn save(
    PathId(id): PathId,
    SubmittedForm { state, who: ScoringManager(who, scoring), fields }: SubmittedForm<ScoringManager>,
) -> Result<Response, Error> {
    let id = scorer_id(&id)?;
    let mut draft = Draft::read(&fields);
    if draft.problems.is_empty() {
        let stored = scorers::get(&scoring.store, who.person.workspace(), id, scoring.now()).await?;
        match scorers::update(&scoring.audited, &who.person.actor(), id, patch(&draft, &stored)).await {
            Ok(_) => return Ok(Notice::ScorerSaved.redirect(state.cookies, &path(id))),
            Err(Service::Changed { .. }) => return overtaken(&state, &scoring, &who, id, draft).await,
            Err(error) => draft.problems = problem(error, field)?,
        }
    }
    let stored = scorers::get(&scoring.store, who.person.workspace(), id, scoring.now()).await?;
    Ok(unprocessable(page(&state, &scoring, &who, &stored, &draft, ScorerListItem::default()).await?))
}

/// The patch that saves the draft. A new name alone leaves every score as it is.
fn patch(draft: &Draft, stored: &Scorer) -> ScorerPatch {
    let name = (draft.name != stored.name).then(|| draft.name.clone());
    if draft.threshold == Some(stored.terms.threshold) && draft.weights == stored.terms.weights {
        return ScorerPatch { name, ..ScorerPatch::default() };
    }
    ScorerPatch {
        name,
        effective_from: None,
        scheduled: None,
        threshold: draft.threshold,
        weights: Some(draft.weights.clone()),
        keep_until_expiry: draft.keep_until_expiry,
        // A form without a revision is based on nothing that is stored.
        revision: Some(draft.revision.unwrap_or(0)),
    }
}

/// The draft next to what someone else saved meanwhile. Saving again replaces that.
async fn overtaken(
    state: &State,
    scoring: &pyxis_scoring::State,
    who: &SignedIn,
    id: ScorerId,
    draft: Draft,
) -> Result<Response, Error> {
    let stored = scorers::get(&scoring.store, who.person.workspace(), id, scoring.now()).await?;
    let draft = draft.rebased(&stored);
    let shown = ScorerListItem { overtaken: true, preview: None };
    let mut response = page(state, scoring, who, &stored, &draft, shown).await?;
    *response.status_mut() = StatusCode::CONFLICT;
    Ok(response)
}

pub(crate) async fn try_out(
    PathId(id): PathId,
    SubmittedForm { state, who: ScoringManager(who, scoring), fields }: SubmittedForm<ScoringManager>,
) -> Result<Response, Error> {
    let id = scorer_id(&id)?;
    let stored = scorers::get(&scoring.store, who.person.workspace(), id, scoring.now()).await?;
    let mut draft = Draft::read(&fields);
    if draft.problems.is_empty() {
        let proposal = Proposal {
            threshold: draft.threshold,
            weights: Some(draft.weights.clone()),
            keep_until_expiry: draft.keep_until_expiry,
        };
        match preview::preview(&scoring.store, who.person.workspace(), id, proposal, scoring.now()).await {
            Ok(found) => {
                let needed = (stored.terms.threshold, draft.threshold.unwrap_or_default());
                let shown = ScorerListItem { overtaken: false, preview: Some(preview_view(&found, needed)) };
                return page(&state, &scoring, &who, &stored, &draft, shown).await;
            }
            Err(error) => draft.problems = problem(error, field)?,
        }
    }
    Ok(unprocessable(page(&state, &scoring, &who, &stored, &draft, ScorerListItem::default()).await?))
}

fn preview_view(found: &preview::Preview, (before, after): (Decimal, Decimal)) -> Preview {
    let bins = found.histogram.iter().map(|bucket| Bin {
        from: bucket.from,
        to: bucket.to,
        before: bucket.before.into(),
        after: bucket.after.into(),
    });
    let description = format!(
        "{}: {} pass now, {} pass with this draft; {} newly pass and {} no longer pass.",
        addresses(found.sampled.into()),
        found.passing_before,
        found.passing_after,
        found.gained,
        found.lost
    );
    let share = |passing: u32| match found.sampled {
        0 => "0".to_owned(),
        all => format!("{} ({} %)", text::grouped(passing.into()), u64::from(passing) * 100 / u64::from(all)),
    };
    Preview {
        sample: if found.sampled < preview::SAMPLE {
            format!("all {} with Stamps", addresses(found.sampled.into()))
        } else {
            format!("a sample of {} with Stamps", addresses(found.sampled.into()))
        },
        any: found.sampled > 0,
        before: share(found.passing_before),
        after: share(found.passing_after),
        gained: text::grouped(found.gained.into()),
        lost: text::grouped(found.lost.into()),
        histogram: Histogram::new(description, bins.collect(), before, after),
    }
}

pub(crate) async fn rescore(
    PathId(id): PathId,
    SubmittedForm { state, who: ScoringManager(who, scoring), .. }: SubmittedForm<ScoringManager>,
) -> Result<Response, Error> {
    let id = scorer_id(&id)?;
    let found = scorers::start_rescore(&scoring, &who.person.actor(), id).await?;
    let notice = if found.running { Notice::RescoreStarted } else { Notice::NothingToRescore };
    Ok(notice.redirect(state.cookies, &path(id)))
}

pub(crate) async fn remove(
    PathId(id): PathId,
    SubmittedForm { state, who: ScoringManager(who, scoring), .. }: SubmittedForm<ScoringManager>,
) -> Result<Response, Error> {
    scorers::remove(&scoring.audited, &who.person.actor(), scorer_id(&id)?).await?;
    Ok(Notice::ScorerRemoved.redirect(state.cookies, "/app/scorers"))
}
