//! Personal access tokens, with which programs decide or administer on a person's behalf.

use pyxis_core::clock::UnixMillis;
use pyxis_store::Store;
use pyxis_store::audit::AuditedStore;
use std::time::Duration;

use pyxis_core::audit_event::AuditEvent;
use pyxis_core::entropy;
use pyxis_core::hex;
use pyxis_core::id::{AccessTokenId, UserId, WorkspaceId};
use pyxis_core::secret::SecretString;
use pyxis_store::access_tokens::{self, AccessTokenRow};
use pyxis_store::users::UserRow;
use serde_json::json;

use super::callers::Caller;
use crate::error::{Error, Result};
use crate::runtime::resolve::key_hash;
use crate::runtime::state::State;

/// Prefix of every token, which distinguishes it from a session and lets secret scanners find it.
pub const PREFIX: &str = "px_pat_";
/// Characters of a token that stay readable, to tell tokens apart.
const HINT: usize = PREFIX.len() + 6;
/// Maximum number of tokens per person.
const MAX: usize = 50;
/// Allowed lifetime, in days.
const DAYS: std::ops::RangeInclusive<u32> = 1..=3650;
/// Minimum interval between recorded uses.
const NOTED_EVERY: Duration = Duration::from_mins(1);

/// Scopes of a token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scopes {
    /// `px:approve`: see and decide requests.
    pub approve: bool,
    /// `px:admin`: administer. Does not include `px:approve`.
    pub admin: bool,
}

impl Scopes {
    /// `px:approve`.
    pub const APPROVE: &'static str = "px:approve";
    /// `px:admin`.
    pub const ADMIN: &'static str = "px:admin";

    /// Parses scope names.
    pub fn parse<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let mut scopes = Self::default();
        for name in names {
            match name {
                Self::APPROVE => scopes.approve = true,
                Self::ADMIN => scopes.admin = true,
                _ => return Err(Error::field("scopes", "unknown scope; use px:approve, px:admin or both")),
            }
        }
        if scopes == Self::default() {
            return Err(Error::field("scopes", "name at least one of px:approve and px:admin"));
        }
        Ok(scopes)
    }

    /// Names of the scopes.
    pub fn names(self) -> Vec<&'static str> {
        let all = [(self.approve, Self::APPROVE), (self.admin, Self::ADMIN)];
        all.into_iter().filter(|(has, _)| *has).map(|(_, name)| name).collect()
    }
}

/// Scopes of a stored token.
pub fn scopes(row: &AccessTokenRow) -> Scopes {
    Scopes { approve: row.can_approve, admin: row.can_admin }
}

/// Creates a token for the caller. The token is returned only here. `days` is its lifetime.
pub async fn create(
    state: &State,
    caller: &Caller,
    name: &str,
    scopes: Scopes,
    days: Option<u32>,
) -> Result<(AccessTokenRow, SecretString)> {
    let name = check_label(name)?;
    if scopes.admin {
        caller.require_manager()?;
    }
    if days.is_some_and(|days| !DAYS.contains(&days)) {
        return Err(Error::field("expires_in_days", "must be 1 to 3650; omit it for no expiry"));
    }
    let (workspace, user) = (caller.workspace(), caller.user.id);
    let mine = access_tokens::list(&state.store, workspace, Some(user)).await?;
    if mine.len() >= MAX {
        return Err(Error::Conflict("a person can have at most 50 tokens; revoke one first"));
    }
    if mine.iter().any(|token| token.name.eq_ignore_ascii_case(name)) {
        return Err(Error::NameTaken(name.to_owned()));
    }
    let now = state.now();
    let token = SecretString::new(entropy::token::<32>(&*state.entropy, PREFIX));
    let row = AccessTokenRow {
        id: AccessTokenId::new(now, &*state.entropy),
        workspace_id: workspace,
        user_id: user,
        name: name.to_owned(),
        token_hash: hex::encode(&key_hash(token.expose())),
        hint: token.expose()[..HINT].to_owned(),
        can_approve: scopes.approve,
        can_admin: scopes.admin,
        created_at: now,
        expires_at: days.map(|days| now.plus(Duration::from_hours(24 * u64::from(days)))),
        last_used_at: None,
    };
    let actor = caller.actor();
    let mut change = state.audited.begin(&actor).await?;
    access_tokens::insert(&mut change.tx, &row).await?;
    let detail = json!({ "token": name, "id": row.id, "scopes": scopes.names() });
    change.commit(AuditEvent::TokenCreated, detail).await?;
    Ok((row, token))
}

/// Checks a display name: one line that is not empty.
pub(super) fn check_label(name: &str) -> Result<&str> {
    let name = name.trim();
    if name.is_empty() || name.chars().count() > 64 || name.chars().any(char::is_control) {
        return Err(Error::field("name", "must have 1 to 64 characters on one line"));
    }
    Ok(name)
}

/// Tokens of one person, or of everyone, newest first.
pub async fn list(
    store: &Store,
    workspace: WorkspaceId,
    user: Option<UserId>,
) -> Result<Vec<AccessTokenRow>> {
    Ok(access_tokens::list(store, workspace, user).await?)
}

/// Revokes a token. Managers may revoke anyone's, others only their own.
pub async fn revoke(db: &AuditedStore, caller: &Caller, id: AccessTokenId) -> Result<()> {
    let found = access_tokens::find(&db.store, caller.workspace(), id).await?;
    let allowed = |row: &AccessTokenRow| row.user_id == caller.user.id || caller.user.role.is_manager();
    // A member must not learn that someone else's token exists.
    let row = found.filter(allowed).ok_or(Error::not_found("token"))?;
    let actor = caller.actor();
    let mut change = db.begin(&actor).await?;
    if !access_tokens::remove(&mut change.tx, caller.workspace(), id).await? {
        return Err(Error::not_found("token"));
    }
    let detail = json!({ "token": row.name, "id": id, "user": row.user_id });
    Ok(change.commit(AuditEvent::TokenRevoked, detail).await?)
}

/// The token behind a bearer token's text, with its user's current row.
pub(crate) async fn find(store: &Store, token: &str, now: UnixMillis) -> Result<(AccessTokenRow, UserRow)> {
    let hash = hex::encode(&key_hash(token));
    let found = access_tokens::find_live(store, &hash, now).await?;
    let (row, user) = found.ok_or(Error::Unauthenticated)?;
    if row.last_used_at.is_none_or(|at| now.since(at) >= NOTED_EVERY) {
        access_tokens::touch(store, row.workspace_id, row.id, now).await?;
    }
    Ok((row, user))
}
