//! Placeholders: values of variables that tools want to see set, where a secret would stand without Pyxis.

use std::pin::Pin;
use std::task::{Context, Poll};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use http_body::Frame;
use pyxis_core::hosts::AllowedHosts;
use pyxis_core::presets;
use pyxis_net::{Body, BoxError};

use crate::routes::Routes;

/// Beginning of every placeholder.
const PREFIX: &str = "px_placeholder_";

/// Variables that presets know for the hosts of these credentials, with their placeholders.
pub(crate) fn variables(routes: &Routes) -> impl Iterator<Item = (&'static str, String)> {
    let held = presets::all()
        .iter()
        .filter(|preset| AllowedHosts::parse(&preset.hosts).is_ok_and(|hosts| routes.shares_host(&hosts)));
    let names = held.flat_map(|preset| {
        // A part of the kind, such as an application id, is no secret, and tools put it into paths.
        let templates = preset.env_fields.iter().chain(&preset.env_optional);
        let secret = templates.filter(|(field, _)| !field.starts_with("auth."));
        preset.env.iter().map(String::as_str).chain(secret.flat_map(|(_, template)| template.variables()))
    });
    names.map(|name| (name, format!("{PREFIX}{}", name.to_ascii_lowercase())))
}

/// Removes headers with a placeholder, which the server replaces by a secret.
pub(crate) fn remove(headers: &mut HeaderMap) {
    let holding: Vec<HeaderName> =
        headers.iter().filter(|(_, value)| holds(value)).map(|(name, _)| name.clone()).collect();
    for name in holding {
        headers.remove(name);
    }
}

/// True if the head of a request has a placeholder.
pub(crate) fn is_in(uri: &Uri, headers: &HeaderMap) -> bool {
    let path = uri.path_and_query().map(|path| path.as_str().as_bytes());
    path.is_some_and(contains) || headers.values().any(holds)
}

/// True if a value has a placeholder, also within a user name and password (RFC 7617).
fn holds(value: &HeaderValue) -> bool {
    let bytes = value.as_bytes();
    let encoded = bytes.split(|byte| *byte == b' ').nth(1).and_then(|pair| STANDARD.decode(pair).ok());
    contains(bytes) || encoded.is_some_and(|pair| contains(&pair))
}

fn contains(bytes: &[u8]) -> bool {
    bytes.windows(PREFIX.len()).any(|window| window == PREFIX.as_bytes())
}

/// A body that breaks off before a placeholder leaves.
pub(crate) struct WithoutPlaceholders {
    body: Body,
    /// The last bytes, in which a placeholder may have begun.
    tail: Vec<u8>,
}

impl WithoutPlaceholders {
    /// Watches a body.
    pub(crate) fn new(body: Body) -> Self {
        Self { body, tail: Vec::new() }
    }

    fn check(&mut self, data: &[u8]) -> Result<(), BoxError> {
        let mut joined = std::mem::take(&mut self.tail);
        joined.extend_from_slice(data);
        if contains(&joined) {
            return Err("the body has a placeholder of pyxis run".into());
        }
        self.tail = joined.split_off(joined.len().saturating_sub(PREFIX.len() - 1));
        Ok(())
    }
}

impl http_body::Body for WithoutPlaceholders {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(data) = frame.data_ref()
            && let Err(error) = self.check(data)
        {
            return Poll::Ready(Some(Err(error)));
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_with_a_placeholder_is_removed_even_if_it_is_encoded() {
        let mut headers = HeaderMap::new();
        let pair = STANDARD.encode("x-access-token:px_placeholder_github_token");
        headers.insert("authorization", format!("Basic {pair}").parse().unwrap());
        headers.insert("x-api-key", HeaderValue::from_static("px_placeholder_anthropic_api_key"));
        headers.insert("accept", HeaderValue::from_static("*/*"));
        remove(&mut headers);
        assert_eq!(headers.keys().collect::<Vec<_>>(), ["accept"]);
    }

    #[test]
    fn a_placeholder_in_two_pieces_of_a_body_is_found() {
        let mut body = WithoutPlaceholders::new(pyxis_net::body::empty());
        assert!(body.check(b"key=px_place").is_ok());
        assert!(body.check(b"holder_x").is_err());
        let mut body = WithoutPlaceholders::new(pyxis_net::body::empty());
        assert!(body.check(b"key=px_place").is_ok());
        assert!(body.check(b"_holder_x").is_ok());
    }
}
