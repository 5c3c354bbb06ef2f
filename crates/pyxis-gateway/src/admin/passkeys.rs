//! Passkeys: registration, sign-in, approvals, and confirmation of policy proposals (Web Authentication Level 2,
//! sections 7.1 and 7.2; the library does the checks).

use pyxis_store::audit::AuditedStore;
use std::str::FromStr;

use pyxis_core::audit_event::AuditEvent;
use pyxis_core::id::{PasskeyId, StagedPolicyId};
use pyxis_store::ceremonies::Purpose;
use pyxis_store::passkeys::{self, PasskeyRow};
use pyxis_store::users::{self, UserRow};
use pyxis_store::{Store, StoreError, staged_policies};
use serde_json::json;
use webauthn_rs::prelude::{PasskeyRegistration, RegisterPublicKeyCredential, Uuid};

use super::callers::Caller;
use super::sessions::{self, LinkHolder, OpenedSession, Person, SESSION_LIFETIME};
use super::staged::{self, Staged};
use super::tokens::check_label;
use super::{policies, rights, satisfiability};
use crate::error::{Error, Result};
use crate::identity::ceremony::{self, begin, verify};
use crate::runtime::state::State;

pub use crate::identity::ceremony::{CeremonyResponse, Challenge, LIFETIME, VerifiedAssertion};

/// Maximum number of passkeys per person.
const MAX: usize = 20;
/// Passkeys of a person, oldest first.
pub async fn list(store: &Store, user: &UserRow) -> Result<Vec<PasskeyRow>> {
    Ok(passkeys::list(store, user.workspace_id, user.id).await?)
}

/// Creates a challenge for a new passkey. User verification is required, so that the passkey can approve. The first
/// passkey needs a session, further ones a fresh session: [`sessions::check_fresh`].
pub async fn begin_register(state: &State, person: &Person) -> Result<Challenge> {
    let user = &person.user;
    let known = list(&state.store, user).await?;
    if !known.is_empty() {
        sessions::check_fresh(&state.store, person, state.now()).await?;
    }
    if known.len() >= MAX {
        return Err(Error::Conflict("a person can have at most 20 passkeys; remove one first"));
    }
    let exclude = known.iter().map(|row| ceremony::key(row).map(|key| key.cred_id().clone()));
    let exclude = exclude.collect::<Result<Vec<_>>>()?;
    let begun = ceremony::relying_party(&state.config)?.start_passkey_registration(
        unique_id(user)?,
        &user.email,
        &user.email,
        Some(exclude),
    );
    let (options, pending) = begun.map_err(ceremony::broken)?;
    let mut options = ceremony::options(&options)?;
    // Preferred for sign-in without typing an address. An authenticator without storage may decline.
    options["authenticatorSelection"]["residentKey"] = json!("preferred");
    let pending = serde_json::to_string(&pending).map_err(ceremony::broken)?;
    ceremony::store_ceremony(state, Some(user.id), Purpose::Register, String::new(), pending, options).await
}

/// Registers the passkey that answered a challenge from [`begin_register`].
pub async fn register(
    state: &State,
    caller: &Caller,
    name: &str,
    answer: &CeremonyResponse,
) -> Result<PasskeyRow> {
    let name = check_label(name)?;
    let user = &caller.user;
    let begun =
        ceremony::consume(&state.store, answer, Purpose::Register, Some(user.id), state.now()).await?;
    let pending: PasskeyRegistration = serde_json::from_str(&begun.state).map_err(ceremony::broken)?;
    let given: RegisterPublicKeyCredential = answer.read()?;
    let made = ceremony::relying_party(&state.config)?.finish_passkey_registration(&given, &pending);
    let key = made.map_err(|error| ceremony::ceremony_error(&error))?;
    let now = state.now();
    let row = PasskeyRow {
        id: PasskeyId::new(now, &*state.entropy),
        workspace_id: user.workspace_id,
        user_id: user.id,
        credential: ceremony::text(key.cred_id().as_slice()),
        name: name.to_owned(),
        document: serde_json::to_string(&key).map_err(ceremony::broken)?,
        uses: 0,
        created_at: now,
        last_used_at: None,
    };
    let actor = caller.actor();
    let mut change = state.audited.begin(&actor).await?;
    match passkeys::insert(&mut change.tx, &row).await {
        Err(StoreError::Conflict { .. }) => return Err(Error::PasskeyRefused("it is already registered")),
        other => other?,
    }
    change.commit(AuditEvent::PasskeyAdded, json!({ "passkey": name, "id": row.id })).await?;
    Ok(row)
}

/// User handle stored by the authenticator: the id, which reveals nothing about the person.
fn unique_id(user: &UserRow) -> Result<Uuid> {
    Uuid::from_str(&user.id.to_string()).map_err(ceremony::broken)
}

