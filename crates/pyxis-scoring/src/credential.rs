//! Reads a verifiable credential and checks everything that needs no network
//! (`docs/reference/behavior/scoring.md#credentials`).
//!
//! Two proof types are supported: `EthereumEip712Signature2021` and `Ed25519Signature2018`. For both, only signed
//! content is trusted, and a credential with any unsigned content is refused.

mod claims;
mod did;
mod ed25519;
mod eip712;
mod ethereum;
mod hash_cache;
mod issuing;
mod json;
mod linked_data;
mod rejection;
mod typed_data_cache;

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::stamp::{Nullifier, StampName};

use claims::Claims;
use did::{DidKey, Issuer};
use json::{JsonNode, Object};

pub use claims::{CLOCK_SKEW, MAX_NULLIFIERS};
pub(crate) use issuing::example_credential;
pub use issuing::{Signer, Statement};
pub use json::{MAX_BYTES, MAX_DEPTH, MAX_MEMBERS};
pub use rejection::Rejection;

/// A credential that passed every check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedCredential {
    /// The holder, from the signed subject.
    pub address: EvmAddress,
    /// The Stamp, from the signed `credentialSubject.provider`.
    pub provider: StampName,
    /// The canonical DID of the issuer's key: `did:ethr` with an address in lower case, or `did:key`.
    pub issuer: String,
    /// The signed `issuanceDate`.
    pub issued_at: UnixMillis,
    /// The signed `expirationDate`.
    pub expires_at: UnixMillis,
    /// Hash of the signed content: the EIP-712 hash, or SHA-256 of the JWS signing input. It identifies the credential:
    /// another spelling of the JSON or of the signature has the same digest. With several valid proofs, the lowest
    /// digest.
    pub digest: [u8; 32],
    /// The digests of all valid proofs, if there are several. Each identifies the credential.
    pub digests: Vec<[u8; 32]>,
    /// At least one, all different.
    pub nullifiers: Vec<Nullifier>,
    /// The text as received, byte for byte.
    pub credential: String,
}

/// Maximum number of proofs in one credential.
const MAX_PROOFS: usize = 8;

impl VerifiedCredential {
    /// Every digest that identifies the credential.
    pub fn all_digests(&self) -> &[[u8; 32]] {
        if self.digests.is_empty() { std::slice::from_ref(&self.digest) } else { &self.digests }
    }
}

/// The DID of an issuer, spelled as in [`VerifiedCredential::issuer`], if Pyxis can check its kind: `did:ethr`,
/// `did:pkh:eip155`, or `did:key` of an Ed25519 or secp256k1 key.
pub fn issuer_did(did: &str) -> Result<String, Rejection> {
    Issuer::parse(did).map(Issuer::into_did)
}

/// Checks a credential that `holder` presents. For a `RawValue`, pass `get()`.
///
/// `issuers` returns true if an issuer, spelled as in [`VerifiedCredential::issuer`], is trusted.
pub fn parse_and_verify(
    text: &str,
    holder: EvmAddress,
    now: UnixMillis,
    issuers: impl Fn(&str) -> bool,
) -> Result<VerifiedCredential, Rejection> {
    verify(text, Some(holder), now, issuers)
}

/// Checks a credential and takes the holder from its subject. For imports, where no one presents the credential.
pub fn parse_and_verify_for_its_subject(
    text: &str,
    now: UnixMillis,
    issuers: impl Fn(&str) -> bool,
) -> Result<VerifiedCredential, Rejection> {
    verify(text, None, now, issuers)
}

/// Runs the cheap checks first: a credential of an untrusted issuer costs no signature check.
fn verify(
    text: &str,
    holder: Option<EvmAddress>,
    now: UnixMillis,
    issuers: impl Fn(&str) -> bool,
) -> Result<VerifiedCredential, Rejection> {
    let mut document = typed_data_cache::parse(text)?;
    let claims = Claims::read(&document)?;
    if holder.is_some_and(|holder| holder != claims.address) {
        return Err(Rejection::OtherSubject { subject: claims.address });
    }
    claims.check_dates(now)?;
    if !issuers(claims.issuer.did()) {
        return Err(Rejection::UnknownIssuer { issuer: claims.issuer.as_written().to_owned() });
    }
    let mut digests = check_proofs(text, &mut document, &claims)?;
    digests.sort_unstable();
    digests.dedup();
    let digest = digests[0];
    if digests.len() == 1 {
        digests.clear();
    }
    Ok(VerifiedCredential {
        address: claims.address,
        provider: claims.provider,
        issuer: claims.issuer.into_did(),
        issued_at: claims.issued_at,
        expires_at: claims.expires_at,
        digest,
        digests,
        nullifiers: claims.nullifiers,
        credential: text.to_owned(),
    })
}

/// The digests of the valid proofs, at least one. Each proof in a list signs the credential without the others. If none
/// is valid, returns the first proof's error.
fn check_proofs(text: &str, document: &mut Object<'_>, claims: &Claims) -> Result<Vec<[u8; 32]>, Rejection> {
    if !matches!(document.get("proof"), Some(JsonNode::List(_))) {
        return Ok(vec![check_proof(text, document, claims, None)?]);
    }
    let Some(JsonNode::List(proofs)) = document.remove("proof") else { unreachable!("it is a list") };
    if proofs.len() > MAX_PROOFS {
        return Err(Rejection::TooComplex);
    }
    let (mut digests, mut failure) = (Vec::with_capacity(proofs.len()), None);
    for (index, proof) in proofs.into_iter().enumerate() {
        document.put("proof", proof);
        match check_proof(text, document, claims, Some(index)) {
            Ok(digest) => digests.push(digest),
            Err(rejection) => failure = failure.or(Some(rejection)),
        }
        document.remove("proof");
    }
    if digests.is_empty() {
        return Err(
            failure.unwrap_or_else(|| Rejection::form("proof", "an object, or a list of at least one"))
        );
    }
    Ok(digests)
}

/// The digest of the signed content. `index` is the proof's position if there is a list of proofs.
fn check_proof(
    text: &str,
    document: &mut Object<'_>,
    claims: &Claims,
    index: Option<usize>,
) -> Result<[u8; 32], Rejection> {
    let proof = document.object("proof")?;
    let place = || index.map_or_else(|| "proof".to_owned(), |index| format!("proof[{index}]"));
    let suite = check_options(proof, &claims.issuer).map_err(|rejection| rejection.within(&place()))?;
    match (suite, claims.issuer.key) {
        (Suite::Ethereum, DidKey::Ethereum(address)) => {
            // Only a single proof has a cacheable position in the text.
            ethereum::verify(index.is_none().then_some(text), document, address)
        }
        (Suite::Ed25519, DidKey::Ed25519(key)) => ed25519::verify(text, document, claims, &key, index),
        (Suite::Ethereum, _) => Err(Rejection::InvalidIssuer { expected: "did:ethr or did:pkh" }),
        (Suite::Ed25519, _) => Err(Rejection::InvalidIssuer { expected: "did:key" }),
    }
}

enum Suite {
    Ethereum,
    Ed25519,
}

/// Checks the options that the proofs of both suites have in common.
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
