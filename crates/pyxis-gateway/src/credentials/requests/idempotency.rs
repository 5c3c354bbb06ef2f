//! `Idempotency-Key`: the same request sent twice is executed once.
//!
//! A key is claimed before anything else happens with the request. If Pyxis refuses the request before sending, the key
//! is released. A paused request's key points to its transaction, and a sent request's key keeps the response. A
//! request that was sent without a response stays unknown and is never sent again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::StreamExt;
use http_body_util::BodyExt;
use pyxis_core::clock::UnixMillis;
use pyxis_core::hex;
use pyxis_core::id::{AgentId, TxnId, WorkspaceId};
use pyxis_core::policy::Method;
use pyxis_core::target::Target;
use pyxis_store::approvals::{self, Newcomer};
use pyxis_store::cipher::Keyring;
use pyxis_store::idempotency::{KeyState, NewKey};
use pyxis_store::{Executor, Store, idempotency};
use sha2::{Digest, Sha256};
use tokio::time::{Instant, timeout_at};
use tracing::Instrument;

use crate::config::Config;
use crate::credentials::requests::control::Control;
use crate::error::lost_answer::LostAnswer;
use crate::error::{Error, Result};
use crate::runtime::resolve::ResolvedAgent;
use crate::runtime::sealing;
use crate::runtime::state::State;
use crate::runtime::stored::StoredResponse;

/// The header, in lower case.
pub(crate) const HEADER: &str = "idempotency-key";

/// Lifetime of a key.
pub(super) const REMEMBERED: Duration = Duration::from_hours(24);
/// Delay before settling a key is tried again.
const AGAIN: Duration = Duration::from_secs(2);

/// Result of claiming a key.
pub(crate) enum IdempotencyOutcome {
    /// The first request: continue, and settle the claim.
    First(Claimed),
    /// A later request, with the stored response.
    Again(Response),
    /// A later request; the first one became this transaction.
    Paused(TxnId),
}

/// A key that this request owns.
pub(crate) struct Claimed {
    state: State,
    workspace: WorkspaceId,
    agent: AgentId,
    key_hash: String,
    /// True if releasing the key could lead to a second execution.
    sent: AtomicBool,
    settled: AtomicBool,
}

/// Settles the key if the agent disconnects. The key of an unsent request is released; a sent one stays unknown for as
/// long as the key is remembered.
impl Drop for Claimed {
    fn drop(&mut self) {
        if self.settled.load(Ordering::Relaxed) {
            return;
        }
        let (state, workspace, agent) = (self.state.clone(), self.workspace, self.agent);
        let (key_hash, sent) = (std::mem::take(&mut self.key_hash), self.sent.load(Ordering::Relaxed));
        drop(tokio::spawn(async move {
            // No other node settles the key of a running node, so retry until the store is available again.
            loop {
                let done = if sent {
                    idempotency::mark_outcome_unknown(&state.store, workspace, agent, &key_hash).await
                } else {
                    idempotency::release(&state.store, workspace, agent, &key_hash).await
                };
                let Err(error) = done else { return };
                tracing::warn!(%error, "cannot store the outcome of an idempotency key yet; will retry");
                tokio::time::sleep(AGAIN).await;
            }
        }));
    }
}

/// Runs a request with a key to its end, even if the agent disconnects, because the agent will ask for its outcome.
pub(crate) async fn run_detached(
    request: impl Future<Output = Result<Response>> + Send + 'static,
) -> Result<Response> {
    tokio::spawn(request.in_current_span()).await.map_err(|error| Error::Internal(error.into()))?
}

/// Claims `key` for this request, or finds the outcome of the first one.
pub(crate) async fn claim(
    state: &State,
    agent: &ResolvedAgent,
    key: &str,
    control: &Control<'_>,
    body: &Bytes,
) -> Result<IdempotencyOutcome> {
    let key_hash = hash(&[key.as_bytes()]);
    let fingerprint = fingerprint(control, body);
    let (workspace, now) = (agent.workspace_id(), state.now());
    let new = NewKey {
        agent_id: agent.id(),
        key_hash: key_hash.clone(),
        workspace_id: workspace,
        fingerprint: fingerprint.clone(),
        node_id: state.node,
        created_at: now,
        expires_at: now.plus(REMEMBERED),
    };
    match idempotency::claim(&state.store, &new).await? {
        idempotency::Claim::New => Ok(IdempotencyOutcome::First(Claimed {
            state: state.clone(),
            workspace,
            agent: agent.id(),
            key_hash,
            sent: AtomicBool::new(false),
            settled: AtomicBool::new(false),
        })),
        idempotency::Claim::Existing(row) if row.fingerprint != fingerprint => {
            Err(Error::IdempotencyKeyReused)
        }
        idempotency::Claim::Existing(row) => repeat_outcome(&state.keyring, agent, *row),
    }
}

fn repeat_outcome(
    keyring: &Keyring,
    agent: &ResolvedAgent,
    row: idempotency::IdempotencyRow,
) -> Result<IdempotencyOutcome> {
    if let Some(txn) = row.txn_id {
        return Ok(IdempotencyOutcome::Paused(txn));
    }
    if row.state == KeyState::InProgress {
        return Err(Error::IdempotencyInProgress);
    }
    let sealed = row.sealed_outcome.ok_or(Error::OutcomeUnknown(LostAnswer::NotStored))?;
    let aad = sealing::outcome(agent.workspace_id(), agent.id(), &row.key_hash);
    let bytes = keyring.open(&aad, &sealed).map_err(|error| Error::Internal(Box::new(error)))?;
    let kept = StoredResponse::decode(&bytes).map_err(|error| Error::Internal(Box::new(error)))?;
    if kept.truncated {
        return Err(Error::Upstream(
            "the request was sent and answered; the response was too large to store".into(),
        ));
    }
    let mut response = (kept.status, kept.body).into_response();
    *response.headers_mut() = kept.headers;
    Ok(IdempotencyOutcome::Again(response))
}

