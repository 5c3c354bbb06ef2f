//! Signed assertions (JWT).

use pyxis_core::auth::JwtAlgorithm;
use pyxis_signing::jwt::JwtKey;
use serde_json::Value;
use zeroize::Zeroizing;

use crate::error::{Error, Result};
use crate::runtime::secret_value::SecretValue;

/// Seconds for which an assertion is good.
pub(super) const LIFE: i64 = 300;
/// Seconds by which `iat` lies in the past: an endpoint whose clock is behind takes an assertion of now for one of the
/// future.
pub(super) const DRIFT: i64 = 60;

/// The key of a secret: the PEM text itself, or its field `private_key`.
pub(super) fn key(algorithm: JwtAlgorithm, secret: &SecretValue) -> Result<JwtKey> {
    let pem = secret.text().or_else(|| secret.field("private_key"));
    let pem =
        pem.ok_or_else(|| Error::field("secret", "a private key as PEM, or an object with private_key"))?;
    JwtKey::from_pem(algorithm, pem).map_err(|error| Error::field("secret", error.to_string()))
}

pub(super) fn sign(key: &JwtKey, claims: &Value, key_id: Option<&str>) -> Result<Zeroizing<String>> {
    let token = key.sign(claims, key_id).ok_or(Error::NoLongerAllowed("the key cannot sign"))?;
    Ok(Zeroizing::new(token))
}
