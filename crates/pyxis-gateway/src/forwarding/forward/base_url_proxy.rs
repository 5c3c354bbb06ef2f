//! `/p/{credential}/…`: endpoint for tools that support only a base URL and a key.
//!
//! The agent key is the bearer token, or replaces the tool's API key. Method, path and query come from the request, and
//! the host from the credential. After that it is treated like any request to `/forward`, with the same checks and
//! records. A request that needs approval is held for a while, because such tools do not poll.

use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use http::header::{AUTHORIZATION, HeaderName, HeaderValue};
use http::{HeaderMap, request};

use super::{Call, ForwardVariant};
use crate::credentials::requests::caller::CallerKey;
use crate::credentials::requests::control::{Control, KEY_PREFIX};
use crate::credentials::requests::{handshake, limits};
use crate::error::{Error, Result};
use crate::runtime::resolve::ResolvedCredential;
use crate::runtime::state::State;

/// Prefix of every path of this endpoint.
pub const PREFIX: &str = "/p";

/// Handles any method. The path is passed without [`PREFIX`].
pub async fn entrance(state: &State, request: Request) -> Response {
    ForwardVariant::Path.dispatch_idempotent(state, request).await.unwrap_or_else(IntoResponse::into_response)
}

pub(super) async fn handle(state: &State, mut head: request::Parts, body: Body) -> Result<Response> {
    let text = key(&head.headers)?;
    let key = CallerKey::digest(&text);
    let agent = state.config_cache.agent_now(&state.store, key).await?;
    remove_all_with(&mut head.headers, &text);
    handshake::extract(&mut head)?;
    handshake::check_body(&head, &body)?;
    let rest = head.uri.path().strip_prefix('/').unwrap_or_default();
    let (name, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (name, path) = (name.to_owned(), path.to_owned());
    let control = Control::read(&head.headers)?;
    for (header, shown) in [
        (control.credential, "X-PX-Credential"),
        (control.target, "X-PX-Target"),
        (control.method, "X-PX-Method"),
        (control.entry_point, "X-PX-Entry-Point"),
    ] {
        if header.is_some() {
            return Err(Error::UnknownHeader(format!("{shown}; the path already says it")));
        }
    }
    if head.headers.contains_key("x-px-key") {
        return Err(Error::UnknownHeader(
            "X-PX-Key together with another agent key; send one of them".to_owned(),
        ));
    }
    let target = match agent.credential(&state.store, &name).await.and_then(|found| origin(&found)) {
        Ok(origin) => {
            let query = head.uri.query().map(|query| format!("?{query}")).unwrap_or_default();
            format!("{origin}/{path}{query}")
        }
        Err(error) => {
            limits::admit(&state.store, state.now(), &agent).await?;
            return Err(error);
        }
    };
    let verb = head.method.as_str().to_owned();
    let control = Control {
        credential: Some(&name),
        target: Some(&target),
        method: Some(&verb),
        wait: control.wait.or(Some(state.config.entrance_wait)),
        ..control
    };
    let method = handshake::method(&head, &control)?;
    let call = Call { key, method, control: &control, head: &head };
    match control.idempotency_key {
        None => call.run(state, body, None).await,
        Some(idempotency_key) => Box::pin(call.run_idempotent(state, idempotency_key, body)).await,
    }
}

/// Removes every header that contains the agent key, which only the proxy may see. Some tools send it in several
/// headers.
fn remove_all_with(headers: &mut HeaderMap, key: &str) {
    let holds = |value: &HeaderValue| value.as_bytes().windows(key.len()).any(|part| part == key.as_bytes());
    let holding: Vec<HeaderName> =
        headers.iter().filter(|(_, value)| holds(value)).map(|(name, _)| name.clone()).collect();
    for name in holding {
        headers.remove(name);
    }
}

/// Extracts the agent key.
fn key(headers: &HeaderMap) -> Result<String> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => bearer(value),
        (Some(_), Some(_)) => Err(Error::DuplicateHeader("Authorization")),
        (None, _) => bare(headers),
    }
}

/// Tools that send no bearer token use a different header, such as `x-api-key`.
fn bare(headers: &HeaderMap) -> Result<String> {
    let is_key = |value: &&HeaderValue| value.as_bytes().starts_with(KEY_PREFIX.as_bytes());
    let mut keys = headers.values().filter(is_key);
    let value = keys.next().ok_or(Error::MissingKey)?;
    if keys.next().is_some() {
        return Err(Error::DuplicateHeader("the agent key"));
    }
    Ok(value.to_str().map_err(|_| Error::InvalidKey)?.to_owned())
}

fn bearer(value: &HeaderValue) -> Result<String> {
    let text = value.to_str().map_err(|_| Error::InvalidKey)?;
    let (scheme, key) = text.split_once(' ').ok_or(Error::MissingKey)?;
    if !scheme.eq_ignore_ascii_case("bearer") || key.trim().is_empty() {
        return Err(Error::MissingKey);
    }
    Ok(key.trim().to_owned())
}

/// The first exact allowed host.
fn origin(credential: &ResolvedCredential) -> Result<String> {
    let hosts: Vec<String> = serde_json::from_str(&credential.row.allowed_hosts).unwrap_or_default();
    let host = hosts.iter().find(|host| !host.starts_with('*'));
    let host = host.ok_or_else(|| {
        Error::HostNotAllowed(
            "the credential has no exact host; a manager can add one to its allowed_hosts".to_owned(),
        )
    })?;
    let scheme = if credential.row.allow_http { "http" } else { "https" };
    Ok(format!("{scheme}://{host}"))
}
