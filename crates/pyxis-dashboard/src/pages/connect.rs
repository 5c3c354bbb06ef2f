//! Connecting an account at an OAuth 2.0 provider. The provider sends people back with a GET, and a GET changes
//! nothing. The page they return to therefore asks for one more click.

use axum::response::Response;
use pyxis_gateway::Error as Service;
use pyxis_gateway::admin::connected_accounts;
use serde::Deserialize;

use crate::Error;
use crate::error::html;
use crate::form::{Page, PathId, SubmittedForm};
use crate::notice::Notice;
use crate::session::Manager;
use crate::view::connect::{ArrivedPage, ConsentPage};

/// Begins: the next page links to the provider. A redirect would not work, because browsers apply the policy for form
/// targets to redirects too.
pub(crate) async fn begin(
    PathId(name): PathId,
    SubmittedForm { state, who, .. }: SubmittedForm<Manager>,
) -> Result<Response, Error> {
    let person = &who.person;
    let url = connected_accounts::begin(&state.gateway, &person.actor(), person.user.id, &name).await?;
    html(&ConsentPage { shell: who.shell(&state).await?, name, url })
}

/// Query that a provider sends along.
#[derive(Default, Deserialize)]
pub(crate) struct CallbackQuery {
    #[serde(default)]
    state: String,
    #[serde(default)]
    code: String,
}

pub(crate) async fn finish_connect(
    Page { state, who, query: sent }: Page<Manager, CallbackQuery>,
) -> Result<Response, Error> {
    if sent.code.is_empty() || sent.state.is_empty() {
        return Ok(Notice::NotConnected.redirect(state.cookies, "/app/credentials"));
    }
    html(&ArrivedPage { shell: who.shell(&state).await?, state: sent.state, code: sent.code })
}

pub(crate) async fn finish(
    SubmittedForm { state, who, fields }: SubmittedForm<Manager>,
) -> Result<Response, Error> {
    let person = &who.person;
    let (token, code) = (fields.get("state"), fields.get("code"));
    match connected_accounts::finish(&state.gateway, &person.actor(), person.user.id, token, code).await {
        Ok(name) => Ok(Notice::Connected.redirect(state.cookies, &format!("/app/credentials/{name}"))),
        Err(Service::NotFound(_) | Service::TokenEndpoint(_) | Service::Conflict(_)) => {
            Ok(Notice::NotConnected.redirect(state.cookies, "/app/credentials"))
        }
        Err(error) => Err(error.into()),
    }
}
