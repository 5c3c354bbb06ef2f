//! Authentication of API requests (`docs/reference/behavior/scoring.md#endpoints`).

use http::{HeaderMap, HeaderName};
use pyxis_core::clock::UnixMillis;
use pyxis_core::hex;
use pyxis_core::id::WorkspaceId;
use pyxis_store::api_keys;
use pyxis_store::scores::KeyHead;
use pyxis_store::usage::Surface;
use sha2::{Digest, Sha256};

use crate::budget::Budget;
use crate::error::{Error, Result};
use crate::limits::{Limiter, limit_of_stamps};
use crate::page_keys::PUBLISHABLE_PREFIX;
use crate::state::State;
use crate::widget_error::WidgetError;

/// Header that carries the API key.
pub(crate) const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// An active key and its workspace.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    pub(crate) workspace: WorkspaceId,
    pub(crate) can_read: bool,
    pub(crate) can_write: bool,
    pub(crate) can_read_history: bool,
}

/// The digest under which a request's key is stored. A missing key counts as a wrong one.
pub(crate) fn key_hash(headers: &HeaderMap) -> Result<String> {
    let mut keys = headers.get_all(X_API_KEY).iter();
    let (Some(key), None) = (keys.next(), keys.next()) else { return Err(Error::InvalidKey) };
    // A page's key opens only the widget's paths. Its row has no permission, either.
    if key.as_bytes().starts_with(PUBLISHABLE_PREFIX.as_bytes()) {
        return Err(WidgetError::PublishableKey.into());
    }
    if key.is_empty() { Err(Error::InvalidKey) } else { Ok(hex::encode(&Sha256::digest(key.as_bytes()))) }
}

/// Authenticates a request to a Stamps endpoint and counts it.
pub(crate) async fn caller(state: &State, headers: &HeaderMap) -> Result<(Caller, Budget)> {
    let hash = key_hash(headers)?;
    let row = api_keys::find(&state.store, &hash).await?.filter(|row| row.revoked_at.is_none());
    let row = row.ok_or(Error::InvalidKey)?;
    let limit = limit_of_stamps(row.stamps_tier, row.stamps_limit);
    let budget = state.limiter.admit(row.id, Surface::Stamps, limit, state.now()).await?;
    let caller = Caller {
        workspace: row.workspace_id,
        can_read: row.can_read,
        can_write: row.can_write,
        can_read_history: row.can_read_history,
    };
    Ok((caller, budget))
}

/// Counts a request for a key that was already loaded with other data.
pub(crate) async fn admit(limiter: &Limiter, now: UnixMillis, head: &KeyHead) -> Result<Budget> {
    let limit = limit_of_stamps(head.stamps_tier, head.stamps_limit);
    limiter.admit(head.id, Surface::Stamps, limit, now).await
}
