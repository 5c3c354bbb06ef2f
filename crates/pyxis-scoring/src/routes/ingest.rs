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
use pyxis_store::{Store, issuers};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::{Map, RawValue, Value};
use utoipa::ToSchema;

use super::parameters::{QueryPairs, Segments};
use super::responses::{BadAddress, MalformedParameter};
use super::shared::Providers;
use super::{json, respond};
use crate::credential::{self, Rejection, VerifiedCredential};
use crate::engine::{self, IngestOutcome};
use crate::error::{Error, Parameter, Result};
use crate::score_metrics::METRICS;
use crate::state::State;
use crate::values::{AddressPath, CredentialList, IngestStatus};

/// Maximum number of credentials in one request.
const MOST: usize = 200;
/// Longest body, in bytes.
const MAX_BODY: usize = 4 * 1024 * 1024;

#[derive(Serialize, ToSchema)]
#[schema(as = StampOutcome)]
struct Item<'a> {
    /// The Stamp, if the credential was accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false)]
    provider: Option<&'a StampName>,
    #[schema(value_type = IngestStatus)]
    status: &'static str,
    /// With `rejected`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    error: Option<ItemError>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = StampOutcomes)]
struct Outcomes<'a> {
    items: Vec<Item<'a>>,
}

#[derive(Serialize, ToSchema)]
struct RemovedStamps {
    removed: u32,
}

#[derive(Serialize, ToSchema)]
#[schema(as = StampRejection)]
struct ItemError {
    /// Position of the credential in the request, from 0.
    #[schema(minimum = 0)]
    index: usize,
    /// The check that failed.
    code: &'static str,
    detail: String,
}

/// Add credentials of an address.
///
/// For keys that may write. Each credential is checked separately: its signature, that its issuer is trusted, its
/// dates, and that its subject is the address. The Stamp's name is the one that the issuer signed. If several
/// credentials have the same name, the one issued last counts.
#[utoipa::path(
    post,
    path = "/v2/stamps/{address}",
    tag = "Stamps API",
    operation_id = "addStamps",
    security(("apiKey" = [])),
    params(
        AddressPath,
    ),
    request_body(content = CredentialList, description = "Verifiable Credentials with a proof `EthereumEip712Signature2021` or `Ed25519Signature2018`, at most 200 and 4 MiB. `proof` is one proof or a list of up to 8; one valid proof of the issuer is enough."),
    responses(
        (status = 200, description = "The outcome of each credential, in the order of the request.", body = Outcomes, example = json!({
            "items": [
                {
                    "provider": "Discord",
                    "status": "accepted"
                },
                {
                    "status": "rejected",
                    "error": {
                        "index": 1,
                        "code": "unknown_issuer",
                        "detail": "the issuer did:ethr:0x0000000000000000000000000000000000000001 is not trusted here"
                    }
                }
            ]
        })),
    ),
)]
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
        let checked = check(&state.store, caller.workspace, address, texts, now).await?;
        let trusted: Vec<&VerifiedCredential> = checked.iter().filter_map(|one| one.as_ref().ok()).collect();
        let outcomes = engine::ingest(&state.db, caller.workspace, address, &trusted, now).await?;
        let is_stored = |one: &&Option<IngestOutcome>| {
            matches!(one, Some(IngestOutcome::Accepted | IngestOutcome::Replaced))
        };
        METRICS.stamps.increment(outcomes.iter().filter(is_stored).count() as u64);
        let mut outcomes = outcomes.into_iter();
        let items = checked.iter().enumerate().map(|(index, one)| item(index, one, &mut outcomes));
        let outcomes = Outcomes { items: items.collect() };
        Ok(json(serde_json::to_vec(&outcomes).map_err(|error| Error::Internal(error.into()))?))
    })
    .await
}

/// Checks signatures on a blocking thread.
async fn check(
    store: &Store,
    workspace: WorkspaceId,
    address: EvmAddress,
    texts: Vec<Box<RawValue>>,
    now: UnixMillis,
) -> Result<Vec<Result<VerifiedCredential, Rejection>>> {
    let trusted = issuers::list(store, workspace).await?;
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

/// Remove Stamps for their holder.
///
/// For keys that may write. Removes all of them or none. The claims of a removed credential last until it would
/// have expired, so that it cannot move to another address at once.
#[utoipa::path(
    delete,
    path = "/v2/stamps/{address}",
    tag = "Stamps API",
    operation_id = "removeStamps",
    security(("apiKey" = [])),
    params(
        AddressPath,
        Providers,
    ),
    responses(
        (status = 200, description = "Number of Stamps that were removed.", body = RemovedStamps, example = json!({"removed": 1})),
        (status = 400, response = BadAddress),
        (status = 422, response = MalformedParameter),
    ),
)]
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
        let removed = engine::remove(&state.db, caller.workspace, address, &names, state.now()).await?;
        let removed = RemovedStamps { removed };
        Ok(json(serde_json::to_vec(&removed).map_err(|error| Error::Internal(error.into()))?))
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
        .map_err(|error| misread(pyxis_http::json::error_path(&error), error.inner()))
}

fn misread(path: Vec<String>, error: &serde_json::Error) -> Error {
    if !error.is_data() {
        let detail = format!("The body is not JSON: {}", pyxis_http::json::syntax(error));
        return Error::Body { status: StatusCode::BAD_REQUEST, detail };
    }
    Error::Shape { path, message: pyxis_http::json::explanation(error) }
}
