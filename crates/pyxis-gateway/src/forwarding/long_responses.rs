//! Responses too long for one answer, which their agent reads in parts.
//!
//! The response to an approved request is stored with its approval. Others are kept here: sealed to the agent, few per
//! agent, for minutes.

use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{ResponseId, TxnId};
use pyxis_store::cipher::Keyring;
use pyxis_store::kept_responses::{self, NewKeptResponse};
use pyxis_store::{Store, approvals};

use super::entry_points::AgentIdentity;
use crate::approvals::agent_response;
use crate::error::{Error, Result};
use crate::runtime::state::State;
use crate::runtime::stored::StoredResponse;

/// Lifetime of a response that is kept here.
pub const KEPT: Duration = Duration::from_mins(15);
/// Responses kept for an agent. The oldest goes first.
const MOST: i64 = 8;

/// A response that is read in parts.
#[derive(Clone, Debug)]
pub struct LongResponse {
    /// `Content-Type`, if there was one.
    pub content_type: Option<String>,
    /// Body, as the agent may see it.
    pub body: Bytes,
}

/// Keeps a scrubbed response of a request that was sent at once.
pub async fn store_response(
    state: &State,
    agent: &AgentIdentity,
    (status, headers): (StatusCode, &HeaderMap),
    body: Bytes,
) -> Result<ResponseId> {
    let (id, now) = (ResponseId::new(&*state.entropy), state.now());
    let response = StoredResponse { status, headers: headers.clone(), body, truncated: false };
    let aad = kept_responses::response_aad(agent.workspace, agent.id, id);
    let sealed = state.keyring.seal(&*state.entropy, &aad, response.encode().expose());
    let new = NewKeptResponse {
        id,
        workspace: agent.workspace,
        agent: agent.id,
        sealed,
        created_at: now,
        expires_at: now.plus(KEPT),
    };
    let mut tx = state.store.begin().await?;
    kept_responses::insert(&mut tx, &new, MOST).await?;
    tx.commit().await?;
    Ok(id)
}

/// The agent's own response with this id, which is one of [`store_response`] or a transaction.
pub async fn find(state: &State, agent: &AgentIdentity, id: &str) -> Result<LongResponse> {
    let found = match id.parse::<ResponseId>() {
        Err(_) => None,
        Ok(id) => match load_response(&state.store, &state.keyring, state.now(), agent, id).await? {
            Some(response) => Some(response),
            None => of_transaction(&state.store, &state.keyring, agent, id.to_string().parse().ok()).await?,
        },
    };
    let response = found.ok_or(Error::not_found("response"))?;
    let content_type = response.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    Ok(LongResponse { content_type: content_type.map(str::to_owned), body: response.body })
}

async fn load_response(
    store: &Store,
    keyring: &Keyring,
    now: UnixMillis,
    agent: &AgentIdentity,
    id: ResponseId,
) -> Result<Option<StoredResponse>> {
    let found = kept_responses::find(store, agent.workspace, agent.id, id, now).await?;
    let Some(sealed) = found else { return Ok(None) };
    let aad = kept_responses::response_aad(agent.workspace, agent.id, id);
    let bytes = keyring.open(&aad, &sealed).map_err(|error| Error::Internal(Box::new(error)))?;
    StoredResponse::decode(&bytes).map(Some).map_err(|error| Error::Internal(Box::new(error)))
}

async fn of_transaction(
    store: &Store,
    keyring: &Keyring,
    agent: &AgentIdentity,
    txn: Option<TxnId>,
) -> Result<Option<StoredResponse>> {
    let Some(txn) = txn else { return Ok(None) };
    let found = approvals::find_for_agent(store, agent.workspace, agent.id, txn).await?;
    match found.filter(|row| row.error.is_none()) {
        Some(row) => agent_response::open(store, keyring, &row).await,
        None => Ok(None),
    }
}
