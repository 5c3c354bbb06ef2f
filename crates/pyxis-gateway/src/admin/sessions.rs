//! Signing in: passwords, one-time links, sessions.

use std::time::Duration;

use argon2::password_hash::phc::PasswordHash;
use argon2::{Argon2, PasswordHasher, PasswordVerifier};
use pyxis_core::clock::UnixMillis;
use pyxis_core::entropy;
use pyxis_core::hex;
use pyxis_core::id::{SessionId, UserId, WorkspaceId};
use pyxis_core::secret::SecretString;
use pyxis_store::audit::AuditRecord;
use pyxis_store::sessions::{self, SessionKind, SessionRow};
use pyxis_store::users::{self, UserRow};
use pyxis_store::{Executor, passkeys, sign_in_links};
use tokio::sync::Semaphore;

use super::callers::Caller;
use super::people;
use crate::error::{Error, Result};
use crate::runtime::resolve::key_hash;
use crate::runtime::state::State;

/// How long a session lasts.
pub const SESSION_LIFETIME: Duration = Duration::from_hours(24);
/// How long after signing in an account with passkeys lets its means of signing in be changed.
const FRESH: Duration = Duration::from_mins(10);
/// Failures before a lock.
const MAX_FAILURES: u32 = 5;
/// How long a lock holds.
const LOCK: Duration = Duration::from_mins(15);
/// Password lengths, in characters.
pub const PASSWORD: std::ops::RangeInclusive<usize> = 12..=256;
/// Most passwords that are hashed at a time, by the process: each takes 19 MiB, and strangers can ask.
const HASHES: usize = 4;

static HASHING: Semaphore = Semaphore::const_new(HASHES);

/// A signed-in person.
#[derive(Clone, Debug)]
pub struct Person {
    /// The session.
    pub session: SessionRow,
    caller: Caller,
}

impl Person {
    /// `user`, by `session`.
    pub fn new(session: SessionRow, user: UserRow) -> Self {
        Self { session, caller: Caller { user, token: None } }
    }

    /// Without the session.
    pub fn into_caller(self) -> Caller {
        self.caller
    }
}

impl std::ops::Deref for Person {
    type Target = Caller;

    fn deref(&self) -> &Caller {
        &self.caller
    }
}

/// A session that was just opened.
pub struct OpenedSession {
    /// The token, shown once.
    pub token: SecretString,
    /// The session.
    pub session: SessionRow,
}

/// What kind of client holds the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkHolder {
    /// A browser, in a cookie.
    Browser,
    /// A script, as a bearer token.
    Bearer,
}

impl LinkHolder {
    fn kind(self) -> SessionKind {
        match self {
            Self::Browser => SessionKind::Browser,
            Self::Bearer => SessionKind::Bearer,
        }
    }
}

/// The person behind a session token.
pub async fn find(state: &State, token: &str) -> Result<Person> {
    let hash = hex::encode(&key_hash(token));
    let found = sessions::find_live(&state.store, &hash, state.now()).await?;
    found.map(|(session, user)| Person::new(session, user)).ok_or(Error::Unauthenticated)
}

/// Signs in with e-mail and password. Five failures lock the account for a quarter of an hour; an
/// unknown address answers the same after as much hashing, and is locked alike. A lock in one workspace
/// keeps nobody out of another one, where the password fits.
pub async fn sign_in(
    state: &State,
    email: &str,
    password: &SecretString,
    holder: LinkHolder,
) -> Result<OpenedSession> {
    let now = state.now();
    let (mut candidates, mut locked) = (Vec::new(), None);
    for user in users::find_all_by_email(&state.store, email).await? {
        match reserve_attempt(state, &user, now).await? {
            None => candidates.push(user),
            until => locked = locked.max(until),
        }
    }
    if candidates.is_empty() {
        let locked = locked.or_else(|| state.login_throttle.attempt(email, now, MAX_FAILURES, LOCK));
        if let Some(until) = locked {
            return Err(Error::Locked { until, wait: until.since(now) });
        }
        verify(None, password.clone()).await?;
    }
    let mut fitting = Vec::new();
    for user in &candidates {
        // In this order, so that no one is answered sooner.
        if verify(user.password_hash.clone(), password.clone()).await? && user.disabled_at.is_none() {
            fitting.push(user);
        }
    }
    match fitting.as_slice() {
        [] => {
            for user in &candidates {
                record(state, user, "sign_in.failed").await?;
            }
            Err(Error::WrongPassword)
        }
        [user] => open(state, user, holder, SESSION_LIFETIME).await,
        _ => {
            Err(Error::Conflict("this address and password fit several workspaces; use different passwords"))
        }
    }
}

