//! Payloads that agents want signed: parsed once, decoded for the approver, and reduced to the signed bytes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pyxis_core::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use sha3::Keccak256;
use utoipa::ToSchema;

use crate::eip712;
use crate::keys::{Algorithm, ToSign};

/// Body of `POST /sign`.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SignRequest {
    /// The data to sign, in `encoding`.
    pub payload: String,
    /// Hexadecimal digits with or without `0x`; base64; or the text itself.
    #[serde(default)]
    #[schema(default = "hex")]
    pub encoding: Encoding,
    /// Must be the key's algorithm.
    #[schema(value_type = pyxis_core::auth::KeyAlgorithm)]
    pub algorithm: Algorithm,
    /// Hash applied before signing. With `none`, Ed25519 signs the message, and the others take the payload as a digest
    /// of 32 bytes.
    #[serde(default)]
    #[schema(default = "none")]
    pub hash: Hash,
    /// Description for the approver.
    pub description: Option<String>,
    /// The Ethereum formats are signed with secp256k1 and hashed with Keccak-256. Typed data (EIP-712) is the JSON text
    /// that wallets take.
    #[serde(default)]
    #[schema(default = "raw")]
    pub format: Format,
    /// The expected digest, in hexadecimal digits; a payload with another digest is refused.
    pub digest: Option<String>,
}

/// Encoding of a payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = SigningEncoding)]
pub enum Encoding {
    /// Hex digits, with or without `0x`.
    #[default]
    Hex,
    /// RFC 4648, section 4.
    Base64,
    /// Unencoded text.
    Utf8,
}

/// Hash that is signed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = SigningHash)]
pub enum Hash {
    /// No hash: Ed25519 signs the message itself, the others accept a 32-byte digest.
    #[default]
    None,
    /// SHA-256.
    Sha256,
    /// Keccak-256.
    Keccak256,
}

/// Format of a payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = SigningFormat)]
pub enum Format {
    /// Bytes.
    #[default]
    Raw,
    /// An Ethereum personal message (EIP-191, version 0x45).
    Eip191,
    /// Ethereum typed data (EIP-712), as JSON.
    Eip712,
}

/// Reason that a payload cannot be signed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {detail}")]
pub struct BadPayload {
    /// Name of the invalid request member.
    pub field: &'static str,
    /// The problem and how to fix it.
    pub detail: String,
}

fn bad_payload(field: &'static str, detail: impl Into<String>) -> BadPayload {
    BadPayload { field, detail: detail.into() }
}

/// A payload ready to be signed and shown.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// Input of the signature.
    pub to_sign: ToSign,
    /// The signed digest, or SHA-256 of a message that is signed unhashed; hex.
    pub digest: String,
    /// View for the approver.
    pub view: View,
}

/// View that a person reads before approving.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum View {
    /// Bytes that are text.
    Text(String),
    /// Bytes that are not text.
    Bytes(Vec<u8>),
    /// Typed data, field by field.
    Typed(eip712::TypedDataView),
    /// A 32-byte hash whose content cannot be shown.
    BlindHash([u8; 32]),
}

impl SignRequest {
    /// Prepares the payload for a key of `algorithm`.
    pub fn prepare(&self, algorithm: Algorithm) -> Result<Prepared, BadPayload> {
        if self.algorithm != algorithm {
            return Err(bad_payload("algorithm", format!("the key is for {}", algorithm.as_str())));
        }
        let bytes = self.bytes()?;
        let (to_sign, view) = match self.format {
            Format::Raw => self.raw(bytes)?,
            Format::Eip191 => {
                self.check_ethereum("eip191")?;
                (ToSign::Digest(personal_message(&bytes)), readable(bytes))
            }
            Format::Eip712 => {
                self.check_ethereum("eip712")?;
                let typed =
                    eip712::read(&bytes).map_err(|error| bad_payload("payload", error.to_string()))?;
                (ToSign::Digest(typed.digest), View::Typed(typed.shown))
            }
        };
        let digest = hex::encode(&match &to_sign {
            ToSign::Digest(digest) => *digest,
            ToSign::Message(message) => Sha256::digest(message).into(),
        });
        self.check_digest(&digest)?;
        Ok(Prepared { to_sign, digest, view })
    }

    fn bytes(&self) -> Result<Vec<u8>, BadPayload> {
        let payload = &self.payload;
        match self.encoding {
            Encoding::Utf8 => Ok(payload.as_bytes().to_vec()),
            Encoding::Hex => hex::decode_either(payload).ok_or_else(|| {
                bad_payload("payload", "not an even number of hexadecimal digits, as encoding says")
            }),
            Encoding::Base64 => {
                STANDARD.decode(payload).map_err(|_| bad_payload("payload", "not base64, as encoding says"))
            }
        }
    }

    fn raw(&self, bytes: Vec<u8>) -> Result<(ToSign, View), BadPayload> {
        let digest = match self.hash {
            Hash::Sha256 => Sha256::digest(&bytes).into(),
            Hash::Keccak256 => Keccak256::digest(&bytes).into(),
            Hash::None if self.algorithm == Algorithm::Ed25519 => {
                return Ok((ToSign::Message(bytes.clone()), readable(bytes)));
            }
            Hash::None => {
                let digest = <[u8; 32]>::try_from(bytes).map_err(|bytes| {
                    bad_payload(
                        "hash",
                        format!(
                            "none means that the payload is a digest of 32 bytes, but it has {}: name the hash to apply",
                            bytes.len()
                        ),
                    )
                })?;
                return Ok((ToSign::Digest(digest), View::BlindHash(digest)));
            }
        };
        Ok((ToSign::Digest(digest), readable(bytes)))
    }

    fn check_ethereum(&self, format: &str) -> Result<(), BadPayload> {
        if self.algorithm != Algorithm::Secp256k1 {
            return Err(bad_payload("format", format!("{format} is signed with secp256k1")));
        }
        if self.hash == Hash::Sha256 {
            return Err(bad_payload("hash", format!("{format} is hashed with keccak256")));
        }
        Ok(())
    }

    fn check_digest(&self, actual: &str) -> Result<(), BadPayload> {
        let Some(claimed) = &self.digest else { return Ok(()) };
        let plain = claimed.strip_prefix("0x").unwrap_or(claimed);
        if plain.eq_ignore_ascii_case(actual) {
            return Ok(());
        }
        Err(bad_payload("digest", format!("the payload does not match its claimed hash; it is {actual}")))
    }
}

/// Readable view of bytes. A non-text message of exactly 32 bytes is most likely a digest.
fn readable(bytes: Vec<u8>) -> View {
    match String::from_utf8(bytes) {
        Ok(text) => View::Text(text),
        Err(error) => match <[u8; 32]>::try_from(error.into_bytes()) {
            Ok(digest) => View::BlindHash(digest),
            Err(bytes) => View::Bytes(bytes),
        },
    }
}

/// Hash of an Ethereum personal message (EIP-191, version 0x45).
pub fn personal_message(message: &[u8]) -> [u8; 32] {
    let length = message.len().to_string();
    let parts: [&[u8]; 3] = [b"\x19Ethereum Signed Message:\n", length.as_bytes(), message];
    Keccak256::digest(parts.concat()).into()
}

#[cfg(test)]
mod tests;
