//! Authentication of a client at the token and revocation endpoints (RFC 6749, section 2.3).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use percent_encoding::percent_decode_str;
use pyxis_core::clock::UnixMillis;
use pyxis_core::hex;
use pyxis_core::secret::SecretString;
use pyxis_store::Store;
use pyxis_store::connections::clients;
use zeroize::Zeroizing;

use super::client_document;
use super::protocol_error::{OauthError, OauthErrorCode};
use super::token_form::TokenForm;
use crate::runtime::resolve::key_hash;

/// The id of an authenticated client. One that is described by a document is public: its code and its refresh token
/// prove enough, together with PKCE.
pub(super) async fn authenticate(
    store: &Store,
    now: UnixMillis,
    headers: &HeaderMap,
    form: &TokenForm,
) -> Result<String, OauthError> {
    let (id, secret) = presented(headers, form)?;
    if client_document::is_url(&id) {
        return match secret {
            None => Ok(id),
            Some(_) => Err(invalid_client("a client with a metadata document has no secret")),
        };
    }
    let unknown = || invalid_client("the client is not registered here; register it again");
    let client = clients::find(store, &id, now).await?.ok_or_else(unknown)?;
    match (client.secret_hash, secret) {
        (None, None) => Ok(id),
        (None, Some(_)) => Err(invalid_client("the client is public and has no secret")),
        (Some(_), None) => Err(invalid_client("the client must send its secret")),
        (Some(expected), Some(secret)) => {
            let sent = hex::encode(&key_hash(secret.expose()));
            if SecretString::new(expected).matches(sent.as_bytes()) {
                Ok(id)
            } else {
                Err(invalid_client("wrong client secret"))
            }
        }
    }
}

fn invalid_client(description: &'static str) -> OauthError {
    OauthError::new(OauthErrorCode::InvalidClient, description)
}

/// Id and secret from the header or the form, never from both.
fn presented(headers: &HeaderMap, form: &TokenForm) -> Result<(String, Option<SecretString>), OauthError> {
    let in_form = form.get("client_id").map(str::to_owned);
    let secret_in_form = form.get("client_secret").map(|secret| SecretString::new(secret.to_owned()));
    let Some(header) = headers.get(AUTHORIZATION) else {
        let id = in_form.ok_or_else(|| invalid_client("client_id is missing"))?;
        return Ok((id, secret_in_form));
    };
    let (id, secret) = header.to_str().ok().and_then(basic).ok_or_else(|| {
        invalid_client("Authorization must be Basic with the client's id and secret, each form-encoded")
    })?;
    if secret_in_form.is_some() || in_form.is_some_and(|other| other != id) {
        return Err(OauthError::new(
            OauthErrorCode::InvalidRequest,
            "send the client's id and secret in the header or in the form, not in both",
        ));
    }
    Ok((id, Some(secret)))
}

fn basic(header: &str) -> Option<(String, SecretString)> {
    let (scheme, encoded) = header.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = Zeroizing::new(STANDARD.decode(encoded.trim()).ok()?);
    let (id, secret) = std::str::from_utf8(&decoded).ok()?.split_once(':')?;
    let decode = |text: &str| percent_decode_str(text).decode_utf8().ok().map(std::borrow::Cow::into_owned);
    Some((decode(id)?, SecretString::new(decode(secret)?)))
}
