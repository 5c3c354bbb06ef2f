//! Authentication of a page: a publishable key, one of its origins, and its scorer.

use http::header::ORIGIN;
use http::{HeaderMap, HeaderValue};
use pyxis_core::clock::UnixMillis;
use pyxis_core::digest::sha256_hex;
use pyxis_core::id::ScorerId;
use pyxis_store::Store;
use pyxis_store::publishable_keys::{self, PublishableHead};
use pyxis_store::usage::Surface;

use crate::auth::X_API_KEY;
use crate::budget::Budget;
use crate::error::{Error, Result};
use crate::limits::{Limiter, limit_of_stamps};
use crate::page_keys::{PUBLISHABLE_PREFIX, spellings};
use crate::service::self_check;
use crate::signed::ScoreSigner;
use crate::state::State;
use crate::widget_error::WidgetError;

/// A page that may show the scores of its key's scorer.
#[derive(Clone, Debug)]
pub(crate) struct WidgetPage {
    pub(crate) key: PublishableHead,
    /// As the browser sent it.
    pub(crate) origin: String,
}

/// Authenticates a page's request and counts it. Requests of other origins do not count.
pub(crate) async fn page(
    state: &State,
    headers: &HeaderMap,
    scorer: ScorerId,
) -> Result<(WidgetPage, Budget)> {
    if !headers.contains_key(X_API_KEY)
        && let Some(page) = own_page(&state.signer, &state.store, headers, scorer).await?
    {
        return admit(&state.limiter, state.now(), page).await;
    }
    let key = single_header(headers, &X_API_KEY).ok_or(Error::InvalidKey)?;
    if !key.starts_with(PUBLISHABLE_PREFIX) {
        return Err(if key.is_empty() { Error::InvalidKey } else { WidgetError::ServerKey.into() });
    }
    let key = publishable_keys::find_live(&state.store, &sha256_hex(key.as_bytes())).await?;
    let key = key.ok_or(Error::InvalidKey)?;
    let origin = single_header(headers, &ORIGIN).ok_or(WidgetError::NoOrigin)?;
    if !publishable_keys::allows_origin(&state.store, key.id, spellings(origin)).await? {
        return Err(WidgetError::OriginNotAllowed(origin.to_owned()).into());
    }
    if key.scorer != scorer {
        return Err(WidgetError::OtherScorer(key.scorer).into());
    }
    admit(&state.limiter, state.now(), WidgetPage { key, origin: origin.to_owned() }).await
}

/// A page of the server itself, which needs no key in it: the browser says by its origin that the request is from there.
/// `None` from any other page, or if no key of the scorer allows the server's own origin.
async fn own_page(
    signer: &ScoreSigner,
    store: &Store,
    headers: &HeaderMap,
    scorer: ScorerId,
) -> Result<Option<WidgetPage>> {
    let Some(origin) = self_check::own_origin(signer) else { return Ok(None) };
    if single_header(headers, &ORIGIN) != Some(&origin) {
        return Ok(None);
    }
    let key =
        self_check::key_of(signer, store, scorer).await.map_err(|error| Error::Internal(error.into()))?;
    Ok(key.map(|key| WidgetPage { key, origin }))
}

async fn admit(limiter: &Limiter, now: UnixMillis, page: WidgetPage) -> Result<(WidgetPage, Budget)> {
    let limit = limit_of_stamps(page.key.stamps_tier, page.key.stamps_limit);
    let budget = limiter.admit(page.key.id, Surface::Stamps, limit, now).await?;
    Ok((page, budget))
}

/// The value of a header that occurs once.
fn single_header<'h>(headers: &'h HeaderMap, name: &http::HeaderName) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    HeaderValue::to_str(value).ok()
}
