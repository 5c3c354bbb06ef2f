//! Credentials from a `.env` file. The posted content is read once and never shown again.

use axum::response::Response;
use pyxis_gateway::admin::dotenv::{self, ImportLine, ImportOutcome};

use super::agents::unprocessable;
use crate::Error;
use crate::error::html;
use crate::form::{Page, SubmittedForm};
use crate::session::Manager;
use crate::view::Problems;
use crate::view::credentials::{ImportPage, ImportedLine};

pub(crate) async fn page(Page { state, who, .. }: Page<Manager>) -> Result<Response, Error> {
    html(&ImportPage { shell: who.shell(&state).await?, lines: None, problems: Problems::default() })
}

pub(crate) async fn import(
    SubmittedForm { state, who, fields }: SubmittedForm<Manager>,
) -> Result<Response, Error> {
    let mut problems = Problems::default();
    if fields.trimmed("env").is_empty() {
        problems.add("env", "Paste the content of a .env file.");
        let page = ImportPage { shell: who.shell(&state).await?, lines: None, problems };
        return Ok(unprocessable(html(&page)?));
    }
    let lines = dotenv::import(&state.gateway, &who.person.actor(), fields.get("env")).await?;
    let lines = Some(lines.into_iter().map(to_view).collect());
    html(&ImportPage { shell: who.shell(&state).await?, lines, problems })
}

fn to_view(line: ImportLine) -> ImportedLine {
    ImportedLine {
        number: line.number,
        variable: line.variable.unwrap_or_default(),
        credential: line.credential.unwrap_or_default().to_owned(),
        outcome: line.outcome.describe(),
        stored: line.outcome == ImportOutcome::Stored,
    }
}
