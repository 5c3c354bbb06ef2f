//! The token and revocation endpoints: codes and refresh tokens become tokens, once (RFC 6749, RFC 7009).

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pyxis_core::actor::{Actor, ActorId};
use pyxis_core::approval_mode::Role;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::clock::UnixMillis;
use pyxis_core::entropy::Entropy;
use pyxis_core::id::{ConnectionId, WorkspaceId};
use pyxis_core::redirect_uri::RedirectUri;
use pyxis_core::secret::SecretString;
use pyxis_core::{entropy, hex};
use pyxis_store::audit::{AuditedStore, Change};
use pyxis_store::connections::codes::{self, AuthorizationCodeRow};
use pyxis_store::connections::tokens::{self, ConnectionTokenRow};
use pyxis_store::connections::{self, AgentConnectionRow, clients};
use pyxis_store::{Store, StoreError, Tx, agents, users};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::consent::check_resource;
use super::metadata::SCOPE;
use super::protocol_error::{OauthError, OauthErrorCode};
use super::token_form::TokenForm;
use crate::runtime::resolve::key_hash;
use crate::runtime::state::State;

/// Prefix of access tokens.
const ACCESS_PREFIX: &str = "px_access_";
/// Prefix of refresh tokens.
const REFRESH_PREFIX: &str = "px_refresh_";
/// Life of an access token.
const ACCESS_LIFE: Duration = Duration::from_hours(1);
/// Life of a refresh token that is not used.
const REFRESH_LIFE: Duration = Duration::from_hours(30 * 24);
/// Time for which the registration of a client that was used stays, without a connection.
const CLIENT_LIFE: Duration = Duration::from_hours(90 * 24);

/// True if a bearer token is an access token, not an agent key.
pub fn is_access_token(token: &str) -> bool {
    token.starts_with(ACCESS_PREFIX)
}

fn hash(token: &str) -> String {
    hex::encode(&key_hash(token))
}

fn invalid_grant(description: &'static str) -> OauthError {
    OauthError::new(OauthErrorCode::InvalidGrant, description)
}

/// Answers a token request of an authenticated client.
pub(super) async fn issue(state: &State, client_id: &str, form: &TokenForm) -> Result<Value, OauthError> {
    check_resource(&state.config, form.get("resource"))?;
    match form.required("grant_type")? {
        "authorization_code" => exchange(state, client_id, form).await,
        "refresh_token" => refresh(state, client_id, form).await,
        _ => Err(OauthError::new(
            OauthErrorCode::UnsupportedGrantType,
            "grant_type must be authorization_code or refresh_token",
        )),
    }
}

/// Exchanges an authorization code. A code that its client sends again ends the connection that it opened. One of
/// the two senders was a thief.
async fn exchange(state: &State, client_id: &str, form: &TokenForm) -> Result<Value, OauthError> {
    let unknown = || invalid_grant("the code is unknown, expired or was issued to another client");
    let code_hash = hash(form.required("code")?);
    let found = codes::find(&state.store, &code_hash).await?;
    let code = found.filter(|code| code.client_id == client_id).ok_or_else(unknown)?;
    if code.used_at.is_some() {
        return replayed(&state.audited, code.workspace_id, code.connection_id, "code").await;
    }
    if code.redirect_uri != form.required("redirect_uri")? {
        return Err(invalid_grant("redirect_uri differs from the one of the authorization request"));
    }
    if !verifies(form.required("code_verifier")?, &code.challenge) {
        return Err(invalid_grant("code_verifier does not match code_challenge"));
    }
    let now = state.now();
    let mut tx = state.store.begin().await?;
    if !codes::consume(&mut tx, code.workspace_id, &code_hash, now).await? {
        drop(tx);
        let used = codes::find(&state.store, &code_hash).await?.is_some_and(|code| code.used_at.is_some());
        return if used {
            replayed(&state.audited, code.workspace_id, code.connection_id, "code").await
        } else {
            Err(unknown())
        };
    }
    let connection = connection_of(&code, now);
    check_allowed(&mut tx, &connection).await?;
    connections::insert(&mut tx, &connection).await?;
    let body = tokens_of(&*state.entropy, &mut tx, &connection, None, now).await?;
    tx.commit().await?;
    Ok(body)
}

fn connection_of(code: &AuthorizationCodeRow, now: UnixMillis) -> AgentConnectionRow {
    let destination = RedirectUri::parse(&code.redirect_uri).map(|uri| uri.destination());
    AgentConnectionRow {
        id: code.connection_id,
        workspace_id: code.workspace_id,
        agent_id: code.agent_id,
        client_id: code.client_id.clone(),
        client_name: code.client_name.clone(),
        destination: destination.unwrap_or_default(),
        allowed_by: code.allowed_by.clone(),
        created_at: now,
        last_used_at: now,
    }
}

