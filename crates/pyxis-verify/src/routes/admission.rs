//! Access control and rate limit: open to anyone unless the operator configures it
//! (`docs/reference/behavior/verification.md#who-may-ask`).

use std::time::Duration;

use axum::extract::{Request, State as Extract};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::HeaderMap;
use pyxis_core::clock::UnixMillis;
use pyxis_http::client_ip::{Peer, client_ip, limit_key};
use pyxis_store::anonymous_limits;

use crate::error::{Error, Result};
use crate::state::State;

/// The window of the rate limit.
const WINDOW: Duration = Duration::from_mins(1);

pub(super) async fn admit(Extract(state): Extract<State>, request: Request, next: Next) -> Response {
    // A whole request cannot be shared between two threads.
    let (headers, peer) = (request.headers().clone(), request.extensions().get::<Peer>().copied());
    match check(&state, &headers, peer).await {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    }
}

async fn check(state: &State, headers: &HeaderMap, peer: Option<Peer>) -> Result<()> {
    let admission = &state.config.admission;
    if let Some(key) = &admission.api_key {
        let given = headers.get("x-api-key").map(http::HeaderValue::as_bytes);
        if !given.is_some_and(|given| key.matches(given)) {
            return Err(Error::InvalidKey);
        }
    }
    let Some(Peer(peer)) = peer.filter(|_| admission.per_minute > 0) else {
        return Ok(());
    };
    let client = limit_key(client_ip(peer, headers, &admission.trusted_proxies));
    let (now, window) = (state.now(), i64::try_from(WINDOW.as_millis()).unwrap_or(i64::MAX));
    let start = UnixMillis(now.0 - now.0.rem_euclid(window));
    if anonymous_limits::admit(&state.store, &client, start, admission.per_minute.into()).await? {
        return Ok(());
    }
    Err(Error::RateLimited { wait: start.plus(WINDOW).since(now).as_secs().try_into().unwrap_or(60) })
}
