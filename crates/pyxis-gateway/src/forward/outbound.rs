//! One request on its way out, and its answer on the way back.
//!
//! Used for requests that pass at once and for those that a person approved.

use std::sync::Arc;

use http::header::{ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, RANGE};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use hyper::body::Incoming;
use pyxis_core::auth::Connector;
use pyxis_core::headers;
use pyxis_core::policy::Method;
use pyxis_core::target::Target;
use pyxis_scrub::{Decoder, Needles};
use zeroize::Zeroizing;

use super::inject::{self, Injected};
use super::relay::ScrubbedBody;
use crate::error::{Error, Result};
use crate::resolve::Credential;
use crate::secret_value::SecretValue;
use crate::state::State;

/// A request as it was judged: canonical target, clean headers.
pub(crate) struct Outbound<'a> {
    pub(crate) credential: &'a Credential,
    pub(crate) method: Method,
    pub(crate) target: &'a Target,
    pub(crate) headers: HeaderMap,
}

/// An upstream answer with every trace of the secret removed, or being removed as it streams.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: ScrubbedBody,
}

/// The agent's headers without what must not go upstream.
pub(crate) fn clean_headers(sent: &HeaderMap, credential: &Credential) -> HeaderMap {
    let named = connection_tokens(sent);
    let mut clean = HeaderMap::with_capacity(sent.len());
    for (name, value) in sent {
        let text = name.as_str();
        let traced = matches!(text, "traceparent" | "tracestate") && !credential.options.pass_traceparent;
        if traced || headers::never_forwarded(text) || named.iter().any(|token| token == text) {
            continue;
        }
        clean.append(name, value.clone());
    }
    // A range would let an agent read around a secret in pieces too small to recognise.
    clean.remove(RANGE);
    clean.remove("if-range");
    if credential.row.connector == Connector::Sidecar {
        // On this leg the header belongs to the sidecar's own token.
        clean.remove(AUTHORIZATION);
    }
    let accepted = sent.get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if let Ok(value) = HeaderValue::try_from(pyxis_scrub::acceptable(accepted)) {
        clean.insert(ACCEPT_ENCODING, value);
    }
    clean
}

fn connection_tokens(sent: &HeaderMap) -> Vec<String> {
    sent.get_all("connection")
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|token| token.trim().to_ascii_lowercase())
        .collect()
}

/// Attaches the secret, sends, and wraps the answer. The audit record must be durable before.
pub(crate) async fn dispatch(state: &State, outbound: Outbound<'_>, body: pyxis_net::Body) -> Result<Answer> {
    let credential = outbound.credential;
    let secret = open_secret(state, credential)?;
    let (request, injected) = prepare(outbound, secret.as_ref(), body)?;
    let client = match credential.row.connector {
        Connector::Direct => &state.net,
        Connector::Sidecar => &state.net_private,
    };
    let response = client.send(request, state.config.forward_timeout).await?;
    wrap(state, credential, response, needles(credential, &injected))
}

/// The secret of a credential, opened for this request.
pub(crate) fn open_secret(state: &State, credential: &Credential) -> Result<Option<SecretValue>> {
    let Some(sealed) = &credential.row.sealed_secret else {
        return match credential.row.connector {
            Connector::Sidecar => Ok(None),
            Connector::Direct => Err(Error::NoLongerAllowed("the credential has no secret")),
        };
    };
    let aad = pyxis_store::credentials::secret_aad(credential.row.workspace_id, credential.row.id);
    let bytes = state.keyring.open(&aad, sealed).map_err(|error| Error::Internal(Box::new(error)))?;
    SecretValue::from_bytes(&bytes).map(Some)
}

fn prepare(
    mut outbound: Outbound<'_>,
    secret: Option<&SecretValue>,
    body: pyxis_net::Body,
) -> Result<(http::Request<pyxis_net::Body>, Injected)> {
    let mut headers = std::mem::take(&mut outbound.headers);
    let row = &outbound.credential.row;
    let (method, url, injected) = if let (Some(auth), Some(secret)) = (&outbound.credential.auth, secret) {
        let wire = outbound.target.wire();
        let injected = inject::attach(auth, secret, &mut headers, wire)?;
        let wire = injected.wire.as_ref().map_or(wire, |wire| wire.as_str());
        let url = Zeroizing::new(format!("{}{wire}", outbound.target.origin()));
        (outbound.method, url, injected)
    } else {
        let injected = sidecar_headers(&outbound, secret, &mut headers)?;
        (Method::Post, Zeroizing::new(row.api_base.clone().unwrap_or_default()), injected)
    };
    let mut request = http::Request::new(body);
    *request.method_mut() = http::Method::from_bytes(method.as_str().as_bytes())
        .map_err(|error| Error::Internal(error.into()))?;
    *request.uri_mut() = url.parse().map_err(|error: http::uri::InvalidUri| Error::Internal(error.into()))?;
    *request.headers_mut() = headers;
    Ok((request, injected))
}