pub async fn rename(db: &AuditedStore, caller: &Caller, id: PasskeyId, name: &str) -> Result<()> {
    let name = check_label(name)?;
    let actor = caller.actor();
    let mut change = db.begin(&actor).await?;
    if !passkeys::rename(&mut change.tx, caller.workspace(), caller.user.id, id, name).await? {
        return Err(Error::not_found("passkey"));
    }
    Ok(change.commit(AuditEvent::PasskeyRenamed, json!({ "passkey": name, "id": id })).await?)
}

/// Removes a passkey of the person. Needs a fresh session, because after removing all of them, the next one would be
/// the first.
pub async fn remove(db: &AuditedStore, person: &Person, id: PasskeyId) -> Result<()> {
    sessions::check_fresh(&db.store, person, db.now()).await?;
    let actor = person.actor();
    let mut change = db.begin(&actor).await?;
    if !passkeys::remove(&mut change.tx, person.workspace(), person.user.id, id).await? {
        return Err(Error::not_found("passkey"));
    }
    Ok(change.commit(AuditEvent::PasskeyRemoved, json!({ "id": id })).await?)
}

/// Creates a challenge for anyone with a passkey here. The answer identifies the person.
pub async fn begin_sign_in(state: &State) -> Result<Challenge> {
    begin(state, None, Purpose::SignIn, String::new(), &[]).await
}

/// Signs in the owner of the passkey that answered a challenge from [`begin_sign_in`].
pub async fn sign_in(state: &State, answer: &CeremonyResponse, holder: LinkHolder) -> Result<OpenedSession> {
    let verified = verify(state, answer, Purpose::SignIn, None).await?;
    let user = users::find(&state.store, verified.row.workspace_id, verified.row.user_id).await?;
    let user = user.filter(|user| user.disabled_at.is_none()).ok_or(Error::Unauthenticated)?;
    let mut tx = state.store.begin().await?;
    verified.record(&mut tx, state.now()).await?;
    tx.commit().await?;
    sessions::open(state, &user, holder, SESSION_LIFETIME).await
}

/// Creates a challenge with which a member applies their own proposal.
pub async fn begin_apply(state: &State, caller: &Caller, staged: &Staged) -> Result<Challenge> {
    check_apply(staged, caller)?;
    let keys = list(&state.store, &caller.user).await?;
    begin(state, Some(caller.user.id), Purpose::Policy, staged.binding(), &keys).await
}

fn check_apply(staged: &Staged, caller: &Caller) -> Result<()> {
    if staged.row.user_id != caller.user.id {
        return Err(Error::not_found("staged policy"));
    }
    if staged.outdated {
        return Err(Error::Conflict(OUTDATED));
    }
    Ok(())
}

const OUTDATED: &str = "the policy has changed since this was proposed; propose the change again";

/// Applies a proposal confirmed by its author's passkey: exactly the confirmed document, on exactly the version that it
/// was based on.
pub async fn apply(
    state: &State,
    caller: &Caller,
    id: StagedPolicyId,
    answer: &CeremonyResponse,
) -> Result<()> {
    let staged = staged::get(&state.store, caller.workspace(), id, state.now()).await?;
    check_apply(&staged, caller)?;
    if !rights::load(&state.store, &caller.user).await?.may_edit(staged.credential.id) {
        return Err(Error::Forbidden(
            "you no longer have the Policy right for this credential; ask an owner or admin",
        ));
    }
    satisfiability::check(&state.store, caller.workspace(), staged.credential.id, &staged.policy).await?;
    let verified = verify(state, answer, Purpose::Policy, Some(caller.user.id)).await?;
    verified.check_binding(&staged.binding())?;
    let (now, row) = (state.now(), &staged.row);
    let actor = caller.actor();
    let mut change = state.audited.begin(&actor).await?;
    let before = policies::before(&mut change, &staged.credential).await?;
    verified.record(&mut change.tx, now).await?;
    if !staged_policies::remove(&mut change.tx, row.workspace_id, id).await? {
        return Err(Error::not_found("staged policy"));
    }
    let version = pyxis_store::policies::replace_if_unchanged(
        &mut change.tx,
        row.workspace_id,
        row.credential_id,
        &row.document,
        row.base_version,
        &actor.name,
        now,
    );
    let version = version.await?.ok_or(Error::Conflict(OUTDATED))?;
    let credential = &staged.credential;
    let ended =
        policies::end_grants(state.now(), &mut change, credential, before.as_ref(), &staged.policy).await?;
    let ends =
        policies::stop_tasks(state.now(), &mut change, credential, before.as_ref(), &staged.policy).await?;
    let mut detail = json!({
        "version": version, "policy": staged.policy, "grants_ended": ended, "staged": id,
        "passkey": verified.row.id, "assertion": verified.evidence,
    });
    if ends.stopped() > 0 {
        detail["tasks_stopped"] = ends.stopped().into();
    }
    ends.record(&mut change).await?;
    change.commit_about(AuditEvent::PolicyChanged, Some(&credential.name), detail).await?;
    ends.count();
    Ok(())
}
