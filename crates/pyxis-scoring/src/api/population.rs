//! `/admin/scorers/{id}/population`.

use std::collections::BTreeMap;

use axum::extract::State as Extract;
use axum::response::Response;
use pyxis_core::address::EvmAddress;
use pyxis_core::clock::{UnixMillis, parse_rfc3339_of_query};
use pyxis_core::id::ScorerId;
use pyxis_http::admin::{Cursor, Listed, Manager, PageSize, Paged, PagedList, Result};
use pyxis_http::openapi::responses::{InvalidField, NotFound};
use pyxis_http::openapi::{Time, text};
use pyxis_http::{Json, Path, Query};
use serde::{Deserialize, Serialize};
use utoipa::openapi::ObjectBuilder;
use utoipa::{IntoParams, ToSchema};

use super::streamed;
use crate::address;
use crate::service::Error;
use crate::service::population::{self, Population, ScoredAddress};
use crate::state::State;
use crate::tabular::TableFormat;
use crate::values::{Address, TableFormatName};

/// Rows of a page.
const SIZE: PageSize = PageSize { default: 100, most: 1000 };

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct PopulationParams {
    /// A moment that is over: scores as they were answered before it. Without it, scores as they stand.
    #[param(format = "date-time")]
    at: Option<String>,
    /// Address to continue after: `next_after` of the previous page.
    after: Option<String>,
    /// Size of the page.
    #[param(default = 100, minimum = 1, maximum = 1000)]
    limit: Option<u32>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct MomentParams {
    /// A moment that is over: scores as they were answered before it. Without it, scores as they stand.
    #[param(format = "date-time")]
    at: Option<String>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct PopulationExportParams {
    /// A moment that is over: scores as they were answered before it. Without it, scores as they stand.
    #[param(format = "date-time")]
    at: Option<String>,
    #[param(value_type = Option<TableFormatName>, inline)]
    format: Option<String>,
}

#[derive(Serialize, ToSchema)]
pub(super) struct PopulationScore {
    #[schema(value_type = Address)]
    address: String,
    #[schema(example = "22.59800")]
    score: String,
    #[schema(example = "20.00000")]
    threshold: String,
    passing: bool,
    #[schema(example = "2026-01-31T09:00:00.000000+00:00")]
    computed_at: String,
    #[schema(required, example = "2026-05-01T09:00:00.000000+00:00")]
    expires_at: Option<String>,
    /// True if the score is to be computed again.
    outdated: bool,
    #[schema(required, example = json!(null))]
    error: Option<String>,
    /// Stamps by name.
    stamps: BTreeMap<String, PopulationStamp>,
}

#[derive(Serialize, ToSchema)]
struct PopulationStamp {
    #[schema(example = "0.51600")]
    score: String,
    dedup: bool,
    #[schema(example = "2026-05-01T09:00:00.000000+00:00")]
    expires_at: String,
}

impl Listed for PopulationScore {
    const MEMBER: &'static str = "scores";
    const LIST_SCHEMA: Option<&'static str> = Some("PopulationPage");
}

impl Paged for PopulationScore {
    type Cursor = AddressCursor;
    const NEXT: &'static str = "next_after";
    const PARAMETER: &'static str = "after";

    fn cursor(&self) -> AddressCursor {
        AddressCursor(self.address.clone())
    }
}

/// A position among scores: the last address of a page.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(super) struct AddressCursor(String);

impl Cursor for AddressCursor {
    fn schema() -> ObjectBuilder {
        text().pattern(Some("^0x[0-9A-Fa-f]{40}$"))
    }
}

pub(super) type PopulationPage = PagedList<PopulationScore>;

#[derive(Serialize, ToSchema)]
pub(super) struct PopulationSummary {
    /// Scored addresses.
    #[schema(example = 1200)]
    addresses: u64,
    /// Those that pass.
    #[schema(example = 810)]
    passing: u64,
    /// Those whose score is to be computed again.
    #[schema(example = 0)]
    outdated: u64,
    /// The most frequent first.
    stamps: Vec<PopulationStampShare>,
    /// Days on which scores were answered, oldest first, each with all answers until its end. With `at`, the last one
    /// has the answers before it.
    days: Vec<PopulationDay>,
}

#[derive(Serialize, ToSchema)]
struct PopulationStampShare {
    #[schema(example = "Discord")]
    name: String,
    #[schema(example = 900)]
    addresses: u64,
    #[schema(example = 700)]
    passing: u64,
    /// Addresses for which it does not count, because another address has it.
    #[schema(example = 12)]
    deduplicated: u64,
}

#[derive(Serialize, ToSchema)]
struct PopulationDay {
    /// Start of the day, UTC.
    #[schema(value_type = Time)]
    day: String,
    #[schema(example = 1200)]
    addresses: u64,
    #[schema(example = 810)]
    passing: u64,
}

/// List the scored addresses of a scorer.
///
/// In the order of the addresses. Scores are listed as they are stored: stale ones (`outdated`) are recomputed when
/// they are next requested.
#[utoipa::path(
    get,
    path = "/admin/scorers/{id}/population",
    tag = "Scorers",
    operation_id = "listPopulation",
    security(("session" = [])),
    params(("id" = u64, Path, minimum = 1), PopulationParams),
    responses(
        (status = 200, description = "A page.", body = PopulationPage),
        (status = 404, response = NotFound),
        (status = 422, response = InvalidField),
    ),
)]
pub(super) async fn list(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(scorer): Path<String>,
    Query(asked): Query<PopulationParams>,
) -> Result<Json<PopulationPage>> {
    let at = parse_time(asked.at.as_deref())?;
    let after = asked.after.as_deref().map(address::read).transpose();
    let after: Option<EvmAddress> =
        after.map_err(|_| Error::field("after", "0x and 40 hex digits, in lower case or with checksum"))?;
    let population = Population::load(&state.store, state.now(), &actor, scorer_id(&scorer)?, at).await?;
    let limit = SIZE.require(asked.limit)?;
    let page = population.page(after, limit).await?;
    Ok(Json(PagedList::new(page.into_iter().map(population_score).collect(), limit)))
}

