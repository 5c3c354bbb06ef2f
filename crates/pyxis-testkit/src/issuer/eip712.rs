//! `EthereumEip712Signature2021`.

use k256::ecdsa::SigningKey;
use pyxis_core::address::EvmAddress;
use pyxis_core::entropy::{self, Entropy};
use pyxis_core::hex;
use serde_json::{Value, json};
use sha3::{Digest, Keccak256};

use super::CredentialFields;

type Hash = [u8; 32];

const DOMAIN: &str = "EIP712Domain(string name)";
const DOCUMENT: &str = "Document(string[] @context,CredentialSubject credentialSubject,string expirationDate,\
                        string issuanceDate,string issuer,Proof proof,string[] type)";
const PROOF: &str =
    "Proof(string @context,string created,string proofPurpose,string type,string verificationMethod)";
const SUITE: &str = "https://w3id.org/security/suites/eip712sig-2021/v1";
const CONTEXTS: [&str; 2] =
    ["https://www.w3.org/2018/credentials/v1", "https://w3id.org/vc/status-list/2021/v1"];
const TEXT: &str = "https://schema.org/Text";

/// An issuer with a secp256k1 key.
pub struct Eip712Issuer {
    key: SigningKey,
    did: String,
}

/// Format in which a credential carries nullifiers.
struct NullifierFormat {
    member: &'static str,
    value: Value,
    value_type: &'static str,
    value_hash: Hash,
    term: Value,
    term_type: &'static str,
    term_hash: Hash,
    /// Type definition of the term, if it is a struct.
    more: &'static str,
}

impl Eip712Issuer {
    /// Creates an issuer with a new key: `did:ethr:0x…`
    pub fn new(entropy: &dyn Entropy) -> Self {
        Self::with_prefix("did:ethr:", entropy)
    }

    /// Creates an issuer that is a blockchain account: `did:pkh:eip155:<chain>:0x…`
    pub fn of_chain(chain: u64, entropy: &dyn Entropy) -> Self {
        Self::with_prefix(&format!("did:pkh:eip155:{chain}:"), entropy)
    }

    fn with_prefix(prefix: &str, entropy: &dyn Entropy) -> Self {
        let key =
            SigningKey::from_slice(&entropy::bytes::<32>(entropy)).expect("nearly every number is a key");
        let point = key.verifying_key().to_sec1_point(false);
        let hash = keccak(&point.as_bytes()[1..]);
        let address = EvmAddress(hash[12..].try_into().expect("20 of 32 bytes"));
        Self { key, did: format!("{prefix}{address}") }
    }

    pub fn did(&self) -> String {
        self.did.clone()
    }

    /// Issues a credential with `nullifiers`.
    pub fn issue(&self, claim: &CredentialFields<'_>) -> String {
        let more = "NullifiersContext(string @container,string @type)";
        let form = NullifierFormat {
            member: "nullifiers",
            value: json!(claim.nullifiers),
            value_type: "string[]",
            value_hash: hash_texts(claim.nullifiers),
            term: json!({"@container": "@list", "@type": TEXT}),
            term_type: "NullifiersContext",
            term_hash: hash_struct(more, &[text("@list"), text(TEXT)]),
            more,
        };
        self.issue_as(&form, claim)
    }

    /// Issues a credential in the older format, with the first nullifier as `hash`.
    pub fn issue_older_form(&self, claim: &CredentialFields<'_>) -> String {
        let form = NullifierFormat {
            member: "hash",
            value: json!(claim.nullifiers[0]),
            value_type: "string",
            value_hash: text(claim.nullifiers[0]),
            term: json!(TEXT),
            term_type: "string",
            term_hash: text(TEXT),
            more: "",
        };
        self.issue_as(&form, claim)
    }

    /// Signs any 32 bytes. Returns `0x`, r, s and v, where v is 27 or 28.
    pub fn sign_hash(&self, hash: &Hash) -> String {
        let (signature, recovery) = self.key.sign_prehash_recoverable(hash);
        format!("0x{}{:02x}", hex::encode(&signature.to_bytes()), 27 + recovery.to_byte())
    }

