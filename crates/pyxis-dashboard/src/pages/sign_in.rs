//! Signing in and out.

use axum::extract::State as Extract;
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use pyxis_core::clock::UnixMillis;
use pyxis_gateway::Error as Service;
use pyxis_gateway::admin::sessions::{self, LinkHolder, Person};
use pyxis_gateway::admin::workspaces;
use pyxis_store::Store;
use pyxis_store::users::UserRow;
use serde::Deserialize;

use crate::error::html;
use crate::form::{Fields, PathId, QueryParams, SubmittedForm};
use crate::notice::see_other;
use crate::session::{self, AnonymousVisit, HasCsrf, SignedIn, local_path};
use crate::view::sign_in::{LinkPage, SignInPage, SignInState};
use crate::{Error, State, text};

pub(super) const HOME: &str = super::home::HERE;

#[derive(Default, Deserialize)]
pub(crate) struct SignInParams {
    #[serde(default)]
    next: String,
    #[serde(default)]
    ended: String,
}

pub(crate) async fn sign_in_page(
    Extract(state): Extract<State>,
    visit: AnonymousVisit,
    headers: HeaderMap,
    QueryParams(SignInParams { next, ended }): QueryParams<SignInParams>,
) -> Result<Response, Error> {
    let next = local_path(&next).unwrap_or_default();
    if session::person(&state, &headers).await?.is_some() {
        return Ok(see_other(if next.is_empty() { HOME } else { next }));
    }
    let shown = if ended.is_empty() { SignInState::Fresh } else { SignInState::Ended };
    Ok(visit.set_cookie(state.cookies, html(&page(&visit, "", next, shown))?))
}

pub(super) fn page(visit: &AnonymousVisit, email: &str, next: &str, state: SignInState) -> SignInPage {
    let purpose = if next.starts_with("/approve/") || next.starts_with("/app/approvals/") {
        Some("Sign in to decide an agent's request.")
    } else if next.starts_with("/app/oauth/consent") {
        Some("Sign in to decide whether a program may act as an agent.")
    } else {
        None
    };
    SignInPage {
        csrf: visit.csrf().to_owned(),
        email: email.to_owned(),
        next: next.to_owned(),
        purpose: purpose.map(str::to_owned),
        state,
    }
}

pub(crate) async fn sign_in(
    headers: HeaderMap,
    SubmittedForm { state, who: visit, fields }: SubmittedForm<AnonymousVisit>,
) -> Result<Response, Error> {
    let email = fields.trimmed("email");
    let next = local_path(fields.get("next")).unwrap_or_default();
    let password = pyxis_core::secret::SecretString::new(fields.get("password").to_owned());
    let tried = sessions::sign_in(&state.gateway, &email, &password, LinkHolder::Browser).await;
    let (status, shown) = match tried {
        Ok(opened) => {
            leave_old_session(&state, &headers).await?;
            return Ok(session::begin(
                state.cookies,
                &opened,
                see_other(if next.is_empty() { HOME } else { next }),
            ));
        }
        Err(Service::WrongPassword) => (StatusCode::UNAUTHORIZED, SignInState::Wrong),
        Err(Service::Locked { until, .. }) => {
            let minutes = until.since(state.gateway.now()).as_secs().div_ceil(60).max(1);
            let wait = text::count_noun(minutes, "minute");
            (StatusCode::TOO_MANY_REQUESTS, SignInState::Locked { wait })
        }
        Err(Service::Conflict(_)) => (StatusCode::CONFLICT, SignInState::Ambiguous),
        Err(error) => return Err(error.into()),
    };
    let mut response = html(&page(&visit, &email, next, shown))?;
    *response.status_mut() = status;
    Ok(visit.set_cookie(state.cookies, response))
}

/// Ends the browser's previous session: it has one at a time.
pub(super) async fn leave_old_session(state: &State, headers: &HeaderMap) -> Result<(), Error> {
    if let Some(person) = session::person(state, headers).await? {
        sessions::sign_out(&state.gateway, &person).await?;
    }
    Ok(())
}

pub(crate) async fn sign_out(
    SubmittedForm { state, who, .. }: SubmittedForm<SignedIn>,
) -> Result<Response, Error> {
    sessions::sign_out(&state.gateway, &who.person).await?;
    Ok(session::end(state.cookies, see_other("/sign-in")))
}

/// Opening a link changes nothing: programs open links, too.
pub(crate) async fn link_page(
    Extract(state): Extract<State>,
    visit: AnonymousVisit,
    PathId(token): PathId,
) -> Result<Response, Error> {
    let user = owner_of(&state.gateway.store, state.gateway.now(), &token).await?;
    let page = link_form(&state.gateway.store, &visit, &token, &user, None).await?;
    Ok(visit.set_cookie(state.cookies, html(&page)?))
}

async fn owner_of(store: &Store, now: UnixMillis, token: &str) -> Result<UserRow, Error> {
    let user = sessions::peek_link(store, token, now).await?;
    user.filter(|user| user.disabled_at.is_none()).ok_or(Error::LinkUsed)
}

async fn link_form(
    store: &Store,
    visit: &AnonymousVisit,
    token: &str,
    user: &UserRow,
    problem: Option<String>,
) -> Result<LinkPage, Error> {
    Ok(LinkPage {
        csrf: visit.csrf().to_owned(),
        token: token.to_owned(),
        email: user.email.clone(),
        workspace: workspaces::get(store, user.workspace_id).await?.name,
        set_password: user.password_hash.is_none(),
        problem,
    })
}

pub(crate) async fn link(
    PathId(token): PathId,
    headers: HeaderMap,
    SubmittedForm { state, who: visit, fields }: SubmittedForm<AnonymousVisit>,
) -> Result<Response, Error> {
    let user = owner_of(&state.gateway.store, state.gateway.now(), &token).await?;
    // Checked before the link is used up, so that a typing error does not cost it.
    if let Some(problem) = password_problem(&fields, user.password_hash.is_none()) {
        let page = link_form(&state.gateway.store, &visit, &token, &user, Some(problem)).await?;
        let mut response = html(&page)?;
        *response.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
        return Ok(visit.set_cookie(state.cookies, response));
    }
    let (opened, user) = match sessions::sign_in_by_link(&state.gateway, &token, LinkHolder::Browser).await {
        Err(Service::NotFound(_)) => return Err(Error::LinkUsed),
        other => other?,
    };
    leave_old_session(&state, &headers).await?;
    if !fields.get("password").is_empty() {
        let person = Person::new(opened.session.clone(), user);
        let password = pyxis_core::secret::SecretString::new(fields.get("password").to_owned());
        sessions::set_password(&state.gateway, &person, &password).await?;
    }
    Ok(session::begin(state.cookies, &opened, see_other(HOME)))
}

fn password_problem(fields: &Fields, required: bool) -> Option<String> {
    let password = fields.get("password");
    if password.is_empty() && !required {
        return None;
    }
    let (min, max) = (sessions::PASSWORD.start(), sessions::PASSWORD.end());
    if !sessions::PASSWORD.contains(&password.chars().count()) {
        return Some(format!("Use {min} to {max} characters. Nothing was changed."));
    }
    let differ = password != fields.get("password_again");
    differ.then(|| "The passwords differ. Enter the same password twice.".to_owned())
}
