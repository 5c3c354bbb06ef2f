//! Policies that members proposed, and the passkey that applies them.

use axum::response::Response;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::StagedPolicyId;
use pyxis_gateway::Error as Service;
use pyxis_gateway::admin::{passkeys, staged};
use pyxis_store::Store;

use super::ceremony::{answer, challenge};
use super::policy_diff;
use crate::Error;
use crate::error::html;
use crate::form::{Page, PathId, SubmittedForm};
use crate::notice::Notice;
use crate::session::SignedIn;
use crate::view::Timestamp;
use crate::view::staged::StagedPage;

/// The proposal, for its maker and for managers.
async fn find(store: &Store, now: UnixMillis, who: &SignedIn, id: &str) -> Result<staged::Staged, Error> {
    let id: StagedPolicyId = id.parse().map_err(|_| Error::NotFound)?;
    let found = staged::get(store, who.person.workspace(), id, now).await?;
    let may = found.row.user_id == who.person.user.id || who.person.user.role.is_manager();
    if may { Ok(found) } else { Err(Error::NotFound) }
}

pub(crate) async fn page(
    Page { state, who, .. }: Page<SignedIn>,
    PathId(id): PathId,
) -> Result<Response, Error> {
    let found = find(&state.gateway.store, state.gateway.now(), &who, &id).await?;
    let now = state.gateway.now();
    let mine = found.row.user_id == who.person.user.id;
    html(&StagedPage {
        shell: who.shell(&state).await?,
        id: found.row.id.to_string(),
        changes: policy_diff::changes(found.present.as_ref(), &found.policy),
        credential: found.credential.name,
        by: found.by.email,
        at: Timestamp::new(found.row.created_at, now),
        expires: Timestamp::new(found.row.expires_at, now),
        mine,
        has_passkey: !passkeys::list(&state.gateway.store, &who.person.user).await?.is_empty(),
        outdated: found.outdated,
    })
}

/// The challenge for the maker's passkey.
pub(crate) async fn begin(
    PathId(id): PathId,
    SubmittedForm { state, who, .. }: SubmittedForm<SignedIn>,
) -> Result<Response, Error> {
    let found = find(&state.gateway.store, state.gateway.now(), &who, &id).await?;
    challenge(passkeys::begin_apply(&state.gateway, &who.person, &found).await)
}

pub(crate) async fn apply(
    PathId(id): PathId,
    SubmittedForm { state, who, fields }: SubmittedForm<SignedIn>,
) -> Result<Response, Error> {
    let found = find(&state.gateway.store, state.gateway.now(), &who, &id).await?;
    let here = format!("/app/staged/{}", found.row.id);
    let Some(given) = answer(&fields) else {
        return Ok(Notice::PasskeyFailed.redirect(state.cookies, &here));
    };
    match passkeys::apply(&state.gateway, &who.person, found.row.id, &given).await {
        Ok(()) => {
            let policy = format!("/app/policies/{}", found.credential.name);
            Ok(Notice::StagedApplied.redirect(state.cookies, &policy))
        }
        Err(Service::PasskeyRefused(_)) => Ok(Notice::PasskeyFailed.redirect(state.cookies, &here)),
        Err(Service::Conflict(_)) => Ok(Notice::StagedOutdated.redirect(state.cookies, &here)),
        Err(error) => Err(error.into()),
    }
}

pub(crate) async fn withdraw(
    PathId(id): PathId,
    SubmittedForm { state, who, .. }: SubmittedForm<SignedIn>,
) -> Result<Response, Error> {
    let found = find(&state.gateway.store, state.gateway.now(), &who, &id).await?;
    staged::withdraw(&state.gateway.audited, &who.person, found.row.id).await?;
    Ok(Notice::StagedWithdrawn.redirect(state.cookies, "/app/policies"))
}