impl Claimed {
    /// Links the key to a transaction.
    pub(crate) async fn attach(&self, executor: impl Executor, txn: TxnId) -> Result<()> {
        idempotency::attach_txn(executor, self.workspace, self.agent, &self.key_hash, txn).await?;
        Ok(())
    }

    /// The transaction is stored; the key points to it from now on.
    pub(crate) fn tied(&self) {
        self.settled.store(true, Ordering::Relaxed);
    }

    /// From now on the request may have reached the upstream.
    pub(crate) fn mark_sending(&self) {
        self.sent.store(true, Ordering::Relaxed);
    }

    /// Stores the response, or releases the key if nothing was sent.
    pub(crate) async fn complete(self, state: &State, result: Result<Response>) -> Result<Response> {
        if self.settled.load(Ordering::Relaxed) {
            return result;
        }
        match result {
            // Dropping the claim releases the key.
            Err(error) if !self.sent.load(Ordering::Relaxed) => Err(error),
            Err(error) => {
                let (parts, body) = error.into_response().into_parts();
                self.buffer_response(state, parts, body).await
            }
            Ok(response) => {
                let (parts, body) = response.into_parts();
                self.buffer_response(state, parts, body).await
            }
        }
    }

    /// True if the quotas of the agent and its workspace leave room for the response. If that cannot be
    /// read, nothing is stored: the response is passed on anyway.
    async fn has_room(&self, store: &Store, config: &Config, now: UnixMillis, body: &Bytes) -> bool {
        let bytes = i64::try_from(body.len()).unwrap_or(i64::MAX);
        let new = Newcomer { workspace: self.workspace, agent: self.agent, bytes, now };
        matches!(approvals::bytes_limit(store, &config.room, &new).await, Ok(None))
    }

    /// Buffers the response for later repetition. If it is too large or too slow, it is only passed on, and just its
    /// existence is recorded.
    async fn buffer_response(
        &self,
        state: &State,
        parts: http::response::Parts,
        body: axum::body::Body,
    ) -> Result<Response> {
        let (kept, body) = match read(body, &state.config).await? {
            MeasuredBody::Short(body)
                if self.has_room(&state.store, &state.config, state.now(), &body).await =>
            {
                (Some(body.clone()), body.into())
            }
            MeasuredBody::Short(body) => (None, body.into()),
            MeasuredBody::Long(body) => (None, body),
        };
        let kept = StoredResponse {
            status: parts.status,
            headers: parts.headers.clone(),
            truncated: kept.is_none(),
            body: kept.unwrap_or_default(),
        };
        let aad = sealing::outcome(self.workspace, self.agent, &self.key_hash);
        let sealed = state.keyring.seal(&*state.entropy, &aad, kept.encode().expose());
        match idempotency::complete(&state.store, self.workspace, self.agent, &self.key_hash, sealed).await {
            Ok(_) => self.tied(),
            // The agent receives its response anyway; dropping the claim records that it is not stored.
            Err(error) => tracing::warn!(%error, "cannot store a response for its idempotency key"),
        }
        Ok(Response::from_parts(parts, body))
    }
}

/// A body that fits the storage limit, or not.
enum MeasuredBody {
    Short(Bytes),
    Long(Body),
}

impl MeasuredBody {
    /// A body whose beginning was read.
    fn of_rest(beginning: Vec<Bytes>, rest: Body) -> Self {
        let beginning = futures_util::stream::iter(beginning.into_iter().map(Ok));
        Self::Long(Body::from_stream(beginning.chain(rest.into_data_stream())))
    }
}

async fn read(mut body: Body, config: &Config) -> Result<MeasuredBody> {
    let mut pieces: Vec<Bytes> = Vec::new();
    let mut length = 0;
    let end = Instant::now() + config.response_time;
    loop {
        let frame = match timeout_at(end, body.frame()).await {
            Ok(Some(frame)) => frame,
            Ok(None) => return Ok(MeasuredBody::Short(pieces.concat().into())),
            Err(_) => return Ok(MeasuredBody::of_rest(pieces, body)),
        };
        let frame =
            frame.map_err(|_| Error::Upstream("the host answered, but its response ended early".into()))?;
        let Ok(data) = frame.into_data() else { continue };
        length += data.len();
        pieces.push(data);
        if length > config.response_max {
            return Ok(MeasuredBody::of_rest(pieces, body));
        }
    }
}

/// Digest of what makes two requests equal, regardless of spelling.
pub(super) fn fingerprint(control: &Control<'_>, body: &[u8]) -> String {
    let method = match control.method {
        None => Method::Get.as_str(),
        Some(written) => Method::parse(written).map_or(written, |method| method.as_str()),
    };
    let written = control.target.unwrap_or_default();
    let target = Target::parse(written).map_or_else(|_| written.to_owned(), |target| target.to_string());
    let credential = control.credential.unwrap_or_default().to_lowercase();
    hash(&[credential.as_bytes(), method.as_bytes(), target.as_bytes(), &Sha256::digest(body)])
}

/// Digest of the parts, each with its length.
pub(super) fn hash(parts: &[&[u8]]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hex::encode(&hasher.finalize())
}
