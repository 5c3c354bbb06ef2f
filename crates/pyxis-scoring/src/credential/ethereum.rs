//! `EthereumEip712Signature2021`: the credential is EIP-712 typed data, and the proof carries the types.

use pyxis_core::address::EvmAddress;
use pyxis_signing::eip712::{AbiWord, hex};
use pyxis_signing::recovery::{BadSignature, Signature};

use super::json::{self, JsonNode, Object};
use super::rejection::Rejection;
use super::typed_data_cache;

/// Checks the signature of `issuer` over `document` and returns the signed hash. With `text`, the same content, its
/// typed data is cached.
pub(super) fn verify(
    text: Option<&str>,
    document: &mut Object<'_>,
    issuer: EvmAddress,
) -> Result<AbiWord, Rejection> {
    // Remove what cannot be signed from the proof; what remains is the signed document.
    let (data, signature) = take_proof(document)?;
    let signature = parse_signature(signature.as_ref().and_then(JsonNode::as_text))?;
    let form = typed_data_cache::lookup(&data)?;
    let hash = form.signing_hash(document)?;
    if signature.signer(&hash) != Some(issuer) {
        return Err(Rejection::SignatureMismatch);
    }
    if let (JsonNode::Object(_), Some(text)) = (&data, text) {
        typed_data_cache::remember(text, form);
    }
    Ok(hash)
}

/// The hash that the issuer of `text`, a credential without `proofValue`, must sign.
pub(super) fn hash_to_sign(text: &str) -> Result<AbiWord, Rejection> {
    let mut document = json::parse(text)?;
    let (data, _) = take_proof(&mut document)?;
    typed_data_cache::lookup(&data)?.signing_hash(&document)
}

/// Removes the typed data and the signature from a proof and returns them.
fn take_proof<'a>(document: &mut Object<'a>) -> Result<(JsonNode<'a>, Option<JsonNode<'a>>), Rejection> {
    let Some(JsonNode::Object(proof)) = document.get_mut("proof") else {
        return Err(Rejection::form("proof", "an object"));
    };
    let missing = || Rejection::form("proof.eip712Domain", "an object");
    Ok((proof.remove("eip712Domain").ok_or_else(missing)?, proof.remove("proofValue")))
}

/// `0x`, r, s and v. Of the two equivalent signatures, only the one with the low s is valid.
fn parse_signature(text: Option<&str>) -> Result<Signature, Rejection> {
    let bytes = text.filter(|text| text.len() == 132).and_then(hex).unwrap_or_default();
    Signature::from_bytes(&bytes).map_err(|bad| match bad {
        BadSignature::HighS => Rejection::HighS,
        BadSignature::Malformed => Rejection::MalformedSignature {
            expected: "proofValue must be 0x followed by 130 hex characters: r, s and v",
        },
    })
}

#[cfg(test)]
mod tests;
