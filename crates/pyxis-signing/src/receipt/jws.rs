//! Compact JSON Web Signatures (RFC 7515) with Ed25519 (RFC 8037).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::json;

use super::claims::ReceiptClaims;
use super::error::ReceiptError;
use crate::keys::{SigningKey, ToSign};

/// `typ` of a receipt's header.
pub const TOKEN_TYPE: &str = "pyxis-receipt+jwt";

/// Signs a receipt. `None` if the key is not an Ed25519 key.
pub fn sign(claims: &ReceiptClaims, kid: &str, key: &SigningKey) -> Option<String> {
    let header = json!({ "alg": "EdDSA", "kid": kid, "typ": TOKEN_TYPE }).to_string();
    let claims = serde_json::to_string(claims).ok()?;
    let input = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
    if key.algorithm() != crate::keys::Algorithm::Ed25519 {
        return None;
    }
    let signed = key.sign(&ToSign::Message(input.clone().into_bytes()))?;
    let signature = pyxis_core::hex::decode(&signed.signature)?;
    Some(format!("{input}.{}", URL_SAFE_NO_PAD.encode(signature)))
}

/// A token in its parts, not verified yet.
pub(super) struct UnverifiedJws<'a> {
    pub(super) kid: String,
    /// Bytes that the signature covers.
    pub(super) signed: &'a str,
    pub(super) payload: Vec<u8>,
    pub(super) signature: [u8; 64],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    alg: String,
    kid: String,
    typ: String,
}

/// Splits a token and checks its header.
pub(super) fn split(token: &str) -> Result<UnverifiedJws<'_>, ReceiptError> {
    let format = |what| ReceiptError::Format(what);
    let (signed, signature) = token.rsplit_once('.').ok_or(format("it has no signature"))?;
    let (header, payload) = signed.split_once('.').ok_or(format("it has no payload"))?;
    let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).ok();
    let header = decode(header).ok_or(format("the header is not base64url"))?;
    let header: Header =
        serde_json::from_slice(&header).map_err(|_| format("the header is not as expected"))?;
    if header.alg != "EdDSA" || header.typ != TOKEN_TYPE {
        return Err(format("the header is not that of a receipt"));
    }
    let payload = decode(payload).ok_or(format("the payload is not base64url"))?;
    let signature = decode(signature).and_then(|bytes| bytes.try_into().ok());
    let signature = signature.ok_or(format("the signature is not 64 bytes of base64url"))?;
    Ok(UnverifiedJws { kid: header.kid, signed, payload, signature })
}
