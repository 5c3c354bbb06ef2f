//! WebSockets: a handshake with the secret, then messages without it (`docs/reference/forwarding.md#websocket`).
//!
//! The handshake is judged, recorded and sent like any request. After it, both directions are relayed frame by frame. An
//! approved handshake is not sent by the server itself, because no one would be there to talk: its agent opens it.

mod permission;
mod pump;
mod relay;

use axum::body::Body;
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use pyxis_core::approval_mode::ApprovalState;
use pyxis_core::clock::UnixMillis;
use pyxis_core::policy::Method;
use pyxis_http::websocket::{self, Handshake};
use pyxis_net::body::empty;
use pyxis_store::Store;
use pyxis_store::approvals::{self, ApprovalRow};

use self::permission::Permission;
use self::relay::Relay;
use super::{record, respond};
use crate::approvals::execute::{self, ForwardAttempt};
use crate::approvals::{agent_response, pause, wait_for_decision};
use crate::credentials::outbound::{self, ConnectionUse, Outbound, SwitchedConnection, clean_headers};
use crate::credentials::outcome::AuditSpan;
use crate::credentials::records;
use crate::credentials::requests::authorize::{AllowedBy, Matched};
use crate::credentials::requests::entry_point::EntryPoint;
use crate::credentials::requests::idempotency::run_detached;
use crate::credentials::requests::validated_request::ValidatedRequest;
use crate::error::{Error, Result};
use crate::runtime::open_sockets::{NoPlace, SocketPlace};
use crate::runtime::state::State;

/// Opens a WebSocket that needs no approval. `None` means: decide again.
pub(super) async fn open(
    state: &State,
    asked: &ValidatedRequest<'_>,
    handshake: &Handshake,
    allowed_by: &AllowedBy,
) -> Result<Option<Response>> {
    let (place, permission) =
        (reserve_socket(state, asked)?, Permission::from_request(asked, allowed_by.grant.is_some())?);
    let Some(mut outcome) = record(state, asked, allowed_by).await? else { return Ok(None) };
    let key = websocket::new_key(&*state.entropy);
    let mut headers = clean_headers(&asked.head.headers, asked.credential);
    websocket::add_headers(&mut headers, &key);
    let outbound = Outbound {
        credential: asked.credential,
        method: Method::Get,
        target: asked.target,
        headers,
        connection: ConnectionUse::Upgrade,
    };
    let mut answer = match outbound::dispatch(state, outbound, empty()).await {
        Ok(answer) => answer,
        Err(error) => {
            outcome.failed(&error);
            return Err(error);
        }
    };
    let Some(switched) = answer.switched.take() else {
        return respond(asked, answer, outcome).await.map(Some);
    };
    outcome.record_head(answer.status);
    let response = match switch(handshake, &switched, &key, answer.headers) {
        Ok(response) => response,
        Err(error) => {
            outcome.failed(&error);
            return Err(error);
        }
    };
    Relay { state: state.clone(), permission, outcome, place }.start(handshake.clone(), switched);
    Ok(Some(response))
}

/// Asks a person about a WebSocket, and opens it once it is approved.
pub(super) async fn require_approval(
    state: &State,
    asked: &ValidatedRequest<'_>,
    matched: &Matched,
    handshake: &Handshake,
) -> Result<Response> {
    let row = wait_for_decision(state, asked, matched).await?;
    if row.state != ApprovalState::Approved {
        return agent_response::answer(state, row).await;
    }
    let place = reserve_socket(state, asked)?;
    let permission = Permission::from_request(asked, true)?;
    let (state, handshake) = (state.clone(), handshake.clone());
    // An approval is used to its end, even if the agent disconnects.
    run_detached(async move { open_approved(&state, &handshake, &row, permission, place).await }).await
}

/// The approval of this handshake that no one has used yet, or a pending one as it stands after the wait.
async fn wait_for_decision(
    state: &State,
    asked: &ValidatedRequest<'_>,
    matched: &Matched,
) -> Result<ApprovalRow> {
    let since = state.now().minus(execute::OPENED_WITHIN);
    if let Some(row) = unopened(&state.store, asked, since).await? {
        return Ok(row);
    }
    let pending = pause::pause(state, asked, matched, bytes::Bytes::new(), None).await?;
    let preferred = asked.control.wait.unwrap_or(state.config.entrance_wait);
    let wait = EntryPoint::from_request(asked.head)
        .map_or(preferred, |entry_point| entry_point.wait(asked.control.wait));
    wait_for_decision::wait_until_decided(state, asked.agent, pending, wait).await
}

