//! Policies that members proposed, and the passkey that applies them.

use axum::extract::State as Extract;
use axum::response::Response;
use pyxis_core::id::StagedPolicyId;
use pyxis_gateway::Error as Service;
use pyxis_gateway::admin::{passkeys, staged};

use super::ceremony::{answer, challenge};
use super::policy_diff;
use crate::error::html;
use crate::form::{Form, PathId};
use crate::notice::Notice;
use crate::session::SignedIn;
use crate::view::Timestamp;
use crate::view::policies::StagedLine;
use crate::view::staged::StagedPage;
use crate::{Error, State};

/// The proposals that the viewer may see.
pub(super) async fn lines(state: &State, who: &SignedIn) -> Result<Vec<StagedLine>, Error> {
    let now = state.gateway.now();
    let all = staged::list(&state.gateway.store, &who.person, state.gateway.now()).await?;
    Ok(all
        .into_iter()
        .map(|staged| StagedLine {
            id: staged.row.id.to_string(),
            credential: staged.credential.name,
            by: staged.by.email,
            at: Timestamp::new(staged.row.created_at, now),
        })
        .collect())
}

/// The proposal, for its maker and for managers.
async fn find(state: &State, who: &SignedIn, id: &str) -> Result<staged::Staged, Error> {
    let id: StagedPolicyId = id.parse().map_err(|_| Error::NotFound)?;
    let found = staged::get(&state.gateway.store, who.person.workspace(), id, state.gateway.now()).await?;
    let may = found.row.user_id == who.person.user.id || who.person.user.role.is_manager();
    if may { Ok(found) } else { Err(Error::NotFound) }
}

pub(crate) async fn page(
    Extract(state): Extract<State>,
    who: SignedIn,
    PathId(id): PathId,
) -> Result<Response, Error> {
    let found = find(&state, &who, &id).await?;
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
    Extract(state): Extract<State>,
    PathId(id): PathId,
    Form { who, .. }: Form<SignedIn>,
) -> Result<Response, Error> {
    let found = find(&state, &who, &id).await?;
    challenge(passkeys::begin_apply(&state.gateway, &who.person, &found).await)
}

pub(crate) async fn apply(
    Extract(state): Extract<State>,
    PathId(id): PathId,
    Form { who, fields }: Form<SignedIn>,
) -> Result<Response, Error> {
    let found = find(&state, &who, &id).await?;
    let here = format!("/app/staged/{}", found.row.id);
    let Some(given) = answer(&fields) else { return Ok(Notice::PasskeyFailed.then(&state, &here)) };
    match passkeys::apply(&state.gateway, &who.person, found.row.id, &given).await {
        Ok(()) => {
            let policy = format!("/app/policies/{}", found.credential.name);
            Ok(Notice::StagedApplied.then(&state, &policy))
        }
        Err(Service::PasskeyRefused(_)) => Ok(Notice::PasskeyFailed.then(&state, &here)),
        Err(Service::Conflict(_)) => Ok(Notice::StagedOutdated.then(&state, &here)),
        Err(error) => Err(error.into()),
    }
}

pub(crate) async fn withdraw(
    Extract(state): Extract<State>,
    PathId(id): PathId,
    Form { who, .. }: Form<SignedIn>,
) -> Result<Response, Error> {
    let found = find(&state, &who, &id).await?;
    staged::withdraw(&state.gateway.audited, &who.person, found.row.id).await?;
    Ok(Notice::StagedWithdrawn.then(&state, "/app/policies"))
}
