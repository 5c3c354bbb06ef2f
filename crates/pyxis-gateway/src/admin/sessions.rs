//! Sign-in: passwords, one-time links and sessions.

use pyxis_core::actor::ActorId;
use pyxis_core::entropy::Entropy;
use std::time::Duration;

use argon2::password_hash::phc::PasswordHash;
use argon2::{Argon2, PasswordHasher, PasswordVerifier};
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::clock::UnixMillis;
use pyxis_core::entropy;
use pyxis_core::hex;
use pyxis_core::id::{SessionId, UserId, WorkspaceId};
use pyxis_core::metric;
use pyxis_core::secret::SecretString;
use pyxis_store::audit::{Appender, AuditRecord};
use pyxis_store::sessions::{self, SessionKind, SessionRow};
use pyxis_store::users::{self, UserRow};
use pyxis_store::{Executor, Store, passkeys, sign_in_links};
use tokio::sync::Semaphore;

use super::callers::Caller;
use super::people;
use crate::error::{Error, Result};
use crate::runtime::resolve::key_hash;
use crate::runtime::state::State;

pub const SESSION_LIFETIME: Duration = Duration::from_hours(24);
/// Time after sign-in during which an account with passkeys may change its sign-in methods.
const FRESH: Duration = Duration::from_mins(10);
/// Number of failures that locks an account.
const MAX_FAILURES: u32 = 5;
const LOCK: Duration = Duration::from_mins(15);
/// Allowed password lengths, in characters.
pub const PASSWORD: std::ops::RangeInclusive<usize> = 12..=256;
/// Maximum number of passwords hashed concurrently per process. Each takes 19 MiB, and anyone can trigger one.
const HASHES: usize = 4;

static HASHING: Semaphore = Semaphore::const_new(HASHES);

/// A signed-in person.
#[derive(Clone, Debug)]
pub struct Person {
    pub session: SessionRow,
    caller: Caller,
}

impl Person {
    /// Combines `user` with `session`.
    pub fn new(session: SessionRow, user: UserRow) -> Self {
        Self { session, caller: Caller { user, token: None } }
    }

