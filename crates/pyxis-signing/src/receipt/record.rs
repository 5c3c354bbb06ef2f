//! Audit records as receipts show them.

use std::collections::BTreeMap;

use pyxis_core::audit_decision::AuditDecision;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::hex;
use pyxis_core::merkle_log::{LogHash, leaf_hash};
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::error::ReceiptError;

/// Members that receipts show. Others may contain free text, and are withheld.
const SHOWN: &[&str] = &[
    "record",
    "detail.agent_only",
    "detail.approvals",
    "detail.asked_digest",
    "detail.bytes",
    "detail.channel",
    "detail.chat.account",
    "detail.chat.label",
    "detail.chat.platform",
    "detail.digest",
    "detail.door",
    "detail.error",
    "detail.expires_at",
    "detail.max_uses",
    "detail.min_approvals",
    "detail.opened_by",
    "detail.passkey.id",
    "detail.passkey.name",
    "detail.redactions",
    "detail.rule",
    "detail.surface",
    "detail.target",
    "detail.token",
    "detail.tool",
];

/// True for members of records that a receipt shows.
pub fn is_shown(name: &str) -> bool {
    SHOWN.contains(&name)
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RecordColumns {
    pub(super) seq: i64,
    pub(super) at: String,
    pub(super) kind: String,
    pub(super) actor: String,
    pub(super) actor_name: String,
    pub(super) workspace_id: Option<String>,
    pub(super) ref_seq: Option<i64>,
    pub(super) credential: Option<String>,
    pub(super) decision: Option<String>,
    pub(super) method: Option<String>,
    pub(super) host: Option<String>,
    pub(super) txn_id: Option<String>,
    pub(super) grant_id: Option<String>,
    pub(super) status: Option<i64>,
}

/// A record with the members that are shown.
#[derive(Clone, Debug, PartialEq)]
pub struct DisclosedRecord {
    pub(super) columns: RecordColumns,
    detail: BTreeMap<String, Value>,
    pub(super) leaf: LogHash,
}

impl DisclosedRecord {
    /// Reads members: texts of shown ones, hashes of withheld ones.
    pub fn read(seq: i64, members: &[String]) -> Result<Self, ReceiptError> {
        let damaged = |what: &'static str| ReceiptError::Record { seq, what };
        let (mut columns, mut detail, mut content) = (None, BTreeMap::new(), Vec::new());
        for member in members {
            if !member.starts_with('[') {
                let hash =
                    hex::decode(member).filter(|hash| hash.len() == 32 && hex::encode(hash) == *member);
                content.extend(hash.ok_or(damaged("a withheld member is not a SHA-256"))?);
                continue;
            }
            content.extend(Sha256::digest(member.as_bytes()));
            let (_, name, value): (String, String, Value) = serde_json::from_str(member)
                .map_err(|_| damaged("a member is not a salt, a name and a value"))?;
            if name == "record" {
                let parsed =
                    serde_json::from_value(value).map_err(|_| damaged("its columns are not as expected"))?;
                columns = Some(parsed);
            } else {
                detail.insert(name, value);
            }
        }
        let columns: RecordColumns = columns.ok_or(damaged("its columns are withheld"))?;
        if columns.seq != seq {
            return Err(damaged("it has another number"));
        }
        Ok(Self { columns, detail, leaf: leaf_hash(&content) })
    }

    /// Event of the record.
    pub fn event(&self) -> Option<AuditEvent> {
        AuditEvent::from_name(&self.columns.kind)
    }

    /// Decision about the request; `None` for a word that only a newer version knows.
    pub fn decision(&self) -> Option<AuditDecision> {
        AuditDecision::from_name(self.columns.decision.as_deref()?)
    }

    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.detail.get(name)?.as_str().map(str::to_owned)
    }

    pub(super) fn number(&self, name: &str) -> Option<i64> {
        self.detail.get(name)?.as_i64()
    }

    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        self.detail.get(name)?.as_bool()
    }
}
