//! Credentials from a `.env` file. The posted content is read once and never shown again.

use axum::response::Response;
use pyxis_gateway::admin::dotenv::{self, ImportLine, ImportOutcome};

use super::agents::unprocessable;
use crate::Error;
use crate::error::html;
use crate::form::{Form, Page};
use crate::session::Manager;
use crate::view::Problems;
use crate::view::credentials::{ImportPage, ImportedLine};

pub(crate) async fn page(Page { state, who, .. }: Page<Manager>) -> Result<Response, Error> {
    html(&ImportPage { shell: who.shell(&state).await?, lines: None, problems: Problems::default() })
}

pub(crate) async fn import(Form { state, who, fields }: Form<Manager>) -> Result<Response, Error> {
    let mut problems = Problems::default();
    if fields.trimmed("env").is_empty() {
        problems.add("env", "Paste the content of a .env file.");
        let page = ImportPage { shell: who.shell(&state).await?, lines: None, problems };
        return Ok(unprocessable(html(&page)?));
    }
    let lines = dotenv::import(&state.gateway, &who.person.actor(), fields.get("env")).await?;
    let lines = Some(lines.into_iter().map(shown).collect());
    html(&ImportPage { shell: who.shell(&state).await?, lines, problems })
}

fn shown(line: ImportLine) -> ImportedLine {
    ImportedLine {
        number: line.number,
        variable: line.variable.unwrap_or_default(),
        credential: line.credential.unwrap_or_default().to_owned(),
        outcome: line.outcome.words(),
        stored: line.outcome == ImportOutcome::Stored,
    }
}