    fn issue_as(&self, form: &NullifierFormat, claim: &CredentialFields<'_>) -> String {
        let NullifierFormat { member, value_type, term_type, more, .. } = form;
        let context_type = format!("@context({term_type} {member},string provider)");
        let subject_type =
            format!("CredentialSubject(@context @context,{value_type} {member},string id,string provider)");
        let context = hash_struct(&format!("{context_type}{more}"), &[form.term_hash, text(TEXT)]);
        let subject = hash_struct(
            &format!("{subject_type}{context_type}{more}"),
            &[context, form.value_hash, text(&claim.subject()), text(claim.provider)],
        );
        let document_type = format!("{DOCUMENT}{context_type}{subject_type}{more}{PROOF}");
        let hash = self.signing_hash(&document_type, subject, claim);

        let types = [DOMAIN, DOCUMENT, &context_type, &subject_type, more, PROOF];
        let domain = json!({
            "domain": {"name": "VerifiableCredential"},
            "primaryType": "Document",
            "types": types.into_iter().filter_map(type_json).collect::<serde_json::Map<_, _>>(),
        });
        json!({
            "@context": CONTEXTS,
            "type": ["VerifiableCredential"],
            "credentialSubject": {
                "@context": {*member: form.term, "provider": TEXT},
                "id": claim.subject(),
                *member: form.value,
                "provider": claim.provider,
            },
            "issuer": self.did(),
            "issuanceDate": claim.issued_at.to_rfc3339(),
            "expirationDate": claim.expires_at.to_rfc3339(),
            "proof": {
                "@context": SUITE,
                "type": "EthereumEip712Signature2021",
                "proofPurpose": "assertionMethod",
                "proofValue": self.sign_hash(&hash),
                "verificationMethod": self.method(),
                "created": claim.issued_at.to_rfc3339(),
                "eip712Domain": domain,
            },
        })
        .to_string()
    }

    fn method(&self) -> String {
        format!("{}#controller", self.did())
    }

    fn signing_hash(&self, document_type: &str, subject: Hash, claim: &CredentialFields<'_>) -> Hash {
        let issued = text(&claim.issued_at.to_rfc3339());
        let proof = hash_struct(
            PROOF,
            &[
                text(SUITE),
                issued,
                text("assertionMethod"),
                text("EthereumEip712Signature2021"),
                text(&self.method()),
            ],
        );
        let document = hash_struct(
            document_type,
            &[
                hash_texts(&CONTEXTS),
                subject,
                text(&claim.expires_at.to_rfc3339()),
                issued,
                text(&self.did()),
                proof,
                hash_texts(&["VerifiableCredential"]),
            ],
        );
        let domain = hash_struct(DOMAIN, &[text("VerifiableCredential")]);
        keccak(&[&[0x19, 0x01], &domain[..], &document[..]].concat())
    }
}

fn keccak(data: &[u8]) -> Hash {
    Keccak256::digest(data).into()
}

fn text(text: &str) -> Hash {
    keccak(text.as_bytes())
}

fn hash_texts(items: &[&str]) -> Hash {
    keccak(&items.iter().map(|item| text(item)).collect::<Vec<_>>().concat())
}

fn hash_struct(type_text: &str, members: &[Hash]) -> Hash {
    keccak(&[&text(type_text)[..], &members.concat()].concat())
}

/// Converts `Name(type member,…)` to its name and JSON. `None` for an empty text.
fn type_json(type_text: &str) -> Option<(String, Value)> {
    let (name, members) = type_text.strip_suffix(')')?.split_once('(')?;
    let member = |member: &str| {
        let (kind, name) = member.split_once(' ').expect("a type and a name");
        json!({"name": name, "type": kind})
    };
    Some((name.to_owned(), members.split(',').map(member).collect()))
}