/// The part of a refresh token that all of its connection share, if it has one.
fn family(refresh_token: &str) -> Option<&str> {
    refresh_token.split_once('.').map(|(family, _)| family)
}

/// Exchanges a refresh token for new tokens. One that comes again ends its connection: it is no longer stored, but its
/// family is.
async fn refresh(state: &State, client_id: &str, form: &TokenForm) -> Result<Value, OauthError> {
    let unknown = || invalid_grant("the refresh token is unknown, expired or revoked; connect again");
    let refresh_token = form.required("refresh_token")?;
    let token_hash = hash(refresh_token);
    let now = state.now();
    let Some((token, connection)) = refreshable(&state.store, client_id, &token_hash).await? else {
        return exchanged_before(&state.store, &state.audited, client_id, refresh_token).await;
    };
    if token.expires_at <= now {
        return Err(unknown());
    }
    let mut tx = state.store.begin().await?;
    if !tokens::consume(&mut tx, connection.workspace_id, &token_hash, now).await? {
        drop(tx);
        return exchanged_before(&state.store, &state.audited, client_id, refresh_token).await;
    }
    check_allowed(&mut tx, &connection).await?;
    connections::touch(&mut tx, connection.workspace_id, connection.id, now).await?;
    let body = tokens_of(&*state.entropy, &mut tx, &connection, family(refresh_token), now).await?;
    tx.commit().await?;
    Ok(body)
}

/// A refresh token or family of a client, and its connection.
async fn refreshable(
    store: &Store,
    client_id: &str,
    token_hash: &str,
) -> Result<Option<(ConnectionTokenRow, AgentConnectionRow)>, StoreError> {
    let found = tokens::find(store, token_hash).await?;
    Ok(found.filter(|(token, connection)| token.is_refresh && connection.client_id == client_id))
}

/// Refuses a refresh token that is not stored. If its family is, it was exchanged before, and the connection ends.
async fn exchanged_before(
    store: &Store,
    audited: &AuditedStore,
    client_id: &str,
    refresh_token: &str,
) -> Result<Value, OauthError> {
    let family = match family(refresh_token) {
        Some(family) => refreshable(store, client_id, &hash(family)).await?,
        None => None,
    };
    match family {
        Some((_, connection)) => {
            replayed(audited, connection.workspace_id, connection.id, "refresh token").await
        }
        None => Err(invalid_grant("the refresh token is unknown, expired or revoked; connect again")),
    }
}

/// Refuses a disabled agent, and a connection that was allowed by a person who may no longer do so. The caller's
/// transaction is then dropped, so that the token is not used up.
async fn check_allowed(tx: &mut Tx, connection: &AgentConnectionRow) -> Result<(), OauthError> {
    let workspace = connection.workspace_id;
    let agent = agents::find(&mut *tx, workspace, connection.agent_id).await?;
    if agent.is_none_or(|agent| agent.disabled_at.is_some()) {
        return Err(invalid_grant("the agent of this connection is disabled or was removed"));
    }
    let person = users::find_by_email(&mut *tx, workspace, &connection.allowed_by).await?;
    if person.is_none_or(|person| person.disabled_at.is_some() || person.role == Role::Member) {
        return Err(invalid_grant("the person who allowed this connection is no longer a manager"));
    }
    Ok(())
}

/// New tokens, in their family if there is one, and the response that shows them once.
async fn tokens_of(
    entropy: &dyn Entropy,
    tx: &mut Tx,
    connection: &AgentConnectionRow,
    family: Option<&str>,
    now: UnixMillis,
) -> Result<Value, StoreError> {
    let row = |token: &str, is_refresh, life| ConnectionTokenRow {
        token_hash: hash(token),
        workspace_id: connection.workspace_id,
        connection_id: connection.id,
        is_refresh,
        expires_at: now.plus(life),
        used_at: None,
    };
    let new = |prefix: &str| SecretString::new(entropy::token::<32>(entropy, prefix));
    let (access, refresh_secret) = (new(ACCESS_PREFIX), new(""));
    let known = family.map(|family| SecretString::new(family.to_owned()));
    let is_new = known.is_none();
    let family = known.unwrap_or_else(|| new(REFRESH_PREFIX));
    let refresh =
        SecretString::new(format!("{}.{}", family.expose().as_str(), refresh_secret.expose().as_str()));
    if is_new {
        let row = ConnectionTokenRow { used_at: Some(now), ..row(family.expose(), true, REFRESH_LIFE) };
        tokens::insert(&mut *tx, &row).await?;
    } else {
        let until = now.plus(REFRESH_LIFE);
        tokens::extend(&mut *tx, connection.workspace_id, &hash(family.expose()), until).await?;
    }
    tokens::insert(&mut *tx, &row(access.expose(), false, ACCESS_LIFE)).await?;
    tokens::insert(&mut *tx, &row(refresh.expose(), true, REFRESH_LIFE)).await?;
    clients::extend(&mut *tx, &connection.client_id, now.plus(CLIENT_LIFE)).await?;
    Ok(json!({
        "access_token": access.expose(),
        "token_type": "Bearer",
        "expires_in": ACCESS_LIFE.as_secs(),
        "refresh_token": refresh.expose(),
        "scope": SCOPE,
    }))
}

