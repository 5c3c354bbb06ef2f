//! One request on its way out, and its answer on the way back.
//!
//! Used for requests that pass at once and for those that a person approved.

mod derived;
pub(crate) mod relay;
pub(crate) mod replacement;

use crate::config::Config;
use std::sync::Arc;
use std::time::Duration;

use http::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, RANGE, TRANSFER_ENCODING,
};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use pyxis_core::auth::Connector;
use pyxis_core::headers;
use pyxis_core::policy::Method;
use pyxis_core::target::Target;
use pyxis_http::problem::PX_ERROR;
use pyxis_scrub::{Decoder, Needles};
use pyxis_store::workspaces;
use zeroize::Zeroizing;

use self::relay::ScrubbedBody;
use super::kinds;
use super::requests::control::is_of_tool;
use super::search_strings::SearchStrings;
use crate::error::lost_answer::LostAnswer;
use crate::error::{Error, Result};
use crate::runtime::resolve::ResolvedCredential;
use crate::runtime::secret_cache::DecryptedSecret;
use crate::runtime::secret_value::SecretValue;
use crate::runtime::state::State;

/// Preferences (RFC 7240).
const PREFER: &str = "prefer";

/// A request as it was judged: canonical target, clean headers.
pub(crate) struct Outbound<'a> {
    pub(crate) credential: &'a ResolvedCredential,
    pub(crate) method: Method,
    pub(crate) target: &'a Target,
    pub(crate) headers: HeaderMap,
    pub(crate) connection: ConnectionUse,
}

/// Connection that a request goes out on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionUse {
    /// Any connection to the host.
    Pooled,
    /// One of its own, for a request that must not meet a host that is just closing an idle connection.
    Fresh,
    /// One of its own, whose protocol the host may change.
    Upgrade,
}

/// Connection whose protocol the host has changed with a 101.
pub(crate) struct SwitchedConnection {
    pub(crate) connection: OnUpgrade,
    /// Headers of the 101 as the host sent them, with those about the connection.
    pub(crate) headers: HeaderMap,
    /// Finds the secret in what the host sends.
    pub(crate) needles: Arc<Needles>,
}

/// An upstream answer with every trace of the secret removed, or being removed as it streams.
pub(crate) struct UpstreamResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    /// The length that the upstream told, of a body as it is relayed. In an answer to HEAD it is all there is of it.
    pub(crate) length: Option<HeaderValue>,
    pub(crate) body: ScrubbedBody,
    /// The connection, after a 101 that was asked for.
    pub(crate) switched: Option<SwitchedConnection>,
}

/// The agent's headers without what must not go upstream. A tool behind `pyxis run` keeps its own `Prefer`.
pub(crate) fn clean_headers(sent: &HeaderMap, credential: &ResolvedCredential) -> HeaderMap {
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
    // A range would let an agent read around a secret in pieces too small to recognize.
    clean.remove(RANGE);
    clean.remove("if-range");
    // An older name of it, which some servers still obey.
    clean.remove("request-range");
    if !is_of_tool(sent) {
        remove_wait(&mut clean);
    }
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

/// Removes the preference `wait`, which is for this proxy. The target would hold the request as well.
fn remove_wait(headers: &mut HeaderMap) {
    let lines: Vec<HeaderValue> = headers.get_all(PREFER).iter().cloned().collect();
    let is_wait = |preference: &&str| {
        let name = preference.split(['=', ';']).next().unwrap_or_default();
        name.trim().eq_ignore_ascii_case("wait")
    };
    headers.remove(PREFER);
    for line in lines {
        let Ok(text) = line.to_str() else { continue };
        let kept: Vec<&str> = text.split(',').filter(|preference| !is_wait(preference)).collect();
        if let Ok(kept) = HeaderValue::try_from(kept.join(",").trim())
            && !kept.is_empty()
        {
            headers.append(PREFER, kept);
        }
    }
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
pub(crate) async fn dispatch(
    state: &State,
    outbound: Outbound<'_>,
    body: pyxis_net::Body,
) -> Result<UpstreamResponse> {
    let credential = outbound.credential;
    if let Some(auth) = credential.auth.as_ref().filter(|auth| auth.is_derived()) {
        return derived::dispatch(state, auth, outbound, body).await;
    }
    let opened = credential.open(&state.keyring)?;
    let (method, connection) = (outbound.method, outbound.connection);
    let request = prepare(outbound, opened.as_deref().map(DecryptedSecret::secret), body)?;
    let client = client(state, credential).await?;
    let sent = send(client, connection, request, state.config.forward_timeout).await;
    let response = sent.map_err(|error| Error::unanswered(error, method))?;
    if credential.row.connector == Connector::Sidecar {
        refuse_failed(response.status(), response.headers())?;
    }
    let needles = match opened {
        Some(opened) => needles(credential, &opened),
        None => Arc::new(SearchStrings::default().needles(&credential.row.name)),
    };
    wrap(&state.config, credential, connection, response, needles)
}

async fn send(
    client: &pyxis_net::Client,
    connection: ConnectionUse,
    request: http::Request<pyxis_net::Body>,
    limit: Duration,
) -> Result<Response<Incoming>, pyxis_net::Error> {
    match connection {
        ConnectionUse::Pooled => client.send(request, limit).await,
        ConnectionUse::Fresh => client.fresh().send(request, limit).await,
        ConnectionUse::Upgrade => client.for_upgrade().send(request, limit).await,
    }
}

/// The way out. A sidecar is the operator's own, so it may be on a private network. A manager of another workspace
/// need not be the operator, and must not reach it by naming it.
async fn client<'a>(state: &'a State, credential: &ResolvedCredential) -> Result<&'a pyxis_net::Client> {
    let is_sidecar = credential.row.connector == Connector::Sidecar;
    if is_sidecar && workspaces::is_first(&state.store, credential.row.workspace_id).await? {
        return Ok(&state.net_private);
    }
    Ok(&state.net)
}

