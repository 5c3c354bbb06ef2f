//! What an agent asks to have signed: read once, decoded for the approver, reduced to what is signed.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pyxis_core::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use sha3::Keccak256;

use crate::eip712;
use crate::keys::{Algorithm, ToSign};

/// Body of `POST /sign`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignRequest {
    /// What to sign, written in `encoding`.
    pub payload: String,
    /// How the payload is written.
    #[serde(default)]
    pub encoding: Encoding,
    /// The algorithm, which must be the key's.
    pub algorithm: Algorithm,
    /// What is applied to the payload before it is signed.
    #[serde(default)]
    pub hash: Hash,
    /// Words of the agent for the approver.
    pub description: Option<String>,
    /// What the payload is.
    #[serde(default)]
    pub format: Format,
    /// The digest that the agent expects, in hexadecimal digits; another one is refused.
    pub digest: Option<String>,
}

/// How a payload is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Encoding {
    /// Hexadecimal digits, with or without `0x`.
    #[default]
    Hex,
    /// RFC 4648, section 4.
    Base64,
    /// The text itself.
    Utf8,
}

/// The hash under a signature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Hash {
    /// None: Ed25519 signs the message itself, the others take 32 bytes as a digest.
    #[default]
    None,
    /// SHA-256.
    Sha256,
    /// Keccak-256.
    Keccak256,
}

/// What a payload is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Bytes.
    #[default]
    Raw,
    /// A personal message of Ethereum (EIP-191, version 0x45).
    Eip191,
    /// Typed data of Ethereum (EIP-712), as JSON.
    Eip712,
}

/// Why a payload cannot be signed. `field` names the member at fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {detail}")]
pub struct BadPayload {
    /// The member of the body.
    pub field: &'static str,
    /// What is wrong and what to do.
    pub detail: String,
}

fn bad(field: &'static str, detail: impl Into<String>) -> BadPayload {
    BadPayload { field, detail: detail.into() }
}

/// A payload ready to be signed and to be shown.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// What the key signs.
    pub to_sign: ToSign,
    /// The digest under the signature, or SHA-256 of a message that is signed whole; hexadecimal digits.
    pub digest: String,
    /// What a person reads.
    pub view: View,
}

/// What a person reads before they approve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum View {
    /// Bytes that are text.
    Text(String),
    /// Bytes that are not.
    Bytes(Vec<u8>),
    /// Typed data, field by field.
    Typed(eip712::TypedDataView),
    /// 32 bytes that stand for something nobody sees.
    BlindHash([u8; 32]),
}

impl SignRequest {
    /// Reads the payload for a key of `algorithm`.
    pub fn prepare(&self, algorithm: Algorithm) -> Result<Prepared, BadPayload> {
        if self.algorithm != algorithm {
            return Err(bad("algorithm", format!("the key is for {}", algorithm.as_str())));
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
                let typed = eip712::read(&bytes).map_err(|error| bad("payload", error.to_string()))?;
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
            Encoding::Hex => hex::decode_either(payload)
                .ok_or_else(|| bad("payload", "not an even number of hexadecimal digits, as encoding says")),
            Encoding::Base64 => {
                STANDARD.decode(payload).map_err(|_| bad("payload", "not base64, as encoding says"))
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
                    bad(
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
            return Err(bad("format", format!("{format} is signed with secp256k1")));
        }
        if self.hash == Hash::Sha256 {
            return Err(bad("hash", format!("{format} is hashed with keccak256")));
        }
        Ok(())
    }

    fn check_digest(&self, actual: &str) -> Result<(), BadPayload> {
        let Some(claimed) = &self.digest else { return Ok(()) };
        let plain = claimed.strip_prefix("0x").unwrap_or(claimed);
        if plain.eq_ignore_ascii_case(actual) {
            return Ok(());
        }
        Err(bad("digest", format!("the payload does not match its claimed hash; it is {actual}")))
    }
}

/// Bytes as a person reads them. A message of exactly 32 bytes that is not text is most likely a digest.
fn readable(bytes: Vec<u8>) -> View {
    match String::from_utf8(bytes) {
        Ok(text) => View::Text(text),
        Err(error) => match <[u8; 32]>::try_from(error.into_bytes()) {
            Ok(digest) => View::BlindHash(digest),
            Err(bytes) => View::Bytes(bytes),
        },
    }
}

/// EIP-191, version 0x45.
fn personal_message(message: &[u8]) -> [u8; 32] {
    let length = message.len().to_string();
    let parts: [&[u8]; 3] = [b"\x19Ethereum Signed Message:\n", length.as_bytes(), message];
    Keccak256::digest(parts.concat()).into()
}

#[cfg(test)]
mod tests;
