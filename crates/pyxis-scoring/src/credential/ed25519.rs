//! `Ed25519Signature2018`: a detached JWS (RFC 7515, RFC 7797) over the canonical RDF of the credential.
//!
//! RDF knows statements, not JSON. A property without a definition drops out unnoticed. The property that carried a
//! text is only as certain as the context, which no one signs. So the shape is fixed: only the properties of a Stamp,
//! and texts that are self-describing.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::{Signature, VerifyingKey};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::claims::{CREDENTIALS_CONTEXT, Claims};
use super::json::{JsonNode, Object};
use super::linked_data::{self, Canonical};
use super::rejection::Rejection;

const DOCUMENT: [&str; 8] =
    ["@context", "id", "type", "credentialSubject", "issuer", "issuanceDate", "expirationDate", "proof"];
const SUBJECT: [&str; 5] = ["@context", "id", "provider", "hash", "nullifiers"];
const PROOF: [&str; 6] = ["@context", "type", "created", "proofPurpose", "verificationMethod", "jws"];

/// Checks the signature of `key` over `document`, whose text is `text`, and returns the SHA-256 of the signed content.
/// `index` is the position of the document's proof in the text's list of proofs.
pub(super) fn verify(
    text: &str,
    document: &Object<'_>,
    claims: &Claims,
    key: &[u8; 32],
    index: Option<usize>,
) -> Result<[u8; 32], Rejection> {
    let proof = document.object("proof")?;
    check_shape(document, proof)?;
    check_meanings(claims)?;
    let (header, signature) = split_jws(proof.text("jws").map_err(|rejection| rejection.within("proof"))?)?;
    let (document, options) = canonical(text, index).ok_or(Rejection::SignatureMismatch)?;
    check_said(&document, claims)?;
    let mut signed = Vec::with_capacity(header.len() + 65);
    signed.extend_from_slice(header.as_bytes());
    signed.push(b'.');
    signed.extend_from_slice(&Sha256::digest(&options.text));
    signed.extend_from_slice(&Sha256::digest(&document.text));
    VerifyingKey::from_bytes(key)
        .and_then(|key| key.verify_strict(&signed, &signature))
        .map_err(|_| Rejection::SignatureMismatch)?;
    Ok(Sha256::digest(&signed).into())
}

fn check_shape(document: &Object<'_>, proof: &Object<'_>) -> Result<(), Rejection> {
    let subject = document.object("credentialSubject")?;
    document.only(&DOCUMENT)?;
    subject.only(&SUBJECT).map_err(|rejection| rejection.within("credentialSubject"))?;
    proof.only(&PROOF).map_err(|rejection| rejection.within("proof"))?;
    linked_data::check_contexts(document, subject)?;
    if proof.get("@context").is_some_and(|context| !context.as_text().is_some_and(linked_data::is_known)) {
        return Err(Rejection::UnsupportedContext { field: "proof.@context".to_owned() });
    }
    if document.list("type")?.len() != 1 {
        return Err(Rejection::form("type", "VerifiableCredential alone under Ed25519Signature2018"));
    }
    let is_name = |id: &JsonNode<'_>| {
        let absolute =
            |id: &str| ["http://", "https://", "urn:", "did:"].iter().any(|scheme| id.starts_with(scheme));
        id.as_text().is_some_and(absolute)
    };
    if document.get("id").is_some_and(|id| !is_name(id)) {
        return Err(Rejection::form("id", "a web address, a URN or a DID"));
    }
    Ok(())
}

/// With another context a holder could swap the nullifier and the name, and so escape deduplication. The colon, which
/// only nullifiers have, tells them apart.
fn check_meanings(claims: &Claims) -> Result<(), Rejection> {
    let nullifiers = claims.nullifiers.iter().all(|nullifier| nullifier.as_str().contains(':'));
    if nullifiers && !claims.provider.as_str().contains(':') {
        Ok(())
    } else {
        Err(Rejection::AmbiguousProperties)
    }
}

/// Requires every value that was read to be signed: a property without a definition is not.
fn check_said(document: &Canonical, claims: &Claims) -> Result<(), Rejection> {
    if !document.says(claims.provider.as_str()) {
        return Err(Rejection::unsigned("credentialSubject.provider"));
    }
    if !claims.nullifiers.iter().all(|nullifier| document.says(nullifier.as_str())) {
        return Err(Rejection::unsigned("credentialSubject.nullifiers"));
    }
    if !document.says(claims.issuer.as_written()) {
        return Err(Rejection::unsigned("issuer"));
    }
    Ok(())
}

/// The header and the signature of a JWS without payload.
fn split_jws(jws: &str) -> Result<(&str, Signature), Rejection> {
    let malformed = Rejection::MalformedSignature {
        expected: "jws must be a detached JWS with alg EdDSA, b64 false and crit [\"b64\"]",
    };
    let parts = jws.split_once("..").filter(|(header, _)| is_header(header));
    let decoded = parts.and_then(|(header, signature)| {
        let signature: [u8; 64] = URL_SAFE_NO_PAD.decode(signature).ok()?.try_into().ok()?;
        Some((header, Signature::from_bytes(&signature)))
    });
    decoded.ok_or(malformed)
}

fn is_header(encoded: &str) -> bool {
    let Ok(json) = URL_SAFE_NO_PAD.decode(encoded) else { return false };
    let Some(header) = std::str::from_utf8(&json).ok().and_then(|json| super::json::parse(json).ok()) else {
        return false;
    };
    let critical = |node: &JsonNode<'_>| matches!(node, JsonNode::List(names) if matches!(&names[..], [JsonNode::Text(name)] if name == "b64"));
    header.len() == 3
        && header.get("alg").and_then(JsonNode::as_text) == Some("EdDSA")
        && matches!(header.get("b64"), Some(JsonNode::Bool(false)))
        && header.get("crit").is_some_and(critical)
}

/// The canonical forms of the credential without its proofs, and of one proof without its signature.
fn canonical(text: &str, index: Option<usize>) -> Option<(Canonical, Canonical)> {
    let mut document: Map<String, Value> = serde_json::from_str(text).ok()?;
    let mut proof = document.remove("proof")?;
    if let Some(index) = index {
        proof = proof.get_mut(index)?.take();
    }
    let Value::Object(mut proof) = proof else { return None };
    proof.remove("jws");
    proof.insert("@context".to_owned(), CREDENTIALS_CONTEXT.into());
    Some((Canonical::canonicalize(&document)?, Canonical::canonicalize(&proof)?))
}
