//! Trusted issuers of verifiable credentials.

use axum::response::Response;
use pyxis_scoring::service::issuers::{self, Added};
use pyxis_store::issuers::IssuerRow;
use pyxis_store::lists::{self, SortKey};

use super::agents::unprocessable;
use super::list_query::{ListQuery, ListSlot};
use super::scoring::problem;
use super::table::{By, Table};
use crate::error::html;
use crate::form::{Page, PathId, SubmittedForm};
use crate::notice::Notice;
use crate::session::{ScoringManager, SignedIn};
use crate::view::catalogue::{IssuerLine, IssuersPage};
use crate::view::{Problems, Timestamp};
use crate::{Error, State};

const HERE: &str = "/app/issuers";

const TABLE: Table<IssuerRow, SortKey<IssuerRow>> = Table {
    name: "issuers",
    place: ListSlot::First,
    columns: &[
        ("name", By::Text(|row| row.name.clone()), IssuerRow::NAME),
        ("did", By::Text(|row| row.did.clone()), IssuerRow::DID),
        ("listed", By::Time(|row| Some(row.created_at)), IssuerRow::CREATED),
    ],
    usual: "name",
};

pub(crate) async fn list(
    Page { state, who: ScoringManager(who, scoring), query: asked }: Page<ScoringManager, ListQuery>,
) -> Result<Response, Error> {
    page(&state, &scoring, &who, &asked, (String::new(), String::new()), Problems::default()).await
}

async fn page(
    state: &State,
    scoring: &pyxis_scoring::State,
    who: &SignedIn,
    asked: &ListQuery,
    (did, name): (String, String),
    problems: Problems,
) -> Result<Response, Error> {
    let now = state.gateway.now();
    let list = lists::issuers(who.person.workspace());
    if let Some(file) = TABLE.file(&scoring.store, asked, &list) {
        return Ok(file);
    }
    let (rows, search) = TABLE.page(&scoring.store, HERE, asked, &list).await?;
    let line = |row: IssuerRow| IssuerLine {
        did: row.did,
        name: row.name,
        added: Timestamp::new(row.created_at, now),
    };
    let issuers = rows.into_iter().map(line).collect();
    let add = format!(
        "curl {}/admin/issuers \\\n  -H 'Authorization: Bearer <session token>' \\\n  \
         -H 'Content-Type: application/json' \\\n  \
         -d '{{\"did\":\"did:ethr:0x…\",\"name\":\"Our own issuer\"}}'",
        state.gateway.config.base_url
    );
    html(&IssuersPage { shell: who.shell(state).await?, search, issuers, add, did, name, problems })
}

pub(crate) async fn add(
    SubmittedForm { state, who: ScoringManager(who, scoring), fields }: SubmittedForm<ScoringManager>,
) -> Result<Response, Error> {
    let (did, name) = (fields.trimmed("did"), fields.trimmed("name"));
    let problems = match issuers::add(&scoring.audited, &who.person.actor(), &did, &name).await {
        Ok((_, Added::New)) => return Ok(Notice::IssuerAdded.redirect(state.cookies, HERE)),
        Ok((_, Added::Renamed | Added::Unchanged)) => {
            return Ok(Notice::IssuerRenamed.redirect(state.cookies, HERE));
        }
        Err(error) => problem(error, |name| if name == "did" { "did" } else { "name" })?,
    };
    Ok(unprocessable(page(&state, &scoring, &who, &ListQuery::default(), (did, name), problems).await?))
}

pub(crate) async fn remove(
    PathId(did): PathId,
    SubmittedForm { state, who: ScoringManager(who, scoring), .. }: SubmittedForm<ScoringManager>,
) -> Result<Response, Error> {
    issuers::remove(&scoring.audited, &who.person.actor(), &did).await?;
    Ok(Notice::IssuerRemoved.redirect(state.cookies, HERE))
}
