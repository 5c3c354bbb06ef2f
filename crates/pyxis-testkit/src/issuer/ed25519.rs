//! `Ed25519Signature2018`.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::{Signer as _, SigningKey};
use pyxis_core::entropy::{self, Entropy};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::CredentialFields;

const TEXT: &str = "https://schema.org/Text";
const HEADER: &str = r#"{"alg":"EdDSA","crit":["b64"],"b64":false}"#;

pub struct Ed25519Issuer {
    key: SigningKey,
    multibase: String,
}

impl Ed25519Issuer {
    /// Creates an issuer with a new key.
    pub fn new(entropy: &dyn Entropy) -> Self {
        let key = SigningKey::from_bytes(&entropy::bytes::<32>(entropy));
        let public = [&[0xed, 0x01], &key.verifying_key().to_bytes()[..]].concat();
        Self { multibase: format!("z{}", bs58::encode(public).into_string()), key }
    }

    /// `did:key:z6Mk…`
    pub fn did(&self) -> String {
        format!("did:key:{}", self.multibase)
    }

    /// Issues a credential with `nullifiers`, in no particular order. Each nullifier needs a colon; the Stamp's name
    /// must not contain one.
    pub fn issue(&self, claim: &CredentialFields<'_>) -> String {
        self.issue_as("nullifiers", &json!(claim.nullifiers), claim.nullifiers, claim)
    }

    /// Issues a credential in the older format, with the first nullifier as `hash`.
    pub fn issue_older_form(&self, claim: &CredentialFields<'_>) -> String {
        self.issue_as("hash", &json!(claim.nullifiers[0]), &claim.nullifiers[..1], claim)
    }

    fn issue_as(&self, member: &str, value: &Value, marks: &[&str], claim: &CredentialFields<'_>) -> String {
        let method = format!("{}#{}", self.did(), self.multibase);
        let options = canonical(&[
            ("http://purl.org/dc/terms/created", date(&claim.issued_at.to_rfc3339())),
            (TYPE, name("https://w3id.org/security#Ed25519Signature2018")),
            ("https://w3id.org/security#proofPurpose", name("https://w3id.org/security#assertionMethod")),
            ("https://w3id.org/security#verificationMethod", name(&method)),
        ]);
        let document = self.canonical_document(marks, claim);
        let mut signed = format!("{}.", URL_SAFE_NO_PAD.encode(HEADER)).into_bytes();
        signed.extend_from_slice(&Sha256::digest(options));
        signed.extend_from_slice(&Sha256::digest(document));
        let signature = URL_SAFE_NO_PAD.encode(self.key.sign(&signed).to_bytes());
        json!({
            "@context": ["https://www.w3.org/2018/credentials/v1"],
            "type": ["VerifiableCredential"],
            "credentialSubject": {
                "@context": [{member: TEXT, "provider": TEXT}],
                "id": claim.subject(),
                member: value,
                "provider": claim.provider,
            },
            "issuer": self.did(),
            "issuanceDate": claim.issued_at.to_rfc3339(),
            "expirationDate": claim.expires_at.to_rfc3339(),
            "proof": {
                "type": "Ed25519Signature2018",
                "proofPurpose": "assertionMethod",
                "verificationMethod": method,
                "created": claim.issued_at.to_rfc3339(),
                "jws": format!("{}..{signature}", URL_SAFE_NO_PAD.encode(HEADER)),
            },
        })
        .to_string()
    }

    fn canonical_document(&self, marks: &[&str], claim: &CredentialFields<'_>) -> String {
        let credential = |property: &str| format!("https://www.w3.org/2018/credentials#{property}");
        let subject = claim.subject();
        let document = canonical(&[
            (TYPE, name(&credential("VerifiableCredential"))),
            (&credential("credentialSubject"), name(&subject)),
            (&credential("issuer"), name(&self.did())),
            (&credential("issuanceDate"), date(&claim.issued_at.to_rfc3339())),
            (&credential("expirationDate"), date(&claim.expires_at.to_rfc3339())),
        ]);
        let said = marks.iter().chain([&claim.provider]);
        let mut lines: Vec<String> =
            said.map(|said| format!("<{subject}> <{TEXT}> \"{said}\" .\n")).collect();
        lines.extend(document.lines().map(|line| format!("{line}\n")));
        lines.sort();
        lines.concat()
    }
}

const TYPE: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";

/// Statements about the single unnamed node.
fn canonical(statements: &[(&str, String)]) -> String {
    let line = |(property, object): &(&str, String)| format!("_:c14n0 <{property}> {object} .\n");
    let mut lines: Vec<String> = statements.iter().map(line).collect();
    lines.sort();
    lines.concat()
}

fn name(name: &str) -> String {
    format!("<{name}>")
}

fn date(date: &str) -> String {
    format!("\"{date}\"^^<http://www.w3.org/2001/XMLSchema#dateTime>")
}
