//! The population of a scorer, and exports of it and of suspected groups.

use axum::body::Body;
use axum::response::Response;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::ScorerId;
use pyxis_scoring::TableFormat;
use pyxis_scoring::service::clusters::{self, ClusterFormat};
use pyxis_scoring::service::population::{self, DayRate, Population, StampShare};
use pyxis_scoring::service::scorers;
use serde::Deserialize;

use super::file;
use super::scoring::day;
use crate::Error;
use crate::error::html;
use crate::form::{Page, PathId};
use crate::session::ScoringManager;
use crate::text::{count_noun, grouped};
use crate::view::population::{PopulationDay, PopulationPage, PopulationStamp};

/// Days and Stamps that the page lists; the API has all.
const LISTED: usize = 60;

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct PopulationQuery {
    at: String,
    format: String,
}

impl PopulationQuery {
    /// The end of the chosen day, UTC; a day that is not over or not a day counts as now.
    fn end_of_day(&self, now: UnixMillis) -> Option<UnixMillis> {
        let start = UnixMillis::parse_rfc3339(&format!("{}T00:00:00Z", self.at.trim()))?;
        let end = UnixMillis(start.0.saturating_add(86_400_000));
        Some(end).filter(|end| *end <= now)
    }
}

pub(crate) async fn show(
    Page { state, who: ScoringManager(who, scoring), query }: Page<ScoringManager, PopulationQuery>,
    PathId(id): PathId,
) -> Result<Response, Error> {
    let id: ScorerId = id.parse().map_err(|_| Error::NotFound)?;
    let at = query.end_of_day(scoring.now());
    let scorer = scorers::get(&scoring.store, who.person.workspace(), id, scoring.now()).await?;
    let population = Population::load(&scoring.store, scoring.now(), &who.person.actor(), id, at).await?;
    let found = population::summary(&population).await?;
    let chosen = at.map(|_| query.at.trim().to_owned());
    let days = found.days.iter().rev().take(LISTED).map(rate).collect();
    html(&PopulationPage {
        shell: who.shell(&state).await?,
        id: id.to_string(),
        name: scorer.name,
        latest: day(UnixMillis(scoring.now().0.saturating_sub(86_400_000))),
        addresses: grouped(found.addresses),
        passing: grouped(found.passing),
        share: percent(found.passing, found.addresses),
        outdated: (found.outdated > 0).then(|| count_noun(found.outdated, "score")),
        stamps: found.stamps.iter().take(LISTED).map(|share| stamp(share, found.addresses)).collect(),
        days,
        query: chosen.as_ref().map(|at| format!("&at={at}")).unwrap_or_default(),
        at: chosen,
    })
}

fn percent(part: u64, whole: u64) -> String {
    part.saturating_mul(100).checked_div(whole).map_or_else(|| "–".to_owned(), |share| format!("{share} %"))
}

fn rate(rate: &DayRate) -> PopulationDay {
    PopulationDay {
        day: day(rate.day),
        addresses: grouped(rate.addresses),
        passing: grouped(rate.passing),
        share: percent(rate.passing, rate.addresses),
        bar: rate.passing.saturating_mul(100) / rate.addresses.max(1),
    }
}

fn stamp(share: &StampShare, all: u64) -> PopulationStamp {
    PopulationStamp {
        name: share.name.clone(),
        addresses: grouped(share.addresses),
        share: percent(share.addresses, all),
        passing: grouped(share.passing),
        deduplicated: grouped(share.deduplicated),
    }
}

pub(crate) async fn export(
    Page { who: ScoringManager(who, scoring), query, .. }: Page<ScoringManager, PopulationQuery>,
    PathId(id): PathId,
) -> Result<Response, Error> {
    let id: ScorerId = id.parse().map_err(|_| Error::NotFound)?;
    let format = TableFormat::from_name(&query.format).unwrap_or(TableFormat::Csv);
    let actor = who.person.actor();
    let population =
        Population::load(&scoring.store, scoring.now(), &actor, id, query.end_of_day(scoring.now())).await?;
    let pieces = population::export(&scoring.audited, &actor, population, format).await?;
    let name = format!("pyxis-scorer-{id}.{}", format.as_str());
    Ok(file::download(format.content_type(), &name, Body::from_stream(pieces)))
}

pub(crate) async fn export_clusters(
    Page { who: ScoringManager(_, scoring), query, .. }: Page<ScoringManager, PopulationQuery>,
) -> Result<Response, Error> {
    let format = ClusterFormat::from_name(&query.format).unwrap_or(ClusterFormat::Csv);
    let pieces = clusters::export(scoring.store.clone(), format)?;
    let name = format!("pyxis-clusters.{}", format.as_str());
    Ok(file::download(format.content_type(), &name, Body::from_stream(pieces)))
}
