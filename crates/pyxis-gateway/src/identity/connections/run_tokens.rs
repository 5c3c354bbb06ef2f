//! Tokens of `pyxis run --agent`: a command acts as an agent without the agent's key.
//!
//! Such a token is good for the requests of a run and nowhere else: its prefix is part of what is hashed, and only
//! [`agent_of`] accepts it.

use std::time::Duration;

use http::request::Parts;
use pyxis_core::actor::Actor;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{AgentId, ConnectionId};
use pyxis_core::secret::SecretString;
use pyxis_core::{entropy, hex};
use pyxis_store::connections::tokens::{self, ConnectionTokenRow, TokenHolder};
use pyxis_store::connections::{self, AgentConnectionRow};
use pyxis_store::{Store, agents};
use serde_json::json;

use crate::credentials::requests::caller::CallerKey;
use crate::credentials::requests::control;
use crate::error::{Error, Result};
use crate::runtime::resolve::{KeyHash, key_hash};
use crate::runtime::state::State;

/// Prefix of these tokens.
const PREFIX: &str = "px_run_";
/// Life of a token, as long as the certificates of a run.
const LIFE: Duration = Duration::from_hours(24);
/// Name of the program in the list of an agent's connections.
const PROGRAM: &str = "pyxis run";
/// Place where the program got the token, in the same list.
const DESTINATION: &str = "command line";

/// A token for one run. It exists in this value only; the store has its digest.
pub struct RunToken {
    /// The text to send instead of the agent key.
    pub text: SecretString,
    /// The connection that ends with the run.
    pub connection: ConnectionId,
}

/// Makes a token that acts as an enabled agent. `actor` is a manager.
pub async fn issue(state: &State, actor: &Actor, agent: AgentId) -> Result<RunToken> {
    let now = state.now();
    let text = SecretString::new(entropy::token::<32>(&*state.entropy, PREFIX));
    let mut change = state.audited.begin(actor).await?;
    let agent = agents::find(&mut change.tx, actor.workspace, agent).await?;
    let agent = agent.ok_or(Error::not_found("agent"))?;
    if agent.disabled_at.is_some() {
        return Err(Error::Conflict("the agent is disabled; enable it first, or choose another"));
    }
    let connection = AgentConnectionRow {
        id: ConnectionId::new(now, &*state.entropy),
        workspace_id: actor.workspace,
        agent_id: agent.id,
        client_id: PROGRAM.to_owned(),
        client_name: PROGRAM.to_owned(),
        destination: DESTINATION.to_owned(),
        allowed_by: actor.name.clone(),
        created_at: now,
        last_used_at: now,
    };
    connections::insert(&mut change.tx, &connection).await?;
    let token = ConnectionTokenRow {
        token_hash: digest(text.expose()),
        workspace_id: actor.workspace,
        connection_id: connection.id,
        is_refresh: false,
        expires_at: now.plus(LIFE),
        used_at: None,
    };
    tokens::insert(&mut change.tx, &token).await?;
    let detail = json!({
        "agent": agent.name,
        "id": agent.id,
        "connection": connection.id,
        "client": PROGRAM,
        "expires_at": token.expires_at.to_rfc3339(),
    });
    change.commit(AuditEvent::ConnectionAllowed, detail).await?;
    Ok(RunToken { text, connection: connection.id })
}

/// Digest of the agent key that stands behind `key`: the key's own, or that of the agent of a run's token.
pub(crate) async fn agent_of(store: &Store, now: UnixMillis, key: &str) -> Result<KeyHash> {
    if !key.starts_with(PREFIX) {
        return Ok(key_hash(key));
    }
    Ok(holder(store, now, key).await?.0)
}

/// Digest of the token that a request was sent with; `None` for an agent key.
pub(crate) fn of_request(head: &Parts) -> Option<String> {
    let key = control::key(&head.headers).ok()?;
    key.starts_with(PREFIX).then(|| digest(key))
}

/// True if the token with this digest is still good.
pub(crate) async fn is_live(store: &Store, now: UnixMillis, digest: &str) -> Result<bool> {
    Ok(tokens::holder(store, digest, now).await?.is_some())
}

/// The enabled agent of a live token, by the digest of its key, and the name of the program that holds the token.
pub(crate) async fn holder(store: &Store, now: UnixMillis, token: &str) -> Result<(KeyHash, String)> {
    let found = tokens::holder(store, &digest(token), now).await?;
    let TokenHolder { key_hash, client_name } = found.ok_or(Error::InvalidKey)?;
    Ok((CallerKey::of_digest(&key_hash)?.into(), client_name))
}

fn digest(token: &str) -> String {
    hex::encode(&key_hash(token))
}
