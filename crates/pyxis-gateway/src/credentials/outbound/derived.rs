//! Requests of kinds that make what they attach for each request, or fetch it.

use std::pin::Pin;
use std::sync::Arc;

use http::StatusCode;
use http::header::AUTHORIZATION;
use pyxis_core::auth::Auth;
use pyxis_core::policy::Method;
use pyxis_core::secret::SecretString;
use pyxis_net::Body;
use zeroize::Zeroizing;

use super::{Outbound, UpstreamResponse, wire_request, wrap};
use crate::credentials::kinds::{self, Attached, Unsigned, sensitive};
use crate::credentials::tokens;
use crate::error::lost_answer::LostAnswer;
use crate::error::{Error, Result};
use crate::runtime::resolve::ResolvedCredential;
use crate::runtime::secret_value::SecretValue;
use crate::runtime::state::State;

/// A dispatch under way. Named, so that the future of requests that do without stays small.
type Dispatching<'a> = Pin<Box<dyn Future<Output = Result<UpstreamResponse>> + Send + 'a>>;

/// As [`super::dispatch`], for a configuration of these kinds.
pub(super) fn dispatch<'a>(
    state: &'a State,
    auth: &'a Auth,
    outbound: Outbound<'a>,
    body: Body,
) -> Dispatching<'a> {
    Box::pin(run(state, auth, outbound, body))
}

async fn run(state: &State, auth: &Auth, mut outbound: Outbound<'_>, body: Body) -> Result<UpstreamResponse> {
    let credential = outbound.credential;
    let opened = credential.open_needed(&state.keyring)?;
    let secret = opened.secret();
    let mut attached = Attached {
        headers: std::mem::take(&mut outbound.headers),
        body,
        search_strings: kinds::collect_from_secret(Some(auth), secret),
        client: state.net.clone(),
        target: None,
    };
    let mut token = None;
    if auth.settings().token_endpoint().is_some() {
        token = Some(bearer(state, credential, secret, &mut attached).await?);
    } else {
        let (method, target) = (outbound.method, outbound.target);
        let request = Unsigned { state, credential, secret, method, target };
        kinds::behavior(auth).sign(request, &mut attached).await?;
    }
    let Attached { headers, body, search_strings, client, target } = attached;
    let url = Zeroizing::new(target.as_ref().unwrap_or(outbound.target).to_string());
    let request = wire_request(outbound.method, &url, headers, body)?;
    let sent = super::send(&client, outbound.connection, request, state.config.forward_timeout).await;
    let response = sent.map_err(|error| map_error(credential, outbound.method, error))?;
    if let Some(token) = token.filter(|_| response.status() == StatusCode::UNAUTHORIZED) {
        tokens::rejected(&state.store, &state.token_cache, state.now(), credential, &token).await;
    }
    wrap(
        &state.config,
        credential,
        outbound.connection,
        response,
        Arc::new(search_strings.needles(&credential.row.name)),
    )
}

/// A host that does not like a client certificate may hang up before its reason has arrived.
fn map_error(credential: &ResolvedCredential, method: Method, error: pyxis_net::Error) -> Error {
    let is_closed = matches!(error, pyxis_net::Error::Closed { .. });
    let error = Error::unanswered(error, method);
    if !is_closed || !matches!(credential.auth, Some(Auth::Mtls(_))) {
        return error;
    }
    match error {
        Error::OutcomeUnknown(_) => Error::OutcomeUnknown(LostAnswer::ClosedAfterCertificate),
        _ => Error::Upstream(
            "the host closed the connection early; it may not accept the client certificate".into(),
        ),
    }
}

/// Attaches an access token, and returns it.
async fn bearer(
    state: &State,
    credential: &ResolvedCredential,
    secret: &SecretValue,
    attached: &mut Attached,
) -> Result<SecretString> {
    let token = tokens::token(state, credential, secret).await?;
    let text = Zeroizing::new(format!("Bearer {}", token.expose()));
    attached.headers.insert(AUTHORIZATION, sensitive(&text)?);
    attached.search_strings.add_sent(token.expose(), || text.to_string());
    Ok(token)
}