/// Counts the attempt before the password is looked at, so that attempts at the same time cannot exceed
/// the limit together. Success sets the count back. Nothing is counted where the person is locked: until when.
async fn reserve_attempt(state: &State, user: &UserRow, now: UnixMillis) -> Result<Option<UnixMillis>> {
    let (workspace, id) = (user.workspace_id, user.id);
    if let Some(until) = user.locked_until.filter(|until| *until > now) {
        return Ok(Some(until));
    }
    if users::record_attempt(&state.store, workspace, id, now, MAX_FAILURES, LOCK).await?.is_some() {
        return Ok(None);
    }
    let locked = users::find(&state.store, workspace, id).await?.and_then(|user| user.locked_until);
    Ok(Some(locked.unwrap_or(now)))
}

/// Signs in with a one-time link's token. Where somebody else made the link for an account that was in
/// use, the account is theirs as much as its owner's: from then on both count as one approver, until
/// its owner signs in with a passkey from before, or another link is made on the command line. A link
/// that the account itself made says nothing about who holds it.
pub async fn sign_in_by_link(
    state: &State,
    token: &str,
    holder: LinkHolder,
) -> Result<(OpenedSession, UserRow)> {
    let hash = hex::encode(&key_hash(token));
    let now = state.now();
    let mut tx = state.store.begin().await?;
    let link = sign_in_links::consume(&mut tx, &hash, now).await?;
    let link = link.ok_or(Error::NotFound("sign-in link (it works once, for 48 hours)"))?;
    let user = users::find(&mut tx, link.workspace_id, link.user_id).await?;
    let user = user.filter(|user| user.disabled_at.is_none()).ok_or(Error::NotFound("user"))?;
    if user.last_sign_in_at.is_some() && link.made_by != Some(user.id) {
        let opened = link.made_by.map(|maker| (maker, now));
        if !users::set_opened(&mut tx, user.workspace_id, user.id, opened).await? {
            return Err(Error::Conflict(people::OPENED_BY_ANOTHER));
        }
    }
    tx.commit().await?;
    let opened = open(state, &user, holder, SESSION_LIFETIME).await?;
    let session = &opened.session;
    sign_in_links::note_session(&state.store, &link, &session.token_hash, session.expires_at).await?;
    Ok((opened, user))
}

/// Whose link this is, without using it up.
pub async fn peek_link(state: &State, token: &str) -> Result<Option<UserRow>> {
    let hash = hex::encode(&key_hash(token));
    let Some(link) = sign_in_links::peek(&state.store, &hash, state.now()).await? else { return Ok(None) };
    Ok(users::find(&state.store, link.workspace_id, link.user_id).await?)
}

/// Refuses a session that the password or a passkey did not open lately, where the account has a passkey:
/// whoever holds a stolen session, or a link, must not be able to bring an authenticator of their own, which
/// would then approve. While somebody else's link has the account open, its password may be theirs too.
pub(super) async fn check_fresh(state: &State, person: &Person) -> Result<()> {
    let user = users::find(&state.store, person.workspace(), person.user.id).await?;
    if user.is_none_or(|user| user.opened_by.is_some()) {
        return Err(Error::Conflict(
            "the account was opened with a link that somebody else made; sign in with a passkey from before, or have \
             a link made on the command line",
        ));
    }
    let old = person.session.created_at.plus(FRESH) <= state.now();
    if old || sign_in_links::opened(&state.store, &person.session.token_hash).await? {
        return Err(Error::Conflict(
            "sign out and sign in again first, with the password or a passkey: passkeys are changed within ten \
             minutes of that",
        ));
    }
    Ok(())
}

/// Opens a session for somebody who has proved who they are.
pub async fn open(
    state: &State,
    user: &UserRow,
    holder: LinkHolder,
    lifetime: Duration,
) -> Result<OpenedSession> {
    let now = state.now();
    let token = SecretString::new(entropy::token::<32>(&*state.entropy, "px_session_"));
    let hash = hex::encode(&key_hash(token.expose()));
    let session = SessionRow {
        id: SessionId::new(now, &*state.entropy),
        token_hash: hash,
        workspace_id: user.workspace_id,
        user_id: user.id,
        kind: holder.kind(),
        csrf: entropy::token::<16>(&*state.entropy, ""),
        created_at: now,
        expires_at: now.plus(lifetime),
        last_seen_at: now,
        user_agent: None,
    };
    sessions::insert(&state.store, &session).await?;
    users::record_success(&state.store, user.workspace_id, user.id, now).await?;
    record(state, user, "sign_in").await?;
    Ok(OpenedSession { token, session })
}

/// Ends a session.
pub async fn sign_out(state: &State, person: &Person) -> Result<()> {
    sessions::remove(&state.store, person.workspace(), person.session.id).await?;
    record(state, &person.user, "sign_out").await
}

/// Sets the password. Replacing one ends every other session of the person; a first one ends none, so
/// that the token that `bootstrap` printed goes on working.
pub async fn set_password(state: &State, person: &Person, password: &SecretString) -> Result<()> {
    let hash = hash_password(state, password).await?;
    set_password_of(&state.store, person.workspace(), person.user.id, &hash).await?;
    if person.user.password_hash.is_none() {
        return record(state, &person.user, "user.password_set").await;
    }
    for session in sessions::list_for_user(&state.store, person.workspace(), person.user.id).await? {
        if session.id != person.session.id {
            sessions::remove(&state.store, person.workspace(), session.id).await?;
        }
    }
    record(state, &person.user, "user.password_set").await
}

