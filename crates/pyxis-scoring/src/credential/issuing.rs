//! Credentials that Pyxis signs: with the workspace's own key, or with a new one for samples. They are accepted like any
//! other.

use k256::ecdsa::SigningKey;
use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::entropy::{self, Entropy};
use pyxis_core::hex;
use pyxis_core::secret::SecretBytes;
use pyxis_core::stamp::{Nullifier, StampName};
use pyxis_signing::recovery::address_of;
use serde_json::{Value, json};

use super::claims::CREDENTIALS_CONTEXT;
use super::{Rejection, ethereum};

const SUITE_CONTEXT: &str = "https://w3id.org/security/suites/eip712sig-2021/v1";
const TEXT: &str = "https://schema.org/Text";

/// An issuer with a secp256k1 key (`EthereumEip712Signature2021`).
pub struct Signer {
    key: SigningKey,
    did: String,
}

/// Content of a credential.
#[derive(Clone, Debug)]
pub struct Statement {
    /// The holder.
    pub address: EvmAddress,
    pub provider: StampName,
    /// Nullifiers of the account behind it.
    pub nullifiers: Vec<Nullifier>,
    /// Start of validity.
    pub issued_at: UnixMillis,
    /// End of validity.
    pub expires_at: UnixMillis,
}

impl Signer {
    /// Creates an issuer with a new key, which is lost when the value is dropped.
    pub fn new(entropy: &dyn Entropy) -> Self {
        let key = loop {
            // Nearly every number is a valid key.
            if let Ok(key) = SigningKey::from_slice(&entropy::bytes::<32>(entropy)) {
                break key;
            }
        };
        Self::from_key(key)
    }

    /// The issuer with this secret key; `None` if the number is not a key.
    pub fn from_secret(secret: &SecretBytes) -> Option<Self> {
        SigningKey::from_slice(secret.expose()).ok().map(Self::from_key)
    }

    fn from_key(key: SigningKey) -> Self {
        let did = format!("did:ethr:{}", address_of(key.verifying_key()));
        Self { key, did }
    }

    /// `did:ethr:0x…`
    pub fn did(&self) -> &str {
        &self.did
    }

    /// Signs a credential.
    pub fn sign(&self, statement: &Statement) -> Result<String, Rejection> {
        let nullifiers: Vec<&str> = statement.nullifiers.iter().map(Nullifier::as_str).collect();
        let subject = subject(&statement.address.to_string(), &nullifiers, statement.provider.as_str());
        let mut document = document(&self.did, &subject, (statement.issued_at, statement.expires_at));
        let hash = ethereum::hash_to_sign(&document.to_string())?;
        let (signature, recovery) = self.key.sign_prehash_recoverable(&hash);
        let value = format!("0x{}{:02x}", hex::encode(&signature.to_bytes()), 27 + recovery.to_byte());
        document["proof"]["proofValue"] = value.into();
        Ok(document.to_string())
    }
}

/// The subject: the holder and what is said of it.
fn subject(address: &str, nullifiers: &[&str], provider: &str) -> Value {
    json!({
        "@context": {"nullifiers": {"@container": "@list", "@type": TEXT}, "provider": TEXT},
        "id": format!("did:pkh:eip155:1:{address}"),
        "nullifiers": nullifiers,
        "provider": provider,
    })
}

/// A credential without its signature.
fn document(did: &str, subject: &Value, (issued_at, expires_at): (UnixMillis, UnixMillis)) -> Value {
    let issued_at = issued_at.to_rfc3339();
    json!({
        "@context": [CREDENTIALS_CONTEXT],
        "type": ["VerifiableCredential"],
        "credentialSubject": subject,
        "issuer": did,
        "issuanceDate": issued_at,
        "expirationDate": expires_at.to_rfc3339(),
        "proof": {
            "@context": SUITE_CONTEXT,
            "type": "EthereumEip712Signature2021",
            "proofPurpose": "assertionMethod",
            "verificationMethod": format!("{did}#controller"),
            "created": issued_at,
            "eip712Domain": {
                "domain": {"name": "VerifiableCredential"},
                "primaryType": "Document",
                "types": types(),
            },
        },
    })
}

/// A credential for the description of the API. Nobody made its signature.
pub(crate) fn example_credential(holder: &str) -> Value {
    let times = (UnixMillis(1_769_850_300_250), UnixMillis(1_777_626_300_250));
    let subject = subject(holder, &["member:4711"], "Member");
    let mut document = document("did:ethr:0xd6fc34345bc8c8e5659a35bed9629d5558d48c4e", &subject, times);
    document["proof"]["proofValue"] = format!("0x{}1b", "3f".repeat(64)).into();
    document
}

/// The types of the document above.
fn types() -> Value {
    let members = |list: &[(&str, &str)]| -> Value {
        list.iter().map(|(name, kind)| json!({"name": name, "type": kind})).collect()
    };
    json!({
        "EIP712Domain": members(&[("name", "string")]),
        "Document": members(&[
            ("@context", "string[]"), ("type", "string[]"), ("credentialSubject", "CredentialSubject"),
            ("issuer", "string"), ("issuanceDate", "string"), ("expirationDate", "string"), ("proof", "Proof"),
        ]),
        "CredentialSubject": members(&[
            ("@context", "SubjectContext"), ("id", "string"), ("nullifiers", "string[]"), ("provider", "string"),
        ]),
        "SubjectContext": members(&[("nullifiers", "NullifiersContext"), ("provider", "string")]),
        "NullifiersContext": members(&[("@container", "string"), ("@type", "string")]),
        "Proof": members(&[
            ("@context", "string"), ("type", "string"), ("proofPurpose", "string"),
            ("verificationMethod", "string"), ("created", "string"),
        ]),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pyxis_core::entropy::SeededEntropy;

    use super::super::parse_and_verify;
    use super::*;

    #[test]
    fn what_is_signed_is_believed_like_any_credential() {
        let (signer, now) = (Signer::new(&SeededEntropy::new(1)), UnixMillis(1_750_000_000_000));
        let statement = Statement {
            address: EvmAddress([7; 20]),
            provider: "NFTScore#50".parse().unwrap(),
            nullifiers: vec!["one".parse().unwrap(), "two".parse().unwrap()],
            issued_at: now,
            expires_at: now.plus(Duration::from_hours(1)),
        };
        let text = signer.sign(&statement).unwrap();
        let verified = parse_and_verify(&text, statement.address, now, |did| did == signer.did()).unwrap();
        assert_eq!((verified.provider, verified.nullifiers), (statement.provider, statement.nullifiers));
        assert_eq!((verified.issued_at, verified.expires_at), (now, statement.expires_at));
        let forged = text.replace("NFTScore#50", "NFTScore#90");
        let refused = parse_and_verify(&forged, statement.address, now, |_| true).unwrap_err();
        assert_eq!(refused.code(), "signature_mismatch");
    }
}
