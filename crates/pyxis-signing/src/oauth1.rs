//! OAuth 1.0a with HMAC-SHA1 (RFC 5849): the signature base string and the `Authorization` header.
//!
//! Parameters are decoded to bytes and encoded again, so bytes that are not UTF-8 survive. Path and host come from a
//! canonical [`Target`], so the signed URL equals the one on the wire.

mod parameters;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use pyxis_core::auth::WithoutToken;
use pyxis_core::clock::UnixMillis;
use pyxis_core::entropy::{self, Entropy};
use pyxis_core::secret::SecretString;
use pyxis_core::target::Target;
use sha1::Sha1;
use zeroize::Zeroizing;

use self::parameters::Parameters;
use crate::percent;

/// Client credentials, plus those of the resource owner unless the use is two-legged.
#[derive(Clone, Debug)]
pub struct Tokens {
    /// `oauth_consumer_key`.
    pub consumer_key: String,
    /// The client's shared secret.
    pub consumer_secret: SecretString,
    /// `oauth_token`; empty if there is none.
    pub token: SecretString,
    /// Form of `oauth_token` if there is no token.
    pub without_token: WithoutToken,
    /// The token's shared secret; may be empty.
    pub token_secret: SecretString,
}

/// Values that make each signature unique.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NonceAndTimestamp {
    /// `oauth_timestamp`: seconds since 1970, positive.
    pub timestamp: i64,
    /// `oauth_nonce`.
    pub nonce: String,
}

impl NonceAndTimestamp {
    /// Values for the time `now`, with a nonce of 128 random bits.
    pub fn new(now: UnixMillis, entropy: &dyn Entropy) -> Self {
        Self { timestamp: now.seconds(), nonce: entropy::token::<16>(entropy, "") }
    }
}

/// The request contains a parameter that only the signer may set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the request has an oauth_* parameter in its {place}: the signer sets those")]
pub struct ReservedParameter {
    /// `query` or `form body`.
    pub place: &'static str,
}

/// The `Authorization` value for a request.
///
/// `form` is the body if its type is `application/x-www-form-urlencoded`, otherwise `None`, because other bodies are
/// not signed.
pub fn authorization(
    tokens: &Tokens,
    method: &str,
    target: &Target,
    form: Option<&[u8]>,
    stamp: &NonceAndTimestamp,
) -> Result<String, ReservedParameter> {
    let timestamp = stamp.timestamp.to_string();
    let mut protocol = vec![
        ("oauth_consumer_key", tokens.consumer_key.as_str()),
        ("oauth_nonce", &stamp.nonce),
        ("oauth_signature_method", "HMAC-SHA1"),
        ("oauth_timestamp", &timestamp),
        ("oauth_version", "1.0"),
    ];
    let token = tokens.token.expose();
    if !token.is_empty() || tokens.without_token == WithoutToken::Empty {
        protocol.insert(4, ("oauth_token", token));
    }
    let base = base_string(method, target, form, &protocol)?;
    let signature = sign(&base, &tokens.consumer_secret, &tokens.token_secret);
    let mut header = Vec::with_capacity(384);
    header.extend_from_slice(b"OAuth ");
    for (name, value) in protocol {
        push_quoted(&mut header, name, value);
        header.extend_from_slice(b", ");
    }
    push_quoted(&mut header, "oauth_signature", &signature);
    Ok(percent::text(header))
}

fn push_quoted(header: &mut Vec<u8>, name: &str, value: &str) {
    header.extend_from_slice(name.as_bytes());
    header.extend_from_slice(b"=\"");
    percent::push(header, value.as_bytes());
    header.push(b'"');
}

/// The signature base string (RFC 5849, section 3.4.1). `protocol` is the list of `oauth_*` header parameters, without
/// realm and signature.
pub fn base_string(
    method: &str,
    target: &Target,
    form: Option<&[u8]>,
    protocol: &[(&str, &str)],
) -> Result<String, ReservedParameter> {
    let mut parameters = Parameters::new();
    parameters.add_encoded(target.query().unwrap_or_default().as_bytes(), "query")?;
    parameters.add_encoded(form.unwrap_or_default(), "form body")?;
    for (name, value) in protocol {
        parameters.add(name.as_bytes(), value.as_bytes());
    }
    let mut base = Vec::with_capacity(512);
    base.extend_from_slice(method.to_ascii_uppercase().as_bytes());
    base.push(b'&');
    percent::push(&mut base, target.origin().as_bytes());
    percent::push(&mut base, target.path().as_bytes());
    base.push(b'&');
    parameters.push_normalized(&mut base);
    Ok(percent::text(base))
}

/// HMAC-SHA1 of the base string, as base64 (RFC 5849, section 3.4.2).
pub fn sign(base: &str, consumer_secret: &SecretString, token_secret: &SecretString) -> String {
    let mut key = Zeroizing::new(Vec::with_capacity(256));
    percent::push(&mut key, consumer_secret.expose().as_bytes());
    key.push(b'&');
    percent::push(&mut key, token_secret.expose().as_bytes());
    STANDARD.encode(hmac(&key, base.as_bytes()))
}

fn hmac(key: &[u8], data: &[u8]) -> [u8; 20] {
    let mut mac = Hmac::<Sha1>::new_from_slice(key).expect("HMAC takes a key of any length");
    mac.update(data);
    mac.finalize().into_bytes().into()
}

/// Reason that a request is not signed: signer and host could read its body differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AmbiguousBody {
    /// More than one `Content-Type`.
    TwoTypes,
    /// The `Content-Type` is not text.
    NoText,
    /// The form has a `Content-Encoding`, so its parameters cannot be read.
    EncodedForm,
}

/// True if a body is a form, whose parameters are signed. Decides by the values of all its `Content-Type` and
/// `Content-Encoding` headers.
pub fn is_form<'h>(
    types: impl IntoIterator<Item = &'h [u8]>,
    codings: impl IntoIterator<Item = &'h [u8]>,
) -> Result<bool, AmbiguousBody> {
    let mut types = types.into_iter();
    let Some(kind) = types.next() else { return Ok(false) };
    if types.next().is_some() {
        return Err(AmbiguousBody::TwoTypes);
    }
    let kind = std::str::from_utf8(kind).map_err(|_| AmbiguousBody::NoText)?;
    let essence = kind.split(';').next().unwrap_or_default();
    let is_form = essence.trim().eq_ignore_ascii_case("application/x-www-form-urlencoded");
    if is_form && codings.into_iter().any(|coding| coding != b"identity") {
        return Err(AmbiguousBody::EncodedForm);
    }
    Ok(is_form)
}

#[cfg(test)]
mod tests;
