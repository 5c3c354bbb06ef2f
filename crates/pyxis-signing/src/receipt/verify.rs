//! Verification of a receipt with nothing but the published keys.

use pyxis_core::hex;
use pyxis_core::merkle_log::{LogHash, head_message, root_from_path};

use super::VERSION;
use super::claims::{AuditHead, ReceiptClaims};
use super::error::ReceiptError;
use super::jws;
use super::key_set::{ReceiptKeyPurpose, ReceiptKeySet};
use super::record::DisclosedRecord;
use super::recorded_facts::RecordedFacts;

/// A receipt whose every part was verified.
#[derive(Clone, Debug)]
pub struct VerifiedReceipt {
    /// Content.
    pub claims: ReceiptClaims,
    /// Steps of the verification, one sentence each.
    pub steps: Vec<String>,
}

/// Verifies a receipt offline: its signatures, the proofs of its records, and its claims against the records.
pub fn verify(token: &str, keys: &ReceiptKeySet) -> Result<VerifiedReceipt, ReceiptError> {
    let parts = jws::split(token)?;
    let unknown = |kid: &str, purpose| ReceiptError::UnknownKey { kid: kid.to_owned(), purpose };
    let key = keys.find(&parts.kid, ReceiptKeyPurpose::Receipt);
    let key = key.ok_or_else(|| unknown(&parts.kid, ReceiptKeyPurpose::Receipt))?;
    if !key.verifies(parts.signed.as_bytes(), &parts.signature) {
        return Err(ReceiptError::Signature);
    }
    let claims: ReceiptClaims =
        serde_json::from_slice(&parts.payload).map_err(|error| ReceiptError::Content(error.to_string()))?;
    if claims.ver != VERSION {
        return Err(ReceiptError::Content(format!("it has version {}, not {VERSION}", claims.ver)));
    }
    let mut steps = vec![format!("signature by receipt key {}", parts.kid)];

    let head = &claims.audit.head;
    let head_key = keys.find(&head.kid, ReceiptKeyPurpose::AuditHead);
    let head_key = head_key.ok_or_else(|| unknown(&head.kid, ReceiptKeyPurpose::AuditHead))?;
    let root = hash(&head.root).ok_or(ReceiptError::HeadSignature)?;
    let signed = signed_head(head, &root).ok_or(ReceiptError::HeadSignature)?;
    if !head_key.verifies(&signed.0, &signed.1) {
        return Err(ReceiptError::HeadSignature);
    }
    steps.push(format!("signature of the audit head over {} records", head.size));

    let records = verify_records(&claims, &root)?;
    let numbers: Vec<String> = records.iter().map(|record| record.columns.seq.to_string()).collect();
    steps.push(format!("places of audit records {} in the log", numbers.join(", ")));

    let facts = RecordedFacts::read(&records)?;
    if let Some(claim) = facts.difference(&claims) {
        return Err(ReceiptError::Contradiction(claim));
    }
    steps.push("request, decision, votes, sending and outcome, as the records say".to_owned());
    Ok(VerifiedReceipt { claims, steps })
}

/// Message and signature of a head.
fn signed_head(head: &AuditHead, root: &LogHash) -> Option<(Vec<u8>, [u8; 64])> {
    let signature = hex::decode(&head.signature)?.try_into().ok()?;
    Some((head_message(head.size, root, &hash(&head.mac)?, head.signed_at), signature))
}

/// Records in ascending order, each with a path to the root, all of this request.
fn verify_records(claims: &ReceiptClaims, root: &LogHash) -> Result<Vec<DisclosedRecord>, ReceiptError> {
    let mut records: Vec<DisclosedRecord> = Vec::new();
    for place in &claims.audit.records {
        let seq = place.seq;
        let wrong = |what| ReceiptError::Record { seq, what };
        let record = DisclosedRecord::read(seq, &place.members)?;
        let path: Option<Vec<LogHash>> = place.path.iter().map(|sibling| hash(sibling)).collect();
        let path = path.ok_or(wrong("its path is not hexadecimal"))?;
        let index = u64::try_from(seq).ok().and_then(|seq| seq.checked_sub(1));
        let found = index.and_then(|index| root_from_path(record.leaf, index, claims.audit.head.size, &path));
        if found != Some(*root) {
            return Err(wrong("its content or place is not the one that the signed head covers"));
        }
        if records.last().is_some_and(|last| last.columns.seq >= seq) {
            return Err(wrong("it is out of order"));
        }
        let follows = record.columns.ref_seq;
        let belongs = match &record.columns.txn_id {
            Some(txn) => *txn == claims.sub,
            None => records.iter().any(|earlier| Some(earlier.columns.seq) == follows),
        };
        if !belongs || record.columns.workspace_id.as_ref() != Some(&claims.workspace.id) {
            return Err(wrong("it is of another request"));
        }
        records.push(record);
    }
    Ok(records)
}

fn hash(text: &str) -> Option<LogHash> {
    let bytes = hex::decode(text)?;
    bytes.try_into().ok().filter(|bytes: &LogHash| hex::encode(bytes) == text)
}