/// Changes the person's own password, after the present one where there is one. A wrong one counts like one
/// at the door, so that a session somebody left open is no place to try passwords at. A first one takes a
/// fresh session where there are passkeys, which it would otherwise let in.
///
/// # Errors
/// `WrongPassword`, `Locked`, `Conflict`, `InvalidField` for a new one of the wrong length, or the same again.
pub async fn change_password(
    state: &State,
    person: &Person,
    present: &SecretString,
    new: &SecretString,
) -> Result<()> {
    let user = users::find(&state.store, person.workspace(), person.user.id).await?;
    let user = user.ok_or(Error::Unauthenticated)?;
    if user.password_hash.is_some() {
        let now = state.now();
        if let Some(until) = reserve_attempt(state, &user, now).await? {
            return Err(Error::Locked { until, wait: until.since(now) });
        }
        if !verify(user.password_hash.clone(), present.clone()).await? {
            record(state, &user, "user.password_refused").await?;
            return Err(Error::WrongPassword);
        }
        if present.matches(new.expose().as_bytes()) {
            return Err(Error::field("password", "the same as before"));
        }
    } else if !passkeys::list(&state.store, user.workspace_id, user.id).await?.is_empty() {
        check_fresh(state, person).await?;
    }
    set_password(state, person, new).await
}

async fn set_password_of(
    executor: impl Executor,
    workspace: WorkspaceId,
    user: UserId,
    hash: &str,
) -> Result<()> {
    users::set_password(executor, workspace, user, hash).await?;
    Ok(())
}

async fn record(state: &State, user: &UserRow, kind: &'static str) -> Result<()> {
    let mut record = AuditRecord::new(state.now(), kind);
    record.workspace_id = Some(user.workspace_id);
    record.actor = format!("user:{}", user.id);
    record.actor_name.clone_from(&user.email);
    state.audit.append(record).await?;
    Ok(())
}

/// Argon2id with the library's recommended parameters, off the async threads.
async fn hash_password(state: &State, password: &SecretString) -> Result<String> {
    let length = password.expose().chars().count();
    if !PASSWORD.contains(&length) {
        return Err(Error::field("password", "12 to 256 characters"));
    }
    let salt = entropy::bytes::<16>(&*state.entropy);
    let password = password.clone();
    blocking(move || {
        let hashed = Argon2::default().hash_password_with_salt(password.expose().as_bytes(), &salt);
        hashed.map(|hash| hash.to_string()).map_err(|error| Error::Internal(error.to_string().into()))
    })
    .await?
}

/// True if the password fits; without a stored hash the same work is done for nothing.
async fn verify(stored: Option<String>, password: SecretString) -> Result<bool> {
    blocking(move || {
        let Some(stored) = stored else {
            let _ =
                Argon2::default().hash_password_with_salt(password.expose().as_bytes(), b"no such account!");
            return false;
        };
        PasswordHash::new(&stored)
            .is_ok_and(|hash| Argon2::default().verify_password(password.expose().as_bytes(), &hash).is_ok())
    })
    .await
}

/// Off the async threads, a few at a time; the others wait in line. The place is the work's own, so that who
/// does not wait for the end does not make room before it.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    let place = HASHING.acquire().await.map_err(|error| Error::Internal(error.into()))?;
    let work = move || {
        let _place = place;
        work()
    };
    tokio::task::spawn_blocking(work).await.map_err(|error| Error::Internal(error.into()))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn however_many_sign_in_at_once_only_a_few_passwords_are_hashed_at_a_time() {
        let runtime = tokio::runtime::Builder::new_current_thread().max_blocking_threads(HASHES + 1).build();
        runtime.unwrap().block_on(async {
            let (started, starts) = mpsc::channel();
            let (ends, waiting): (Vec<_>, Vec<_>) = (0..3 * HASHES).map(|_| mpsc::channel::<()>()).unzip();
            let work = |end: mpsc::Receiver<()>| {
                let started = started.clone();
                tokio::spawn(blocking(move || {
                    started.send(()).unwrap();
                    let _ = end.recv();
                }))
            };
            let all: Vec<_> = waiting.into_iter().map(work).collect();
            // Everybody has asked. The thread that is left would take one more, and this could not come by.
            tokio::task::yield_now().await;
            tokio::task::spawn_blocking(|| ()).await.unwrap();
            // Who stopped waiting makes no room while the work goes on.
            all[0].abort();
            tokio::task::yield_now().await;
            tokio::task::spawn_blocking(|| ()).await.unwrap();
            (0..HASHES).for_each(|_| starts.recv().unwrap());
            assert!(starts.try_recv().is_err());
            drop(ends);
            for one in all.into_iter().skip(1) {
                one.await.unwrap().unwrap();
            }
            assert_eq!(starts.try_iter().count(), 2 * HASHES);
        });
    }
}
