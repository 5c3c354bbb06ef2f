//! Who sends a request: a session token or a personal access token in `Authorization: Bearer`.
//!
//! Each extractor is one kind of permission, so a route that needs it cannot forget to ask.

use std::collections::HashMap;

use axum::extract::{FromRequestParts, Path};
use axum::response::IntoResponse;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use http::request::Parts;
use pyxis_core::clock::UnixMillis;
use pyxis_http::admin::{ManagerAuth, ManagerFuture};
use pyxis_store::Store;
use pyxis_store::credentials::CredentialRow;

use crate::admin::callers::Caller;
use crate::admin::sessions::{self, Person};
use crate::admin::tokens::{self, Scopes};
use crate::admin::{credentials, rights};
use crate::error::{Error, Result};
use crate::runtime::state::State;

/// A person with a live session. No token will do: tokens neither make tokens nor end sessions.
pub struct SignedIn(pub Person);

/// A person with a session, or their token with `px:approve`.
pub struct Approving(pub Caller);

/// A person who may change the policy of the credential that the path names. It is an owner, an admin, or a member
/// with the Policy grant, with a session, or their token with `px:admin`.
pub struct Editing {
    pub caller: Caller,
    pub credential: CredentialRow,
}

/// An owner or admin with a live session. Anyone who holds a sign-in link can sign in as the person it is for, and
/// approve as them. No token creates one, since `px:admin` does not include `px:approve`.
pub(super) struct ManagerInPerson(pub Caller);

/// The token after `Bearer`.
fn bearer(headers: &HeaderMap) -> Result<&str> {
    let header = headers.get(AUTHORIZATION).ok_or(Error::Unauthenticated)?;
    let text = header.to_str().map_err(|_| Error::Unauthenticated)?;
    let (scheme, token) = text.split_once(' ').ok_or(Error::Unauthenticated)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(Error::Unauthenticated);
    }
    Ok(token.trim())
}

/// The caller: a session may do what the person may, a token only what its scopes say.
async fn caller(store: &Store, now: UnixMillis, headers: &HeaderMap, scope: &'static str) -> Result<Caller> {
    let text = bearer(headers)?;
    if !text.starts_with(tokens::PREFIX) {
        return Ok(sessions::find(store, text, now).await?.into_caller());
    }
    let (token, user) = tokens::find(store, text, now).await?;
    if !tokens::scopes(&token).names().contains(&scope) {
        return Err(Error::InsufficientScope(scope));
    }
    Ok(Caller { user, token: Some(token) })
}

async fn manager(store: &Store, now: UnixMillis, headers: &HeaderMap) -> Result<Caller> {
    let caller = caller(store, now, headers, Scopes::ADMIN).await?;
    caller.require_manager()?;
    Ok(caller)
}

impl FromRequestParts<State> for SignedIn {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self> {
        let text = bearer(&parts.headers)?;
        if text.starts_with(tokens::PREFIX) {
            tokens::find(&state.store, text, state.now()).await?;
            return Err(Error::Forbidden("only a session can do this; sign in with POST /session"));
        }
        sessions::find(&state.store, text, state.now()).await.map(Self)
    }
}

impl FromRequestParts<State> for ManagerInPerson {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self> {
        let SignedIn(person) = SignedIn::from_request_parts(parts, state).await?;
        person.require_manager()?;
        Ok(Self(person.into_caller()))
    }
}

impl FromRequestParts<State> for Approving {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self> {
        caller(&state.store, state.now(), &parts.headers, Scopes::APPROVE).await.map(Self)
    }
}

impl FromRequestParts<State> for Editing {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self> {
        let caller = caller(&state.store, state.now(), &parts.headers, Scopes::ADMIN).await?;
        let path = Path::<HashMap<String, String>>::from_request_parts(parts, state).await;
        let path = path.map_err(|_| Error::not_found("credential"))?;
        let name = path.get("credential").ok_or(Error::not_found("credential"))?;
        let credential = credentials::get(&state.store, caller.workspace(), name).await?;
        if rights::load(&state.store, &caller.user).await?.may_edit(credential.id) {
            return Ok(Self { caller, credential });
        }
        Err(Error::Forbidden("you do not have the Policy right for this credential; ask an owner or admin"))
    }
}

/// An owner or admin with a session, or their token with `px:admin`.
impl ManagerAuth<Caller> for State {
    fn manager<'a>(&'a self, headers: &'a HeaderMap) -> ManagerFuture<'a, Caller> {
        Box::pin(async move {
            manager(&self.store, self.now(), headers).await.map_err(IntoResponse::into_response)
        })
    }
}

/// The same, as the author of changes. Other interfaces keep no accounts: they ask this one.
impl ManagerAuth for State {
    fn manager<'a>(&'a self, headers: &'a HeaderMap) -> ManagerFuture<'a> {
        Box::pin(async move {
            let caller =
                manager(&self.store, self.now(), headers).await.map_err(IntoResponse::into_response)?;
            Ok(caller.actor())
        })
    }
}