async fn unopened(
    store: &Store,
    asked: &ValidatedRequest<'_>,
    since: UnixMillis,
) -> Result<Option<ApprovalRow>> {
    let dedupe = pause::dedupe(asked, &asked.target.to_string(), &[]);
    Ok(approvals::find_unopened(store, asked.agent.workspace_id(), &dedupe, since).await?)
}

/// Opens a WebSocket with its approval, which is thereby used up.
async fn open_approved(
    state: &State,
    handshake: &Handshake,
    row: &ApprovalRow,
    permission: Permission,
    place: SocketPlace,
) -> Result<Response> {
    let (workspace, txn) = (row.workspace_id, row.txn_id);
    let _carried = state.work.track_in_flight(txn);
    let in_flight = state.in_flight.register();
    let Some(attempt) = execute::attempt(state, workspace, txn).await? else {
        return used(state, row).await;
    };
    let key = websocket::new_key(&*state.entropy);
    let mut answer = match outbound::dispatch(state, outbound(&attempt, &key), empty()).await {
        Ok(answer) => answer,
        Err(error) => {
            execute::not_opened(state, &attempt, Err(error)).await?;
            return answer_now(state, row).await;
        }
    };
    let Some(switched) = answer.switched.take() else {
        execute::not_opened(state, &attempt, Ok(answer)).await?;
        return answer_now(state, row).await;
    };
    let response = match switch(handshake, &switched, &key, answer.headers) {
        Ok(response) => response,
        Err(error) => {
            execute::not_opened(state, &attempt, Err(error)).await?;
            return answer_now(state, row).await;
        }
    };
    execute::opened(state, &attempt, response.headers().clone()).await?;
    let mut outcome = AuditSpan::new(state, workspace, attempt.seq, attempt.started, in_flight);
    outcome.record_head(StatusCode::SWITCHING_PROTOCOLS);
    Relay { state: state.clone(), permission, outcome, place }.start(handshake.clone(), switched);
    Ok(response)
}

fn outbound<'a>(attempt: &'a ForwardAttempt, key: &str) -> Outbound<'a> {
    let cleared = &attempt.cleared;
    let mut headers = cleared.request.headers.clone();
    websocket::add_headers(&mut headers, key);
    Outbound {
        credential: &cleared.credential,
        method: Method::Get,
        target: &cleared.target,
        headers,
        connection: ConnectionUse::Upgrade,
    }
}

/// The answer to a handshake whose approval could not be used.
async fn used(state: &State, row: &ApprovalRow) -> Result<Response> {
    let found = approvals::find(&state.store, row.workspace_id, row.txn_id).await?;
    let is_open = found.as_ref().is_some_and(|row| row.error.is_none());
    if is_open {
        return Err(Error::Conflict(
            "another WebSocket used this approval; open this one again to ask again",
        ));
    }
    answer_now(state, row).await
}

async fn answer_now(state: &State, row: &ApprovalRow) -> Result<Response> {
    let found = approvals::find(&state.store, row.workspace_id, row.txn_id).await?;
    agent_response::answer(state, found.ok_or(Error::not_found("transaction"))?).await
}

/// A place for one more WebSocket of the agent.
fn reserve_socket(state: &State, asked: &ValidatedRequest<'_>) -> Result<SocketPlace> {
    state.sockets.reserve(asked.agent.id()).map_err(|full| {
        let error = match full {
            NoPlace::Agent(max) => Error::TooManyAgentWebSockets { max },
            NoPlace::Server(max) => Error::TooManyWebSockets { max },
        };
        records::record_refusal(state, asked, &error);
        error
    })
}

/// The 101 to the agent, if the host's belongs to our handshake.
fn switch(
    handshake: &Handshake,
    switched: &SwitchedConnection,
    key: &str,
    mut headers: HeaderMap,
) -> Result<Response> {
    let status = StatusCode::SWITCHING_PROTOCOLS;
    let protocol = websocket::check_answer(&switched.headers, key, &handshake.protocols)
        .map_err(|why| Error::BrokenAnswer { status, why: why.into() })?;
    websocket::accept(&mut headers, &handshake.key, protocol);
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    Ok(response)
}