/// Summarize the scored addresses of a scorer.
///
/// Reads all of them: seconds for a million.
#[utoipa::path(
    get,
    path = "/admin/scorers/{id}/population/summary",
    tag = "Scorers",
    operation_id = "summarizePopulation",
    security(("session" = [])),
    params(("id" = u64, Path, minimum = 1), MomentParams),
    responses(
        (status = 200, description = "The numbers.", body = PopulationSummary),
        (status = 404, response = NotFound),
        (status = 422, response = InvalidField),
    ),
)]
pub(super) async fn summary(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(scorer): Path<String>,
    Query(asked): Query<MomentParams>,
) -> Result<Json<PopulationSummary>> {
    let at = parse_time(asked.at.as_deref())?;
    let population = Population::load(&state.store, state.now(), &actor, scorer_id(&scorer)?, at).await?;
    let found = population::summary(&population).await?;
    let share = |share: population::StampShare| PopulationStampShare {
        name: share.name,
        addresses: share.addresses,
        passing: share.passing,
        deduplicated: share.deduplicated,
    };
    let day = |rate: population::DayRate| PopulationDay {
        day: rate.day.to_rfc3339(),
        addresses: rate.addresses,
        passing: rate.passing,
    };
    Ok(Json(PopulationSummary {
        addresses: found.addresses,
        passing: found.passing,
        outdated: found.outdated,
        stamps: found.stamps.into_iter().map(share).collect(),
        days: found.days.into_iter().map(day).collect(),
    }))
}

/// Export all scored addresses of a scorer.
///
/// A line for each address. CSV by default.
#[utoipa::path(
    get,
    path = "/admin/scorers/{id}/population/export",
    tag = "Scorers",
    operation_id = "exportPopulation",
    security(("session" = [])),
    params(("id" = u64, Path, minimum = 1), PopulationExportParams),
    responses(
        (
            status = 200,
            description = "The file.",
            content((String = "text/csv"), (String = "application/vnd.apache.parquet")),
        ),
        (status = 404, response = NotFound),
        (status = 422, response = InvalidField),
    ),
)]
pub(super) async fn export(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(scorer): Path<String>,
    Query(asked): Query<PopulationExportParams>,
) -> Result<Response> {
    let format = table_format(asked.format.as_deref())?;
    let at = parse_time(asked.at.as_deref())?;
    let scorer = scorer_id(&scorer)?;
    let population = Population::load(&state.store, state.now(), &actor, scorer, at).await?;
    let pieces = population::export(&state.audited, &actor, population, format).await?;
    let name = format!("pyxis-scorer-{scorer}.{}", format.as_str());
    Ok(streamed::file(format.content_type(), &name, pieces))
}

/// The format of a download; CSV unless another one is named.
pub(super) fn table_format(name: Option<&str>) -> Result<TableFormat, Error> {
    let name = name.unwrap_or("csv");
    TableFormat::from_name(name)
        .ok_or_else(|| Error::field("format", format!("must be csv or parquet, not {name}")))
}

fn scorer_id(text: &str) -> Result<ScorerId, Error> {
    text.parse().map_err(|_| Error::not_found("scorer"))
}

fn parse_time(text: Option<&str>) -> Result<Option<UnixMillis>, Error> {
    let read = |text| {
        parse_rfc3339_of_query(text)
            .ok_or_else(|| Error::field("at", "a time, for example 2026-01-31T09:05:00Z"))
    };
    text.map(read).transpose()
}

fn population_score(found: ScoredAddress) -> PopulationScore {
    let stamps = found.stamps.into_iter().map(|stamp| {
        let shown = PopulationStamp { score: stamp.score, dedup: stamp.dedup, expires_at: stamp.expires_at };
        (stamp.name, shown)
    });
    PopulationScore {
        address: found.address.to_string(),
        score: found.score,
        threshold: found.threshold,
        passing: found.passing,
        computed_at: found.computed_at,
        expires_at: found.expires_at,
        outdated: found.outdated,
        error: found.error,
        stamps: stamps.collect(),
    }
}
