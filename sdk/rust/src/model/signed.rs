//! Signed scores, which others verify without asking the server.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::model::score::Score;

/// A score with a token (ES256) for programs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct JwtScore {
    pub score: Score,
    pub jwt: String,
}

/// A score with a signature over typed data for EVM contracts.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Eip712Score {
    pub score: Score,
    /// 65 bytes as `0x` and hex digits.
    pub signature: String,
    /// Address of the key.
    pub signer: String,
    /// Members that are signed.
    pub message: ScoreMessage,
    /// Domain, types and message, as wallets and libraries take them.
    pub typed_data: Map<String, Value>,
}

/// Members that are signed. `score` and `threshold` have five decimals: 22.598 is 2259800. Times are Unix seconds.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ScoreMessage {
    #[serde(deserialize_with = "number")]
    pub scorer: u64,
    /// Address of the holder.
    pub account: String,
    #[serde(deserialize_with = "number")]
    pub score: u64,
    #[serde(deserialize_with = "number")]
    pub threshold: u64,
    pub passing: bool,
    pub computed_at: u64,
    pub issued_at: u64,
    pub expires_at: u64,
    /// Empty unless the request had one.
    pub challenge: String,
}

/// An integer as text, because readers of JSON round large numbers.
fn number<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<u64, D::Error> {
    String::deserialize(from)?.parse().map_err(|_| de::Error::custom("not a whole number"))
}

/// Every published key, newest first within each scheme.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ScoreKeys {
    /// `iss` of tokens.
    pub issuer: String,
    pub keys: Vec<ScoreKey>,
}

/// A public key that signs scores, or signed them once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ScoreKey {
    /// `es256` for tokens, `eip712` for typed data.
    pub scheme: String,
    /// `kid` of tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kid: Option<String>,
    /// Signer of typed data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    pub signs_from: Timestamp,
    /// `None` for the newest key.
    pub signs_until: Option<Timestamp>,
    /// Time from which nothing that the key signed is valid; `None` for the newest key.
    pub trusted_until: Option<Timestamp>,
}

/// Public keys of tokens (RFC 7517).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TokenKeys {
    /// Members by name, as libraries take them.
    pub keys: Vec<Map<String, Value>>,
}

/// A score record with the signature that was asked for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SignedRecord {
    #[serde(flatten)]
    score: Score,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    jwt: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signature: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signer: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    typed_data: Option<Map<String, Value>>,
}

impl SignedRecord {
    pub(crate) fn into_jwt(self) -> Result<JwtScore> {
        let Some(jwt) = self.jwt else { return Err(unsigned("token")) };
        Ok(JwtScore { score: self.score, jwt })
    }

    pub(crate) fn into_typed(self) -> Result<Eip712Score> {
        let (Some(signature), Some(signer), Some(typed_data)) =
            (self.signature, self.signer, self.typed_data)
        else {
            return Err(unsigned("typed data with its signature"));
        };
        let message = typed_data.get("message").cloned().unwrap_or_default();
        let message = serde_json::from_value(message)
            .map_err(|error| Error::InvalidResponse(format!("the typed data cannot be read: {error}")))?;
        Ok(Eip712Score { score: self.score, signature, signer, message, typed_data })
    }
}

fn unsigned(lack: &str) -> Error {
    Error::InvalidResponse(format!("the response has no {lack}"))
}