/// What finds the secret, made once for requests that run at the same time.
pub(crate) fn needles(credential: &ResolvedCredential, opened: &DecryptedSecret) -> Arc<Needles> {
    opened.needles(|secret| {
        kinds::collect_from_secret(credential.auth.as_ref(), secret).needles(&credential.row.name)
    })
}

fn prepare(
    mut outbound: Outbound<'_>,
    secret: Option<&SecretValue>,
    body: pyxis_net::Body,
) -> Result<http::Request<pyxis_net::Body>> {
    let mut headers = std::mem::take(&mut outbound.headers);
    let row = &outbound.credential.row;
    if let (Some(auth), Some(secret)) = (&outbound.credential.auth, secret) {
        let wire = outbound.target.wire();
        let changed = kinds::behavior(auth).put(secret, &mut headers, wire)?;
        let wire = changed.as_ref().map_or(wire, |wire| wire.as_str());
        let url = Zeroizing::new(format!("{}{wire}", outbound.target.origin()));
        return wire_request(outbound.method, &url, headers, body);
    }
    sidecar_headers(&outbound, secret, &mut headers)?;
    wire_request(Method::Post, row.api_base.as_deref().unwrap_or_default(), headers, body)
}

/// A request as it goes out.
fn wire_request(
    method: Method,
    url: &str,
    headers: HeaderMap,
    body: pyxis_net::Body,
) -> Result<http::Request<pyxis_net::Body>> {
    let mut request = http::Request::new(body);
    *request.method_mut() = http::Method::from_bytes(method.on_the_wire().as_bytes())
        .map_err(|error| Error::Internal(error.into()))?;
    *request.uri_mut() = url.parse().map_err(|error: http::uri::InvalidUri| Error::Internal(error.into()))?;
    *request.headers_mut() = headers;
    Ok(request)
}

/// A failure that the sidecar itself made is one of the proxy's. An agent must be able to tell it from an answer
/// of the API. The sidecar removes the API's own `PX-Error`.
fn refuse_failed(status: StatusCode, answer: &HeaderMap) -> Result<()> {
    match answer.get(PX_ERROR).map(HeaderValue::as_bytes) {
        None => Ok(()),
        Some(b"outcome_unknown") => Err(Error::OutcomeUnknown(LostAnswer::of_sidecar(status))),
        Some(b"upstream_error") => {
            Err(Error::Upstream("the sidecar got no readable response from the host".into()))
        }
        Some(b"upstream_timeout") => Err(Error::UpstreamTimeout),
        Some(b"unauthenticated") => {
            Err(Error::Upstream("the sidecar does not accept the credential's token".into()))
        }
        Some(b"credential_not_found") => Err(Error::Upstream("the sidecar has no such credential".into())),
        Some(b"target_not_allowed") => {
            Err(Error::Upstream("the sidecar's egress guard refuses the host".into()))
        }
        Some(b"oauth_parameter") => {
            Err(Error::Upstream("the request has its own oauth_* parameters; remove them".into()))
        }
        Some(b"body_too_large") => {
            Err(Error::Upstream("the form is larger than the sidecar can sign".into()))
        }
        Some(_) => {
            Err(Error::Upstream("the sidecar refused the request; its log or /health says more".into()))
        }
    }
}

/// Facts that the signing sidecar needs (`docs/reference/signer.md#use-it-through-the-proxy`).
fn sidecar_headers(
    outbound: &Outbound<'_>,
    secret: Option<&SecretValue>,
    headers: &mut HeaderMap,
) -> Result<()> {
    let value = |text: &str| HeaderValue::try_from(text).map_err(|error| Error::Internal(error.into()));
    let name = HeaderName::from_static;
    headers.insert(name("x-oauth-credential"), value(&outbound.credential.row.name)?);
    headers.insert(name("x-oauth-target"), value(&outbound.target.to_string())?);
    headers.insert(name("x-px-method"), value(outbound.method.as_str())?);
    if let Some(token) = secret.and_then(SecretValue::text) {
        let mut bearer = value(&Zeroizing::new(format!("Bearer {token}")))?;
        bearer.set_sensitive(true);
        headers.insert(AUTHORIZATION, bearer);
    }
    Ok(())
}

