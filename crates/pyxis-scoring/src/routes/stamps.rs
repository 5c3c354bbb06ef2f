//! `GET /v2/stamps/{address}`: pages of verified Stamps.

use std::borrow::Cow;
use std::collections::HashMap;

use axum::extract::{RawQuery, State as Extract};
use axum::http::HeaderMap;
use axum::response::Response;
use pyxis_core::address::EvmAddress;
use pyxis_core::catalogue::Platform;
use pyxis_core::secret::SecretBytes;
use pyxis_store::stamps::{self, Cursor, PageItem};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::parameters::{QueryPairs, Segments};
use super::responses::{BadPage, MalformedParameter};
use super::shared::{IncludeMetadata, PageLimit, PageToken};
use super::{json, respond};
use crate::auth::Caller;
use crate::error::{Error, Result};
use crate::page_token;
use crate::service::catalogue;
use crate::state::State;
use crate::values::{AddressPath, PageVersion, VerifiableCredential};

/// Stamps per page: the maximum and the default.
const PAGE: u32 = 1000;
const VERSION: &str = "1.0.0";

#[derive(Serialize, ToSchema)]
pub(super) struct StampPage<'a> {
    /// Token of the page with older Stamps; null at the end.
    #[schema(required, example = json!(null))]
    next: Option<String>,
    /// Token of the page with newer Stamps; null at the start.
    #[schema(required, example = json!(null))]
    prev: Option<String>,
    items: Vec<Item<'a>>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = StampItem)]
struct Item<'a> {
    #[schema(value_type = PageVersion)]
    version: &'static str,
    /// Byte for byte as received.
    #[schema(value_type = VerifiableCredential)]
    credential: Box<RawValue>,
    /// Only with `include_metadata`; null for a Stamp that the catalogue does not list.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Metadata>)]
    metadata: Option<Option<Metadata<'a>>>,
}

/// The catalogue's entry for a Stamp.
#[derive(Clone, Copy, Serialize, ToSchema)]
#[schema(as = StampMetadata)]
struct Metadata<'a> {
    group: &'a str,
    /// The platform without its groups.
    platform: &'a PlatformHead<'a>,
    name: &'a str,
    description: &'a str,
    hash: &'a str,
}

/// The platform without its groups.
#[derive(Serialize, ToSchema)]
struct PlatformHead<'a> {
    id: &'a str,
    icon: &'a str,
    name: &'a str,
    description: &'a str,
    #[serde(rename = "connectMessage")]
    connect_message: &'a str,
}

/// Read the verified Stamps of an address.
///
/// Newest first, without expired and revoked ones. Pages stay stable while Stamps are added.
#[utoipa::path(
    get,
    path = "/v2/stamps/{address}",
    tag = "Stamps API",
    operation_id = "listStamps",
    security(("apiKey" = [])),
    params(
        AddressPath,
        IncludeMetadata,
        PageLimit,
        PageToken,
    ),
    responses(
        (status = 200, description = "A page; empty if there are no Stamps.", body = StampPage),
        (status = 400, response = BadPage),
        (status = 422, response = MalformedParameter),
    ),
)]
pub(crate) async fn list_stamps(
    Extract(state): Extract<State>,
    segments: Segments,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    respond(&state, &headers, async |caller| {
        let query = QueryPairs::read(query.as_deref());
        let with_metadata = query.switch("include_metadata")?;
        let limit = query.limit(PAGE)?;
        if !caller.can_read {
            return Err(Error::Forbidden);
        }
        let address = segments.address()?;
        let cursor = cursor(&state.token_key, &caller, address, query.find("token"))?;
        page(&state, &caller, address, cursor, limit, with_metadata).await
    })
    .await
}

fn cursor(
    token_key: &SecretBytes,
    caller: &Caller,
    address: EvmAddress,
    token: Option<&str>,
) -> Result<Cursor> {
    let Some(token) = token else { return Ok(Cursor::First) };
    page_token::read(token_key, caller.workspace, address, token).ok_or(Error::InvalidToken)
}

async fn page(
    state: &State,
    caller: &Caller,
    address: EvmAddress,
    cursor: Cursor,
    limit: u32,
    with_metadata: bool,
) -> Result<Response> {
    let (store, now) = (&state.store, state.now());
    let found = stamps::page(store, caller.workspace, address, now, cursor, limit).await?;
    let (mut next, mut prev) = (None, None);
    if let Some((older, newer)) = around(&found, cursor) {
        for (beyond, token) in [(older, &mut next), (newer, &mut prev)] {
            if stamps::exists_beyond(store, caller.workspace, address, now, beyond).await? {
                *token = Some(page_token::write(&state.token_key, caller.workspace, address, beyond));
            }
        }
    }
    let catalogue =
        if with_metadata { catalogue::served(store, caller.workspace).await? } else { Cow::default() };
    let heads: Vec<PlatformHead<'_>> = catalogue.iter().map(PlatformHead::new).collect();
    let known = metadata(&catalogue, &heads);
    let items = found
        .into_iter()
        .filter_map(|stamp| {
            let text = stamp.credential.ok_or("it cannot be decompressed");
            let credential = text.and_then(|text| RawValue::from_string(text).map_err(|_| "it is not JSON"));
            let credential = credential.inspect_err(
                |reason| tracing::error!(%address, stamp.id, reason, "a stored credential is damaged"),
            );
            Some(Item {
                version: VERSION,
                credential: credential.ok()?,
                metadata: with_metadata.then(|| known.get(stamp.provider.as_str()).copied()),
            })
        })
        .collect();
    let page = StampPage { next, prev, items };
    Ok(json(serde_json::to_vec(&page).map_err(|error| Error::Internal(error.into()))?))
}

/// The starts of what is older and what is newer than a page; `None` if there is nothing at all. For a page that became
/// empty, both are at its own cursor.
fn around(found: &[PageItem], cursor: Cursor) -> Option<(Cursor, Cursor)> {
    if let (Some(newest), Some(oldest)) = (found.first(), found.last()) {
        return Some((Cursor::Older(oldest.id), Cursor::Newer(newest.id)));
    }
    match cursor {
        Cursor::First => None,
        Cursor::Older(than) => Some((cursor, Cursor::Newer(than.saturating_sub(1)))),
        Cursor::Newer(than) => Some((Cursor::Older(than.saturating_add(1)), cursor)),
    }
}

impl<'a> PlatformHead<'a> {
    fn new(platform: &'a Platform) -> Self {
        let Platform { id, icon, name, description, connect_message, .. } = platform;
        Self { id, icon, name, description, connect_message }
    }
}

/// The catalogue's entry for each Stamp, by name.
fn metadata<'a>(catalogue: &'a [Platform], heads: &'a [PlatformHead<'a>]) -> HashMap<&'a str, Metadata<'a>> {
    let mut known = HashMap::new();
    for (platform, head) in catalogue.iter().zip(heads) {
        for group in &platform.groups {
            for entry in &group.stamps {
                let metadata = Metadata {
                    group: &group.name,
                    platform: head,
                    name: entry.name.as_str(),
                    description: &entry.description,
                    hash: &entry.hash,
                };
                known.insert(entry.name.as_str(), metadata);
            }
        }
    }
    known
}