/// True if a verifier (RFC 7636, section 4.1) hashes to a challenge.
fn verifies(verifier: &str, challenge: &str) -> bool {
    let is_unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let is_formed = (43..=128).contains(&verifier.len()) && verifier.bytes().all(is_unreserved);
    let computed = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier));
    is_formed && SecretString::new(challenge.to_owned()).matches(computed.as_bytes())
}

/// Ends the connection of a replayed code or refresh token, on record.
async fn replayed(
    audited: &AuditedStore,
    workspace: WorkspaceId,
    connection: ConnectionId,
    kind: &'static str,
) -> Result<Value, OauthError> {
    let actor = Actor { workspace, id: ActorId::System, name: "system".to_owned() };
    end(audited, &actor, connection, AuditEvent::ConnectionReplayed, kind).await?;
    Err(invalid_grant("it was used before, so its connection was revoked; connect again"))
}

/// Removes a connection, with its record. Nothing happens to one that has already ended.
async fn end(
    audited: &AuditedStore,
    actor: &Actor,
    id: ConnectionId,
    event: AuditEvent,
    by: &'static str,
) -> Result<(), OauthError> {
    let mut change: Change<'_> = audited.begin(actor).await?;
    let Some(row) = connections::find(&mut change.tx, actor.workspace, id).await? else { return Ok(()) };
    if !connections::remove(&mut change.tx, actor.workspace, id).await? {
        return Ok(());
    }
    let agent = agents::find(&mut change.tx, actor.workspace, row.agent_id).await?;
    let detail = json!({
        "agent": agent.map(|agent| agent.name),
        "id": row.agent_id,
        "connection": id,
        "client": row.client_name,
        "client_id": row.client_id,
        "by": by,
    });
    Ok(change.commit(event, detail).await?)
}

/// Revokes a token of an authenticated client. An access token ends alone; a refresh token ends its connection. A
/// token that is not this client's is left alone, and the response is the same.
pub(super) async fn revoke(
    store: &Store,
    audited: &AuditedStore,
    client_id: &str,
    form: &TokenForm,
) -> Result<(), OauthError> {
    let sent = form.required("token")?;
    let token_hash = hash(sent);
    let found = match (tokens::find(store, &token_hash).await?, family(sent)) {
        (None, Some(family)) => tokens::find(store, &hash(family)).await?,
        (found, _) => found,
    };
    let Some((token, connection)) = found.filter(|(_, connection)| connection.client_id == client_id) else {
        return Ok(());
    };
    if !token.is_refresh {
        tokens::remove(store, token.workspace_id, &token_hash).await?;
        return Ok(());
    }
    let (workspace, id) = (connection.workspace_id, connection.agent_id);
    let agent = agents::find(store, workspace, id).await?;
    let name = agent.map(|agent| agent.name).unwrap_or_default();
    let actor = Actor { workspace, id: ActorId::Agent(id), name };
    end(audited, &actor, connection.id, AuditEvent::ConnectionRevoked, "the program").await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verifier_fits_the_challenge_that_is_its_hash() {
        // The example of RFC 7636, appendix B.
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
        assert!(verifies(verifier, challenge));
        assert!(!verifies(&verifier.replace('d', "e"), challenge));
        assert!(!verifies(challenge, challenge), "the challenge itself, as with the method plain");
        assert!(!verifies("", challenge));
        let (short, long) = ("a".repeat(42), "a".repeat(129));
        for text in [short, long] {
            assert!(!verifies(&text, &URL_SAFE_NO_PAD.encode(Sha256::digest(&text))));
        }
    }
}
