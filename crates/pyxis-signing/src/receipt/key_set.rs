//! Published public keys, as a JSON Web Key Set (RFC 7517, RFC 8037).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::{Signature, VerifyingKey};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

/// Use of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReceiptKeyPurpose {
    /// Signs receipts.
    Receipt,
    /// Signs heads of the audit trail.
    AuditHead,
}

impl std::fmt::Display for ReceiptKeyPurpose {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Receipt => "receipt",
            Self::AuditHead => "audit_head",
        })
    }
}

/// The text is not a usable key set.
#[derive(Debug, thiserror::Error)]
pub enum ReceiptKeySetError {
    /// Not JSON of the right form.
    #[error("not a key set: {0}; save the response of /.well-known/pyxis-receipt-keys")]
    Json(#[from] serde_json::Error),
    /// A key has the name of another one.
    #[error("key {0} is not the key that its kid names")]
    KeyId(String),
    /// There is no key that Pyxis can use.
    #[error(
        "the key set has no Ed25519 key with a purpose; save the response of /.well-known/pyxis-receipt-keys"
    )]
    Empty,
}

/// A public key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReceiptPublicKey {
    /// Always `OKP`.
    #[schema(example = "OKP")]
    kty: String,
    /// Always `Ed25519`.
    #[schema(example = "Ed25519")]
    crv: String,
    /// Base64url of 32 bytes.
    #[schema(example = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo")]
    x: String,
    /// Always `EdDSA`.
    #[schema(example = "EdDSA")]
    alg: String,
    /// Always `sig`.
    #[serde(rename = "use")]
    #[schema(example = "sig")]
    usage: String,
    /// The key's thumbprint (RFC 7638).
    #[schema(example = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k")]
    kid: String,
    /// Pyxis accepts a key only for this purpose.
    purpose: ReceiptKeyPurpose,
}

impl ReceiptPublicKey {
    /// Describes an Ed25519 public key.
    pub fn new(purpose: ReceiptKeyPurpose, public: &[u8; 32]) -> Self {
        let x = URL_SAFE_NO_PAD.encode(public);
        let kid = thumbprint(&x);
        let [kty, crv, alg, usage] = ["OKP", "Ed25519", "EdDSA", "sig"].map(str::to_owned);
        Self { kty, crv, x, alg, usage, kid, purpose }
    }

    /// Name by which a signature refers to the key.
    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// True if the key made the signature.
    pub fn verifies(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        let bytes = URL_SAFE_NO_PAD.decode(&self.x).ok().and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        let key = bytes.and_then(|bytes| VerifyingKey::from_bytes(&bytes).ok());
        key.is_some_and(|key| key.verify_strict(message, &Signature::from_bytes(signature)).is_ok())
    }
}

/// RFC 7638: the hash of the required members in the order of their names.
fn thumbprint(x: &str) -> String {
    let members = format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}"#);
    URL_SAFE_NO_PAD.encode(Sha256::digest(members.as_bytes()))
}

/// Published public keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct ReceiptKeySet {
    /// Keys that sign receipts, newest first, then the key of the audit trail.
    pub keys: Vec<ReceiptPublicKey>,
}

impl ReceiptKeySet {
    /// Parses a key set. Keys of other kinds are ignored.
    pub fn parse(text: &str) -> Result<Self, ReceiptKeySetError> {
        #[derive(Deserialize)]
        struct Document {
            keys: Vec<serde_json::Value>,
        }
        let document: Document = serde_json::from_str(text)?;
        let known =
            document.keys.into_iter().filter_map(|key| serde_json::from_value::<ReceiptPublicKey>(key).ok());
        let keys: Vec<ReceiptPublicKey> =
            known.filter(|key| key.kty == "OKP" && key.crv == "Ed25519").collect();
        if let Some(wrong) = keys.iter().find(|key| key.kid != thumbprint(&key.x)) {
            return Err(ReceiptKeySetError::KeyId(wrong.kid.clone()));
        }
        if keys.is_empty() { Err(ReceiptKeySetError::Empty) } else { Ok(Self { keys }) }
    }

    /// The key with this name and purpose.
    pub fn find(&self, kid: &str, purpose: ReceiptKeyPurpose) -> Option<&ReceiptPublicKey> {
        self.keys.iter().find(|key| key.kid == kid && key.purpose == purpose)
    }
}
