//! Checkpoints: the signed head of the chain, so that truncation is detected.

use std::fmt;
use std::str::FromStr;

use ed25519_dalek::{Signature, Signer};
use pyxis_core::clock::UnixMillis;
use pyxis_core::hex;
use serde::{Deserialize, Serialize};

use super::{AuditKeys, ChainMac};
use crate::db::{FromRow, Row, sql};
use crate::{Executor, Store, StoreError, Tx};

/// The text is not a checkpoint.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("not an audit checkpoint")]
pub struct CheckpointError;

/// A signed head of the chain. Its text form is one line of JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Number of the newest record.
    pub seq: i64,
    /// MAC of that record.
    pub mac: ChainMac,
    /// Time of the signature.
    pub signed_at: UnixMillis,
    /// Ed25519 signature over the other three fields.
    pub signature: [u8; 64],
}

impl FromRow for Checkpoint {
    const TABLE: &'static str = "audit_checkpoints";

    fn from_row(row: &mut Row<'_>) -> Result<Self, StoreError> {
        let seq: i64 = row.take("seq")?;
        let corrupt =
            |column| StoreError::Corrupt { table: "audit_checkpoints", column, row: seq.to_string() };
        let mac: Vec<u8> = row.take("mac")?;
        let signed_at = row.take("signed_at")?;
        let signature: Vec<u8> = row.take("signature")?;
        Ok(Self {
            seq,
            mac: mac.try_into().map_err(|_| corrupt("mac"))?,
            signed_at,
            signature: signature.try_into().map_err(|_| corrupt("signature"))?,
        })
    }
}

fn message(seq: i64, mac: &ChainMac, signed_at: UnixMillis) -> Vec<u8> {
    let mut message = b"audit checkpoint 1\0".to_vec();
    message.extend_from_slice(&seq.to_be_bytes());
    message.extend_from_slice(mac);
    message.extend_from_slice(&signed_at.0.to_be_bytes());
    message
}

impl Checkpoint {
    /// True if these keys made the signature.
    pub fn is_genuine(&self, keys: &AuditKeys) -> bool {
        let signature = Signature::from_bytes(&self.signature);
        let message = message(self.seq, &self.mac, self.signed_at);
        keys.signing.verifying_key().verify_strict(&message, &signature).is_ok()
    }
}

/// Signs the current head of the chain and stores the checkpoint.
pub async fn checkpoint(tx: &mut Tx, keys: &AuditKeys, now: UnixMillis) -> Result<Checkpoint, StoreError> {
    let corrupt = || StoreError::Corrupt { table: "audit_head", column: "mac", row: "1".to_owned() };
    let head = (&mut *tx).optional(sql("SELECT seq, mac FROM audit_head WHERE id = 1")).await?;
    let (seq, mac): (i64, Vec<u8>) = head.ok_or_else(corrupt)?;
    let mac: ChainMac = mac.try_into().map_err(|_| corrupt())?;
    let signature = keys.signing.sign(&message(seq, &mac, now)).to_bytes();
    let query =
        sql("INSERT INTO audit_checkpoints (seq, mac, signed_at, signature) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (seq) DO UPDATE SET mac = excluded.mac, signed_at = excluded.signed_at, \
         signature = excluded.signature");
    tx.execute(query.bind(seq).bind(mac.to_vec()).bind(now).bind(signature.to_vec())).await?;
    Ok(Checkpoint { seq, mac, signed_at: now, signature })
}

/// Result of looking for a signed head in the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadMatch {
    /// The chain has its record, unchanged.
    Found,
    /// The chain has no such record.
    Missing {
        /// Number of the newest record, 0 if there is none.
        newest: i64,
    },
    /// The record with this number is another one.
    Differs,
    /// These keys did not sign it.
    Foreign,
}

/// Looks for a previously signed head in the chain.
pub async fn find_head(
    store: &Store,
    keys: &AuditKeys,
    before: &Checkpoint,
) -> Result<HeadMatch, StoreError> {
    // The chain begins before its first record, with any keys.
    if before.seq == 0 {
        return Ok(HeadMatch::Found);
    }
    if !before.is_genuine(keys) {
        return Ok(HeadMatch::Foreign);
    }
    let query = sql("SELECT mac FROM audit_records WHERE seq = $1");
    let found: Option<(Vec<u8>,)> = store.optional(query.bind(before.seq)).await?;
    Ok(match found {
        Some((mac,)) if mac == before.mac => HeadMatch::Found,
        Some(_) => HeadMatch::Differs,
        None => HeadMatch::Missing { newest: newest(store).await? },
    })
}

/// Number of the newest record, 0 if there is none.
pub async fn newest(executor: impl Executor) -> Result<i64, StoreError> {
    let found = executor.optional(sql("SELECT max(seq) FROM audit_records")).await?;
    Ok(found.and_then(|(seq,)| seq).unwrap_or(0))
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckpointLine {
    seq: i64,
    mac: String,
    signed_at: UnixMillis,
    signature: String,
}

impl fmt::Display for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = CheckpointLine {
            seq: self.seq,
            mac: hex::encode(&self.mac),
            signed_at: self.signed_at,
            signature: hex::encode(&self.signature),
        };
        f.write_str(&serde_json::to_string(&line).map_err(|_| fmt::Error)?)
    }
}

impl FromStr for Checkpoint {
    type Err = CheckpointError;

    fn from_str(text: &str) -> Result<Self, CheckpointError> {
        let line: CheckpointLine = serde_json::from_str(text.trim()).map_err(|_| CheckpointError)?;
        Ok(Self {
            seq: line.seq,
            mac: unhex(&line.mac).ok_or(CheckpointError)?,
            signed_at: line.signed_at,
            signature: unhex(&line.signature).ok_or(CheckpointError)?,
        })
    }
}

fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    hex::decode(text)?.try_into().ok()
}
