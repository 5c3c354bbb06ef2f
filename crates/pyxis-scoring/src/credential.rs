//! Reads a Verifiable Credential and checks everything about it that can be checked without asking
//! anybody (Spec 1; W3C Verifiable Credentials Data Model 1.1).
//!
//! Two proof types are known: `EthereumEip712Signature2021` and `Ed25519Signature2018`. Of both only what
//! the issuer signed is believed, and a credential with anything else in it is refused.

mod claims;
mod did;
mod ed25519;
mod eip712;
mod ethereum;
mod forms;
mod issuing;
mod json;
mod linked_data;
mod recurring;
mod rejection;

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::stamp::{Nullifier, StampName};

use claims::Claims;
use did::Issuer;
use json::Object;

pub use claims::{CLOCK_SKEW, MAX_NULLIFIERS};
pub use issuing::{Signer, Statement};
pub use json::{MAX_BYTES, MAX_DEPTH, MAX_MEMBERS};
pub use rejection::Rejection;

/// A credential that passed every check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// The holder, from the signed subject.
    pub address: EvmAddress,
    /// The Stamp, from the signed `credentialSubject.provider`.
    pub provider: StampName,
    /// The issuer's DID; with an address in it, in lower case.
    pub issuer: String,
    /// The signed `issuanceDate`.
    pub issued_at: UnixMillis,
    /// The signed `expirationDate`.
    pub expires_at: UnixMillis,
    /// What was signed, hashed: the EIP-712 hash, or SHA-256 of the JWS signing input. It names the
    /// credential: another spelling of the JSON or of the signature has the same digest.
    pub digest: [u8; 32],
    /// At least one, all different.
    pub nullifiers: Vec<Nullifier>,
    /// The text as it came, byte for byte.
    pub credential: String,
}

/// The DID of an issuer as [`Verified::issuer`] spells it, if it is of a kind that can be checked:
/// `did:ethr`, `did:pkh:eip155` or `did:key` of an Ed25519 key.
pub fn issuer_did(did: &str) -> Result<String, Rejection> {
    Issuer::parse(did).map(Issuer::into_did)
}

/// Checks a credential that `holder` presents. Of a `RawValue` pass `get()`.
///
/// `issuers` says whether an issuer, spelled as in [`Verified::issuer`], is trusted.
pub fn parse_and_verify(
    text: &str,
    holder: EvmAddress,
    now: UnixMillis,
    issuers: impl Fn(&str) -> bool,
) -> Result<Verified, Rejection> {
    verify(text, Some(holder), now, issuers)
}

/// Checks a credential whose subject says who holds it: for imports, where nobody presents it.
pub fn parse_and_verify_for_its_subject(
    text: &str,
    now: UnixMillis,
    issuers: impl Fn(&str) -> bool,
) -> Result<Verified, Rejection> {
    verify(text, None, now, issuers)
}

/// The cheap checks come first: a credential of a stranger costs no signature.
fn verify(
    text: &str,
    holder: Option<EvmAddress>,
    now: UnixMillis,
    issuers: impl Fn(&str) -> bool,
) -> Result<Verified, Rejection> {
    let document = forms::parse(text)?;
    let claims = Claims::read(&document)?;
    if holder.is_some_and(|holder| holder != claims.address) {
        return Err(Rejection::OtherSubject);
    }
    claims.check_dates(now)?;
    if !issuers(claims.issuer.did()) {
        return Err(Rejection::UnknownIssuer { issuer: claims.issuer.did().to_owned() });
    }
    let digest = check_proof(text, document, &claims)?;
    Ok(Verified {
        address: claims.address,
        provider: claims.provider,
        issuer: claims.issuer.into_did(),
        issued_at: claims.issued_at,
        expires_at: claims.expires_at,
        digest,
        nullifiers: claims.nullifiers,
        credential: text.to_owned(),
    })
}

/// The digest of what was signed.
fn check_proof(text: &str, document: Object<'_>, claims: &Claims) -> Result<[u8; 32], Rejection> {
    let proof = document.object("proof")?;
    let suite = check_options(proof, &claims.issuer).map_err(|rejection| rejection.within("proof"))?;
    match (suite, &claims.issuer) {
        (Suite::Ethereum, Issuer::Ethereum { address, .. }) => ethereum::verify(text, document, *address),
        (Suite::Ed25519, Issuer::Ed25519 { key, .. }) => ed25519::verify(text, &document, claims, key),
        (Suite::Ethereum, _) => Err(Rejection::InvalidIssuer { expected: "did:ethr or did:pkh" }),
        (Suite::Ed25519, _) => Err(Rejection::InvalidIssuer { expected: "did:key" }),
    }
}

enum Suite {
    Ethereum,
    Ed25519,
}

/// What the proofs of both suites say about themselves.
fn check_options(proof: &Object<'_>, issuer: &Issuer) -> Result<Suite, Rejection> {
    let suite = match proof.text("type")? {
        "EthereumEip712Signature2021" => Suite::Ethereum,
        "Ed25519Signature2018" => Suite::Ed25519,
        _ => return Err(Rejection::UnsupportedProof),
    };
    if proof.text("proofPurpose")? != "assertionMethod" {
        return Err(Rejection::WrongProofPurpose);
    }
    if !issuer.owns(proof.text("verificationMethod")?) {
        return Err(Rejection::WrongVerificationMethod);
    }
    claims::date(proof, "created")?;
    Ok(suite)
}
