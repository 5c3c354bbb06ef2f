//! `EthereumEip712Signature2021`: the credential is EIP-712 typed data, and the proof carries the types.

use pyxis_core::address::EvmAddress;
use pyxis_signing::eip712::{Types, Word, hex};
use pyxis_signing::recovery::{BadSignature, Signature};

use super::eip712;
use super::json::{self, Node, Object};
use super::rejection::Rejection;

const PRIMARY: &str = "Document";
const DOMAIN_NAME: &str = "VerifiableCredential";

/// Checks the signature of `issuer` over `document`, and gives the hash that was signed.
pub(super) fn verify(mut document: Object<'_>, issuer: EvmAddress) -> Result<Word, Rejection> {
    let Some(Node::Object(proof)) = document.get_mut("proof") else {
        return Err(Rejection::form("proof", "an object"));
    };
    // What cannot be signed leaves the proof; what stays is the document that was signed.
    let Some(Node::Object(data)) = proof.remove("eip712Domain") else {
        return Err(Rejection::form("proof.eip712Domain", "an object"));
    };
    let signature = proof.remove("proofValue");
    let signature = parse_signature(signature.as_ref().and_then(Node::as_text))?;
    let hash = typed_data_hash(&data, &document)?;
    if signature.signer(&hash) == Some(issuer) { Ok(hash) } else { Err(Rejection::SignatureMismatch) }
}

/// The hash that the issuer of `text`, a credential without `proofValue`, is to sign.
pub(super) fn hash_to_sign(text: &str) -> Result<Word, Rejection> {
    let mut document = json::parse(text)?;
    let Some(Node::Object(proof)) = document.get_mut("proof") else {
        return Err(Rejection::form("proof", "an object"));
    };
    let Some(Node::Object(data)) = proof.remove("eip712Domain") else {
        return Err(Rejection::form("proof.eip712Domain", "an object"));
    };
    typed_data_hash(&data, &document)
}

fn typed_data_hash(data: &Object<'_>, document: &Object<'_>) -> Result<Word, Rejection> {
    let place = |rejection: Rejection| rejection.within("proof.eip712Domain");
    data.only(&["domain", "primaryType", "types"]).map_err(place)?;
    let domain = data.object("domain").map_err(place)?;
    check_domain(domain)?;
    if data.text("primaryType").map_err(place)? != PRIMARY {
        return Err(Rejection::InvalidTypedData { reason: "primaryType is not Document" });
    }
    let types = eip712::types(data.object("types").map_err(place)?)?;
    check_texts(&types)?;
    eip712::signing_hash(&types, domain, PRIMARY, document)
}

/// A signature for another purpose must not pass as one on a credential.
fn check_domain(domain: &Object<'_>) -> Result<(), Rejection> {
    let fits = domain.iter().all(|(name, value)| match name {
        "name" => value.as_text() == Some(DOMAIN_NAME),
        "version" => matches!(value, Node::Text(_)),
        "chainId" => matches!(value, Node::Integer(1..)),
        _ => false,
    });
    if fits && domain.get("name").is_some() { Ok(()) } else { Err(Rejection::WrongDomain) }
}

/// What is read as text must be signed as text. As `bytes` or `address`, two spellings share a hash.
fn check_texts(types: &Types<'_>) -> Result<(), Rejection> {
    let subject = types.member_type(PRIMARY, "credentialSubject");
    let proof = types.member_type(PRIMARY, "proof");
    let fields = [
        (Some(PRIMARY), &["issuer", "issuanceDate", "expirationDate"][..], "string"),
        (Some(PRIMARY), &["type", "@context"], "string[]"),
        (subject, &["id", "provider", "hash"], "string"),
        (subject, &["nullifiers"], "string[]"),
        (proof, &["type", "proofPurpose", "verificationMethod", "created"], "string"),
    ];
    for (owner, members, expected) in fields {
        let written = |member: &&str| owner.and_then(|owner| types.member_type(owner, member));
        // One that is not there at all is found when the document is compared with its types.
        if members.iter().filter_map(written).any(|written| written != expected) {
            return Err(Rejection::InvalidTypedData {
                reason: "a text of the credential is not signed as string",
            });
        }
    }
    Ok(())
}

/// `0x`, r, s and v. Of the two signatures that follow from each other only the one with the low s.
fn parse_signature(text: Option<&str>) -> Result<Signature, Rejection> {
    let bytes = text.filter(|text| text.len() == 132).and_then(hex).unwrap_or_default();
    Signature::from_bytes(&bytes).map_err(|bad| match bad {
        BadSignature::HighS => Rejection::HighS,
        BadSignature::Malformed => Rejection::MalformedSignature {
            expected: "proofValue must be 0x and 130 hexadecimal digits, r, s and v",
        },
    })
}

#[cfg(test)]
mod tests;
