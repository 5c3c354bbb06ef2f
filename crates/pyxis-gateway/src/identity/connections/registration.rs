//! Dynamic client registration (RFC 7591), for clients that have no metadata document. It is anonymous, so it is
//! bounded by address, in total, and in time. A new registration is never refused because of the others: the oldest
//! that nobody connected makes room.

use std::time::Duration;

use pyxis_core::clock::UnixMillis;
use pyxis_core::entropy::Entropy;
use pyxis_core::redirect_uri::RedirectUri;
use pyxis_core::secret::SecretString;
use pyxis_core::{entropy, hex, window};
use pyxis_store::connections::clients::{self, RegisteredClientRow};
use pyxis_store::{Store, anonymous_limits};
use serde::Deserialize;
use serde_json::{Value, json};

use super::client_document::MAX_REDIRECT_URIS;
use super::client_refusal::program_name;
use super::protocol_error::{OauthError, OauthErrorCode};
use crate::runtime::resolve::key_hash;

/// Registrations from one address in a minute.
const PER_ADDRESS: i64 = 10;
/// Registered clients that nobody consented to, in total. More than one address can register within [`UNUSED_LIFE`].
const MOST_UNUSED: i64 = 1000;
/// Time in which a person must consent to a client before its registration ends.
const UNUSED_LIFE: Duration = Duration::from_hours(1);
/// Prefix of client ids.
const ID_PREFIX: &str = "px_client_";
/// Prefix of client secrets.
const SECRET_PREFIX: &str = "px_client_secret_";

/// Members that matter here; others are ignored, as the RFC asks.
#[derive(Deserialize)]
pub(super) struct ClientMetadata {
    #[serde(default)]
    redirect_uris: Vec<String>,
    client_name: Option<String>,
    token_endpoint_auth_method: Option<String>,
    grant_types: Option<Vec<String>>,
    response_types: Option<Vec<String>>,
}

/// Registers a client for a caller at `address`, and returns the response's body.
pub(super) async fn register(
    store: &Store,
    entropy: &dyn Entropy,
    now: UnixMillis,
    address: &str,
    metadata: ClientMetadata,
) -> Result<Value, OauthError> {
    let refuse = |detail| OauthError::new(OauthErrorCode::InvalidClientMetadata, detail);
    let client = format!("oauth-register {address}");
    if !anonymous_limits::admit(store, &client, window::minute_start(now), PER_ADDRESS).await? {
        return Err(OauthError::new(
            OauthErrorCode::TemporarilyUnavailable,
            "too many registrations from this address; try again in a minute",
        ));
    }
    check_redirect_uris(&metadata.redirect_uris)?;
    let method = metadata.token_endpoint_auth_method.as_deref().unwrap_or("client_secret_basic");
    if !matches!(method, "none" | "client_secret_basic" | "client_secret_post") {
        return Err(refuse(
            "token_endpoint_auth_method must be none, client_secret_basic or client_secret_post",
        ));
    }
    if metadata.grant_types.is_some_and(|types| !types.iter().any(|name| name == "authorization_code")) {
        return Err(refuse("grant_types must include authorization_code"));
    }
    if metadata.response_types.is_some_and(|types| !types.iter().any(|name| name == "code")) {
        return Err(refuse("response_types must include code"));
    }
    let secret = (method != "none").then(|| SecretString::new(entropy::token::<32>(entropy, SECRET_PREFIX)));
    let row = RegisteredClientRow {
        id: entropy::token::<16>(entropy, ID_PREFIX),
        name: program_name(metadata.client_name.as_deref()).unwrap_or_else(|| "Unnamed program".to_owned()),
        secret_hash: secret.as_ref().map(|secret| hex::encode(&key_hash(secret.expose()))),
        redirect_uris: json!(metadata.redirect_uris).to_string(),
        created_at: now,
        expires_at: now.plus(UNUSED_LIFE),
    };
    clients::insert(store, &row, MOST_UNUSED).await?;
    let mut body = json!({
        "client_id": row.id,
        "client_id_issued_at": now.seconds(),
        "client_name": row.name,
        "redirect_uris": metadata.redirect_uris,
        "token_endpoint_auth_method": method,
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
    });
    if let Some(secret) = secret {
        body["client_secret"] = secret.expose().as_str().into();
        body["client_secret_expires_at"] = 0.into();
    }
    Ok(body)
}

fn check_redirect_uris(uris: &[String]) -> Result<(), OauthError> {
    let refuse = |detail: String| OauthError::new(OauthErrorCode::InvalidRedirectUri, detail);
    if uris.is_empty() || uris.len() > MAX_REDIRECT_URIS {
        return Err(refuse(format!("redirect_uris must have 1 to {MAX_REDIRECT_URIS} entries")));
    }
    for (index, uri) in uris.iter().enumerate() {
        RedirectUri::parse(uri).map_err(|error| refuse(format!("redirect_uris[{index}]: {error}")))?;
    }
    Ok(())
}