fn wrap(
    config: &Config,
    credential: &ResolvedCredential,
    connection: ConnectionUse,
    mut response: Response<Incoming>,
    needles: Arc<Needles>,
) -> Result<UpstreamResponse> {
    let may_switch = connection == ConnectionUse::Upgrade;
    let switched = (may_switch && response.status() == StatusCode::SWITCHING_PROTOCOLS).then(|| {
        let connection = hyper::upgrade::on(&mut response);
        SwitchedConnection { connection, headers: response.headers().clone(), needles: Arc::clone(&needles) }
    });
    let (parts, body) = response.into_parts();
    if parts.status.is_informational() && switched.is_none() {
        // No wish to switch protocols was passed on.
        return Err(Error::BrokenAnswer { status: parts.status, why: "that is not a final response".into() });
    }
    let unknown = |Unscrubbable| Error::UnknownContentCoding { status: parts.status };
    let coding = content_coding(&parts.headers).map_err(unknown)?;
    let headers = answer_headers(&parts.headers, credential, &needles);
    let length = parts.headers.get(CONTENT_LENGTH).filter(|_| coding.is_none()).cloned();
    let body = ScrubbedBody::new(body, coding, needles, config.idle_timeout);
    Ok(UpstreamResponse { status: parts.status, headers, length, body, switched })
}

/// A coding in which a secret would not be found.
struct Unscrubbable;

/// How the body is coded, over every line that says so; `None` for a plain one.
fn content_coding(answer: &HeaderMap) -> Result<Option<Decoder>, Unscrubbable> {
    // A coding of the transfer that the connection has not undone would hide the body from the scrubber.
    if listed(answer, &TRANSFER_ENCODING)?.iter().any(|coding| !coding.eq_ignore_ascii_case("chunked")) {
        return Err(Unscrubbable);
    }
    let codings = listed(answer, &CONTENT_ENCODING)?.join(", ");
    if codings.is_empty() {
        return Ok(None);
    }
    let decoder = Decoder::for_content_encoding(&codings).map_err(|_| Unscrubbable)?;
    Ok((!decoder.is_identity()).then_some(decoder))
}

/// The members of a list, which may stand in several lines (RFC 9110, section 5.3).
fn listed<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Vec<&'h str>, Unscrubbable> {
    let mut members = Vec::new();
    for line in headers.get_all(name) {
        let line = line.to_str().map_err(|_| Unscrubbable)?;
        members.extend(line.split(',').map(str::trim).filter(|member| !member.is_empty()));
    }
    Ok(members)
}

/// The upstream's headers without hop-by-hop ones, our own marks, and the secret.
fn answer_headers(sent: &HeaderMap, credential: &ResolvedCredential, needles: &Needles) -> HeaderMap {
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

fn scrub_value(value: &HeaderValue, needles: &Needles) -> HeaderValue {
    match needles.scrub_bytes(value.as_bytes()) {
        std::borrow::Cow::Borrowed(_) => value.clone(),
        std::borrow::Cow::Owned(clean) => {
            HeaderValue::from_bytes(&clean).unwrap_or_else(|_| HeaderValue::from_static("[REDACTED]"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preference_for_this_proxy_is_removed_and_others_stay() {
        for (sent, kept) in [
            ("wait=30", None),
            ("Wait = 30 ; x", None),
            ("return=minimal, wait=30", Some("return=minimal")),
            ("wait=30,odata.include-annotations=\"a,b\"", Some("odata.include-annotations=\"a,b\"")),
            ("respond-async", Some("respond-async")),
        ] {
            let mut headers =
                HeaderMap::from_iter([(HeaderName::from_static(PREFER), HeaderValue::from_static(sent))]);
            remove_wait(&mut headers);
            assert_eq!(headers.get(PREFER).map(|value| value.to_str().unwrap()), kept, "{sent}");
        }
    }

    #[test]
    fn the_outcome_that_a_sidecar_does_not_know_is_told_as_without_a_sidecar() {
        let marked = HeaderMap::from_iter([(PX_ERROR, HeaderValue::from_static("outcome_unknown"))]);
        for (status, lost) in [
            (StatusCode::GATEWAY_TIMEOUT, LostAnswer::Timeout),
            (StatusCode::BAD_GATEWAY, LostAnswer::Missing),
        ] {
            let error = refuse_failed(status, &marked).unwrap_err();
            assert!(matches!(error, Error::OutcomeUnknown(told) if told == lost), "{error:?}");
            let problem = pyxis_http::Problem::from(&error);
            assert_eq!((problem.status(), problem.code()), (status, "outcome_unknown"));
        }
    }
}