    /// Drops the session.
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

/// A newly opened session.
pub struct OpenedSession {
    /// Session token, returned only here.
    pub token: SecretString,
    pub session: SessionRow,
}

/// Kind of client that holds the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkHolder {
    /// A browser, with a cookie.
    Browser,
    /// A script, with a bearer token.
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

/// The person with this session token.
pub async fn find(store: &Store, token: &str, now: UnixMillis) -> Result<Person> {
    let hash = hex::encode(&key_hash(token));
    let found = sessions::find_live(store, &hash, now).await?;
    found.map(|(session, user)| Person::new(session, user)).ok_or(Error::Unauthenticated)
}

/// Signs in with email and password. Five failures lock the account for 15 minutes. An unknown address gets the same
/// answer after the same amount of hashing, and is locked in the same way. A lock in one workspace does not affect
/// another one where the password is correct.
pub async fn sign_in(
    state: &State,
    email: &str,
    password: &SecretString,
    holder: LinkHolder,
) -> Result<OpenedSession> {
    let now = state.now();
    let (mut candidates, mut locked) = (Vec::new(), None);
    for user in users::find_all_by_email(&state.store, email).await? {
        match reserve_attempt(&state.store, &user, now).await? {
            None => candidates.push(user),
            until => locked = locked.max(until),
        }
    }
    if candidates.is_empty() {
        let locked = locked.or_else(|| state.login_throttle.attempt(email, now, MAX_FAILURES, LOCK));
        if let Some(until) = locked {
            metrics::counter!(metric::SIGN_INS_FAILED.name).increment(1);
            return Err(Error::Locked { until, wait: until.since(now) });
        }
        verify(None, password.clone()).await?;
    }
    let mut fitting = Vec::new();
    for user in &candidates {
        // In this order, so that no answer comes sooner than the others.
        if verify(user.password_hash.clone(), password.clone()).await? && user.disabled_at.is_none() {
            fitting.push(user);
        }
    }
    match fitting.as_slice() {
        [] => {
            for user in &candidates {
                record(&state.audit, state.now(), user, AuditEvent::UserSignInFailed).await?;
            }
            metrics::counter!(metric::SIGN_INS_FAILED.name).increment(1);
            Err(Error::WrongPassword)
        }
        [user] => open(state, user, holder, SESSION_LIFETIME).await,
        _ => Err(Error::Conflict(
            "this address and password match several workspaces; use different passwords",
        )),
    }
}

/// Counts the attempt before checking the password, so that concurrent attempts cannot exceed the limit together.
/// Success resets the count. For a locked person nothing is counted, and the end of the lock is returned.
async fn reserve_attempt(store: &Store, user: &UserRow, now: UnixMillis) -> Result<Option<UnixMillis>> {
    let (workspace, id) = (user.workspace_id, user.id);
    if let Some(until) = user.locked_until.filter(|until| *until > now) {
        return Ok(Some(until));
    }
    if users::record_attempt(store, workspace, id, now, MAX_FAILURES, LOCK).await?.is_some() {
        return Ok(None);
    }
    let locked = users::find(store, workspace, id).await?.and_then(|user| user.locked_until);
    Ok(Some(locked.unwrap_or(now)))
}

/// Signs in with a one-time link's token. If someone else created the link for an account in use, that person
/// controls the account as well. From then on both count as one approver. That ends when the owner signs in with
/// an older passkey or a new link from the command line. A link created by the account itself proves nothing about
/// its holder.
pub async fn sign_in_by_link(
    state: &State,
    token: &str,
    holder: LinkHolder,
) -> Result<(OpenedSession, UserRow)> {
    let hash = hex::encode(&key_hash(token));
    let now = state.now();
    let mut tx = state.store.begin().await?;
    let link = sign_in_links::consume(&mut tx, &hash, now).await?;
    let link = link.ok_or(Error::not_found("sign-in link (it works once, for 48 hours)"))?;
    let user = users::find(&mut tx, link.workspace_id, link.user_id).await?;
    let user = user.filter(|user| user.disabled_at.is_none()).ok_or(Error::not_found("user"))?;
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

/// Looks up the link's user without using the link up.
pub async fn peek_link(store: &Store, token: &str, now: UnixMillis) -> Result<Option<UserRow>> {
    let hash = hex::encode(&key_hash(token));
    let Some(link) = sign_in_links::peek(store, &hash, now).await? else { return Ok(None) };
    Ok(users::find(store, link.workspace_id, link.user_id).await?)
}

/// Refuses a session that was not recently opened with a password or a passkey, if the account has a passkey. Otherwise
/// anyone with a stolen session or a link could add their own authenticator, which could then approve. While another
/// person's link has opened the account, that person may know its password too.
pub(super) async fn check_fresh(store: &Store, person: &Person, now: UnixMillis) -> Result<()> {
    let user = users::find(store, person.workspace(), person.user.id).await?;
    if user.is_none_or(|user| user.opened_by.is_some()) {
        return Err(Error::Conflict(
            "another person made the link that opened this account; sign in with an earlier passkey, or get \
             a link from pyxis user link",
        ));
    }
    let old = person.session.created_at.plus(FRESH) <= now;
    if old || sign_in_links::opened(store, &person.session.token_hash).await? {
        return Err(Error::Conflict(
            "sign out and in again first, with the password or a passkey; passkeys can be changed for ten \
             minutes after signing in",
        ));
    }
    Ok(())
}

/// Opens a session for a person who has been authenticated.
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
    record(&state.audit, state.now(), user, AuditEvent::UserSignedIn).await?;
    Ok(OpenedSession { token, session })
}

/// Ends a session.
pub async fn sign_out(state: &State, person: &Person) -> Result<()> {
    sessions::remove(&state.store, person.workspace(), person.session.id).await?;
    record(&state.audit, state.now(), &person.user, AuditEvent::UserSignedOut).await
}

/// Sets the password. Replacing one ends every other session of the person. A first password ends none, so that the
/// token printed by `bootstrap` continues to work.
pub async fn set_password(state: &State, person: &Person, password: &SecretString) -> Result<()> {
    let hash = hash_password(&*state.entropy, password).await?;
    set_password_of(&state.store, person.workspace(), person.user.id, &hash).await?;
    if person.user.password_hash.is_none() {
        return record(&state.audit, state.now(), &person.user, AuditEvent::UserPasswordSet).await;
    }
    for session in sessions::list_for_user(&state.store, person.workspace(), person.user.id).await? {
        if session.id != person.session.id {
            sessions::remove(&state.store, person.workspace(), session.id).await?;
        }
    }
    record(&state.audit, state.now(), &person.user, AuditEvent::UserPasswordSet).await
}

/// Changes the person's own password after checking the current one, if any. A wrong one counts like a failed
/// sign-in, so that an unattended session cannot be used to try passwords. A first password needs a fresh session if
/// there are passkeys, because the new password could otherwise be used to register another passkey.
///
/// # Errors
/// `WrongPassword`, `Locked`, `Conflict`, or `InvalidField` for a new password of invalid length or equal to the old
/// one.
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
        if let Some(until) = reserve_attempt(&state.store, &user, now).await? {
            return Err(Error::Locked { until, wait: until.since(now) });
        }
        if !verify(user.password_hash.clone(), present.clone()).await? {
            record(&state.audit, state.now(), &user, AuditEvent::UserPasswordRefused).await?;
            return Err(Error::WrongPassword);
        }
        if present.matches(new.expose().as_bytes()) {
            return Err(Error::field("password", "must differ from the current password"));
        }
    } else if !passkeys::list(&state.store, user.workspace_id, user.id).await?.is_empty() {
        check_fresh(&state.store, person, state.now()).await?;
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

async fn record(audit: &Appender, now: UnixMillis, user: &UserRow, event: AuditEvent) -> Result<()> {
    let mut record = AuditRecord::new(now, event);
    record.workspace_id = Some(user.workspace_id);
    record.actor = ActorId::User(user.id);
    record.actor_name.clone_from(&user.email);
    audit.append(record).await?;
    Ok(())
}

/// Hashes with Argon2id and the library's recommended parameters, outside the async threads.
async fn hash_password(entropy: &dyn Entropy, password: &SecretString) -> Result<String> {
    let length = password.expose().chars().count();
    if !PASSWORD.contains(&length) {
        return Err(Error::field("password", "must have 12 to 256 characters"));
    }
    let salt = entropy::bytes::<16>(entropy);
    let password = password.clone();
    blocking(move || {
        let hashed = Argon2::default().hash_password_with_salt(password.expose().as_bytes(), &salt);
        hashed.map(|hash| hash.to_string()).map_err(|error| Error::Internal(error.to_string().into()))
    })
    .await?
}

/// True if the password matches. Without a stored hash the same work is done anyway.
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

/// Runs work outside the async threads, a few at a time; the rest waits. The work itself holds the permit, so that a
/// caller who stops waiting does not free it early.
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
            // All callers have started. The remaining thread would take one more, and this task could not run.
            tokio::task::yield_now().await;
            tokio::task::spawn_blocking(|| ()).await.unwrap();
            // A caller who stops waiting does not free the permit while the work continues.
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
