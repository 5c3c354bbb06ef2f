//! Stamps added and removed by the holder's application (`docs/reference/behavior/scoring.md#credentials`).

use axum::body::Body;
use axum::extract::{RawQuery, State as Extract};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::WorkspaceId;
use pyxis_core::stamp::StampName;
use pyxis_http::body::BodyError;
use pyxis_store::issuers;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::{Map, RawValue, Value};

use super::parameters::{QueryPairs, Segments};
use super::{json, respond};
use crate::credential::{self, Rejection, VerifiedCredential};
use crate::engine::{self, IngestOutcome};
use crate::error::{Error, Parameter, Result};
use crate::state::State;

/// Maximum number of credentials in one request.
const MOST: usize = 200;
/// Longest body, in bytes.
const MAX_BODY: usize = 4 * 1024 * 1024;

#[derive(Serialize)]
struct Item<'a> {
    /// The Stamp, if the credential was accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<&'a StampName>,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ItemError>,
}

#[derive(Serialize)]
struct ItemError {
    /// Position of the credential in the request, from 0.
    index: usize,
    code: &'static str,
    detail: String,
}

/// `POST /v2/stamps/{address}`: adds an array of credentials and returns their outcomes in order.
pub(crate) async fn add_stamps(
    Extract(state): Extract<State>,
    segments: Segments,
    headers: HeaderMap,
    body: Body,
) -> Response {
    respond(&state, &headers, async |caller| {
        let texts: Vec<Box<RawValue>> = read_json(body, MAX_BODY).await?;
        if texts.len() > MOST {
            let message = format!("at most {MOST} credentials in one request");
            return Err(Error::Shape { path: Vec::new(), message });
        }
        if !caller.can_write {
            return Err(Error::Forbidden);
        }
        let address = segments.address()?;
        let now = state.now();
        let checked = check(&state, caller.workspace, address, texts, now).await?;
        let believed: Vec<&VerifiedCredential> = checked.iter().filter_map(|one| one.as_ref().ok()).collect();
        let outcomes = engine::ingest(&state.books, caller.workspace, address, &believed, now).await?;
        let mut outcomes = outcomes.into_iter();
        let items = checked.iter().enumerate().map(|(index, one)| item(index, one, &mut outcomes));
        let items: Vec<Item<'_>> = items.collect();
        let body = serde_json::json!({ "items": items }).to_string();
        Ok(json(body))
    })
    .await
}

/// Checks signatures on a blocking thread.
async fn check(
    state: &State,
    workspace: WorkspaceId,
    address: EvmAddress,
    texts: Vec<Box<RawValue>>,
    now: UnixMillis,
) -> Result<Vec<Result<VerifiedCredential, Rejection>>> {
    let trusted = issuers::list(&state.store, workspace).await?;
    let work = move || {
        let listed = |did: &str| trusted.iter().any(|issuer| issuer.did == did);
        texts
            .iter()
            .map(|text| credential::parse_and_verify(text.get(), address, now, listed))
            .collect::<Vec<_>>()
    };
    tokio::task::spawn_blocking(work).await.map_err(|error| Error::Internal(error.into()))
}

fn item<'a>(
    index: usize,
    checked: &'a Result<VerifiedCredential, Rejection>,
    outcomes: &mut impl Iterator<Item = Option<IngestOutcome>>,
) -> Item<'a> {
    let refused = |provider, code, detail: String| Item {
        provider,
        status: "rejected",
        error: Some(ItemError { index, code, detail }),
    };
    let disbelieved = |rejection: &Rejection| refused(None, rejection.code(), rejection.to_string());
    let verified = match checked {
        Ok(verified) => verified,
        Err(rejection) => return disbelieved(rejection),
    };
    let provider = Some(&verified.provider);
    let status = match outcomes.next().flatten() {
        Some(IngestOutcome::Accepted) => "accepted",
        Some(IngestOutcome::Replaced) => "replaced",
        Some(IngestOutcome::Unchanged) => "unchanged",
        Some(IngestOutcome::Superseded) => {
            let detail =
                "a credential that was issued at the same time or later is already stored".to_owned();
            return refused(provider, "superseded", detail);
        }
        Some(IngestOutcome::Revoked) => {
            return refused(provider, "revoked", "its issuer revoked this credential".to_owned());
        }
        None => return disbelieved(&Rejection::UnknownIssuer { issuer: verified.issuer.clone() }),
    };
    Item { provider, status, error: None }
}

/// `DELETE /v2/stamps/{address}?provider=…`: removes the named Stamps and returns how many existed.
pub(crate) async fn remove_stamps(
    Extract(state): Extract<State>,
    segments: Segments,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    respond(&state, &headers, async |caller| {
        let query = QueryPairs::read(query.as_deref());
        let names = query.all("provider").map(str::parse).collect::<Result<Vec<StampName>, _>>();
        let names = names.ok().filter(|names| !names.is_empty()).ok_or(Error::Parameter(Parameter {
            place: "query",
            name: "provider",
            kind: "missing",
            message: "Name the Stamps to remove: ?provider=NAME, with # written %23; repeat it for several",
        }))?;
        if !caller.can_write {
            return Err(Error::Forbidden);
        }
        let address = segments.address()?;
        let removed = engine::remove(&state.books, caller.workspace, address, &names, state.now()).await?;
        Ok(json(format!("{{\"removed\":{removed}}}")))
    })
    .await
}

/// A body of at most `most` bytes.
pub(super) async fn read_json<T: DeserializeOwned>(body: Body, most: usize) -> Result<T> {
    let bytes = pyxis_http::body::read(body, most).await.map_err(|error| match error {
        BodyError::TooLarge => Error::Body {
            status: StatusCode::PAYLOAD_TOO_LARGE,
            detail: format!("The body is longer than {most} bytes."),
        },
        BodyError::Broken => {
            Error::Body { status: StatusCode::BAD_REQUEST, detail: "The body ended early.".to_owned() }
        }
    })?;
    serde_json::from_slice(&bytes).map_err(|error| misread(Vec::new(), &error))
}

/// The same for an object. serde alone would also accept a list of its values in order.
pub(super) async fn read_object<T: DeserializeOwned>(body: Body, most: usize) -> Result<T> {
    let object: Map<String, Value> = read_json(body, most).await?;
    serde_path_to_error::deserialize(Value::Object(object))
        .map_err(|error| misread(pyxis_http::json::place(&error), error.inner()))
}

fn misread(path: Vec<String>, error: &serde_json::Error) -> Error {
    if !error.is_data() {
        let detail = format!("The body is not JSON: {error}");
        return Error::Body { status: StatusCode::BAD_REQUEST, detail };
    }
    Error::Shape { path, message: error.to_string() }
}