/// What the signing sidecar needs to know (Spec 3, `ANY {signer_url}/`).
fn sidecar_headers(
    outbound: &Outbound<'_>,
    secret: Option<&SecretValue>,
    headers: &mut HeaderMap,
) -> Result<Injected> {
    let value = |text: &str| HeaderValue::try_from(text).map_err(|error| Error::Internal(error.into()));
    let name = HeaderName::from_static;
    headers.insert(name("x-oauth-credential"), value(&outbound.credential.row.name)?);
    headers.insert(name("x-oauth-target"), value(&outbound.target.to_string())?);
    headers.insert(name("x-px-method"), value(outbound.method.as_str())?);
    let mut injected = Injected::default();
    if let Some(token) = secret.and_then(SecretValue::text) {
        let mut bearer = value(&Zeroizing::new(format!("Bearer {token}")))?;
        bearer.set_sensitive(true);
        headers.insert(AUTHORIZATION, bearer);
        injected.secrets.push(Zeroizing::new(token.as_bytes().to_vec()));
    }
    Ok(injected)
}

fn needles(credential: &Credential, injected: &Injected) -> Needles {
    let secrets: Vec<&[u8]> = injected.secrets.iter().map(|secret| secret.as_slice()).collect();
    Needles::new(&credential.row.name, &secrets)
}

fn wrap(
    state: &State,
    credential: &Credential,
    response: Response<Incoming>,
    needles: Needles,
) -> Result<Answer> {
    let (parts, body) = response.into_parts();
    let coding = match parts.headers.get(CONTENT_ENCODING) {
        None => None,
        Some(value) => {
            let text = value.to_str().map_err(|_| Error::UnknownContentCoding)?;
            let decoder = Decoder::for_content_encoding(text).map_err(|_| Error::UnknownContentCoding)?;
            (!decoder.is_identity()).then_some(decoder)
        }
    };
    let headers = answer_headers(&parts.headers, credential, &needles);
    let body = ScrubbedBody::new(body, coding, Arc::new(needles), state.config.idle_timeout);
    Ok(Answer { status: parts.status, headers, body })
}

/// The upstream's headers without hop-by-hop ones, our own marks, and the secret.
fn answer_headers(sent: &HeaderMap, credential: &Credential, needles: &Needles) -> HeaderMap {
    let named = connection_tokens(sent);
    let mut clean = HeaderMap::with_capacity(sent.len());
    for (name, value) in sent {
        let text = name.as_str();
        let cookie = matches!(text, "set-cookie" | "set-cookie2");
        let dropped = match text {
            // Names the trailers that follow, without which HTTP/1.1 carries none.
            "trailer" => false,
            _ if cookie => !credential.options.allow_set_cookie,
            _ => headers::never_relayed(text),
        };
        if dropped || named.iter().any(|token| token == text) {
            continue;
        }
        if name == CONTENT_LENGTH || name == CONTENT_ENCODING {
            continue;
        }
        clean.append(scrubbed_name(name, needles), scrub_value(value, needles));
    }
    clean
}

/// An upstream that echoes the secret as a header *name* is as leaky as any other.
fn scrubbed_name(name: &HeaderName, needles: &Needles) -> HeaderName {
    match needles.scrub_bytes(name.as_str().as_bytes()) {
        std::borrow::Cow::Borrowed(_) => name.clone(),
        std::borrow::Cow::Owned(_) => HeaderName::from_static("x-redacted"),
    }
}

pub(crate) fn scrub_value(value: &HeaderValue, needles: &Needles) -> HeaderValue {
    match needles.scrub_bytes(value.as_bytes()) {
        std::borrow::Cow::Borrowed(_) => value.clone(),
        std::borrow::Cow::Owned(clean) => {
            HeaderValue::from_bytes(&clean).unwrap_or_else(|_| HeaderValue::from_static("[REDACTED]"))
        }
    }
}
