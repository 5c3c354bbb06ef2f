//! The audit trail: a chain in which each record's MAC covers the record and the previous MAC.
//!
//! A request and its outcome are two records; the outcome's `ref_seq` is the request's `seq`. Records are never changed
//! or removed, and [`verify`] reports the first one that was.

mod append;
mod appender;
mod change;
mod checkpoint;
mod disclosure;
mod open_requests;
mod ordered;
mod recorded_event;
mod search;
mod tree;
mod verify;

use hmac::{Hmac, Mac};
use pyxis_core::actor::ActorId;
use pyxis_core::audit_decision::AuditDecision;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::clock::UnixMillis;
use pyxis_core::hex;
use pyxis_core::id::{GrantId, TxnId, WorkspaceId};
use pyxis_core::policy::Method;
use sha2::Sha256;

use crate::cipher::Keyring;
use crate::db::{Bind, FromRow, Row, Value};
use crate::{StoreError, StoredName};

pub use append::append_in;
pub use appender::Appender;
pub use change::{AuditedStore, Change};
pub use checkpoint::{Checkpoint, CheckpointError, HeadMatch, checkpoint, find_head, newest};
pub use disclosure::Disclosure;
pub use open_requests::open_between;
pub use ordered::AuditColumn;
pub use recorded_event::RecordedEvent;
pub use search::{
    AuditEntry, AuditFilter, Tally, decisions_over_time, entries, head_seq, of_transaction, outcome_of,
    recent_forwards, requests_over_time, search, sent_without_outcome, stream,
};
pub use tree::{ProvenRecord, TreeEnd, TreeError, TreeHead, TreeProgress, end_after, extend_tree, prove};
pub use verify::{ChainVerdict, Damage, DamageKind, verify};

/// Length of HMAC-SHA256, in bytes.
pub(crate) const MAC_BYTES: usize = 32;
/// MAC of a record.
pub type ChainMac = [u8; MAC_BYTES];

/// A record to append.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditRecord {
    /// Time of the event.
    pub at: UnixMillis,
    /// Workspace; `None` for events of the installation.
    pub workspace_id: Option<WorkspaceId>,
    pub event: RecordedEvent,
    /// Number of the record that this one follows up.
    pub ref_seq: Option<i64>,
    /// Author of the event.
    pub actor: ActorId,
    /// Actor name at that time.
    pub actor_name: String,
    /// Credential name.
    pub credential: Option<String>,
    /// Decision about the request.
    pub decision: Option<StoredName<AuditDecision>>,
    /// HTTP method.
    pub method: Option<StoredName<Method>>,
    /// Host name of the target.
    pub host: Option<String>,
    /// Transaction id of the approval request.
    pub txn_id: Option<TxnId>,
    /// Id of the grant that allowed it.
    pub grant_id: Option<GrantId>,
    /// HTTP status of the response.
    pub status: Option<i64>,
    /// Further data as a JSON object, without secrets.
    pub detail: String,
}

/// A stored record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRow {
    /// Position in the chain, from 1 without gaps.
    pub seq: i64,
    /// Content of the record.
    pub record: AuditRecord,
    /// MAC over the record and the previous MAC.
    pub mac: Vec<u8>,
}

macro_rules! audit_columns {
    ($of:literal) => {
        concat!(
            $of,
            ".seq, ",
            $of,
            ".at, ",
            $of,
            ".workspace_id, ",
            $of,
            ".kind, ",
            $of,
            ".ref_seq, ",
            $of,
            ".actor, ",
            $of,
            ".actor_name, ",
            $of,
            ".credential, ",
            $of,
            ".decision, ",
            $of,
            ".method, ",
            $of,
            ".host, ",
            $of,
            ".txn_id, ",
            $of,
            ".grant_id, ",
            $of,
            ".status, ",
            $of,
            ".detail, ",
            $of,
            ".mac"
        )
    };
}
pub(crate) use audit_columns;

/// Condition for requests that were sent without asking a person, and for WebSockets, whose approval ends when they
/// open.
macro_rules! sent_without_asking {
    () => {
        "(r.kind = 'forward' AND r.decision IN ('auto', 'grant', 'task') \
         OR r.kind = 'execute' AND r.method = 'WEBSOCKET')"
    };
}
pub(crate) use sent_without_asking;

impl FromRow for AuditRow {
    const TABLE: &'static str = "audit_records";

    fn from_row(row: &mut Row<'_>) -> Result<Self, StoreError> {
        let seq = row.take("seq")?;
        read_rest(seq, row)
    }
}

/// Reads the columns after `seq`.
fn read_rest(seq: i64, row: &mut Row<'_>) -> Result<AuditRow, StoreError> {
    let record = AuditRecord {
        at: row.take("at")?,
        workspace_id: row.take("workspace_id")?,
        event: RecordedEvent::read(row.take("kind")?),
        ref_seq: row.take("ref_seq")?,
        actor: row.take("actor")?,
        actor_name: row.take("actor_name")?,
        credential: row.take("credential")?,
        decision: row.take("decision")?,
        method: row.take("method")?,
        host: row.take("host")?,
        txn_id: row.take("txn_id")?,
        grant_id: row.take("grant_id")?,
        status: row.take("status")?,
        detail: row.take("detail")?,
    };
    Ok(AuditRow { seq, record, mac: row.take("mac")? })
}

impl AuditRecord {
    /// Creates an otherwise empty record of `event`.
    pub fn new(at: UnixMillis, event: AuditEvent) -> Self {
        Self { at, event: event.into(), detail: "{}".to_owned(), ..Self::default() }
    }

    /// INSERT parameters in column order.
    fn into_values(self, seq: i64, mac: &ChainMac) -> Vec<Value> {
        vec![
            seq.bind(),
            self.at.bind(),
            self.workspace_id.bind(),
            self.event.into_stored().bind(),
            self.ref_seq.bind(),
            (&self.actor).bind(),
            self.actor_name.bind(),
            self.credential.bind(),
            self.decision.bind(),
            self.method.bind(),
            self.host.bind(),
            self.txn_id.bind(),
            self.grant_id.bind(),
            self.status.bind(),
            self.detail.bind(),
            mac.to_vec().bind(),
        ]
    }

    /// Writes every column with a tag and its length, so that no two records have the same bytes.
    fn encode(&self, seq: i64, out: &mut Vec<u8>) {
        put_int(out, Some(seq));
        put_int(out, Some(self.at.0));
        put_id(out, self.workspace_id.as_ref());
        put_text(out, Some(self.event.as_stored()));
        put_int(out, self.ref_seq);
        put_display(out, &self.actor);
        put_text(out, Some(&self.actor_name));
        put_text(out, self.credential.as_deref());
        put_text(out, self.decision.as_ref().map(StoredName::as_str));
        put_text(out, self.method.as_ref().map(StoredName::as_str));
        put_text(out, self.host.as_deref());
        put_id(out, self.txn_id.as_ref());
        put_id(out, self.grant_id.as_ref());
        put_int(out, self.status);
        put_text(out, Some(&self.detail));
    }
}

fn put_int(out: &mut Vec<u8>, value: Option<i64>) {
    match value {
        Some(value) => {
            out.push(1);
            out.extend_from_slice(&value.to_be_bytes());
        }
        None => out.push(0),
    }
}

fn put_text(out: &mut Vec<u8>, value: Option<&str>) {
    match value {
        Some(text) => {
            out.push(2);
            out.extend_from_slice(&(text.len() as u64).to_be_bytes());
            out.extend_from_slice(text.as_bytes());
        }
        None => out.push(0),
    }
}

/// Writes a value as [`put_text`] writes its text, without allocating.
fn put_display(out: &mut Vec<u8>, value: &impl std::fmt::Display) {
    use std::io::Write;
    out.push(2);
    let length = out.len();
    out.extend_from_slice(&[0; 8]);
    let start = out.len();
    // Writing to a Vec does not fail.
    let _ = write!(out, "{value}");
    let written = (out.len() - start) as u64;
    out[length..start].copy_from_slice(&written.to_be_bytes());
}

/// Writes an id as text without allocating a String. It is always 36 bytes long.
fn put_id(out: &mut Vec<u8>, value: Option<&impl std::fmt::Display>) {
    use std::io::Write;
    match value {
        Some(id) => {
            out.push(3);
            // Writing to a Vec does not fail.
            let _ = write!(out, "{id}");
        }
        None => out.push(0),
    }
}

/// Keys of the chain. Both are derived from the keyring, so neither is stored.
#[derive(Clone)]
pub struct AuditKeys {
    /// Keyed once. Cloning it saves two hash blocks per record.
    mac: Hmac<Sha256>,
    signing: ed25519_dalek::SigningKey,
}

impl AuditKeys {
    /// Derives the keys of a database.
    pub fn new(keyring: &Keyring) -> Self {
        let mut seed = zeroize::Zeroizing::new([0; 32]);
        seed.copy_from_slice(keyring.derive("audit-checkpoint").expose());
        Self {
            mac: crate::cipher::hmac(keyring.derive("audit-chain").expose()),
            signing: ed25519_dalek::SigningKey::from_bytes(&seed),
        }
    }

    /// Public key of checkpoints (Ed25519), for external verification.
    pub fn verifying_key(&self) -> [u8; 32] {
        self.signing.verifying_key().to_bytes()
    }

    /// MAC of a note about the trail that the database keeps, as hexadecimal digits. Without the key, no one can
    /// change it there. No record begins with these bytes.
    pub fn seal(&self, note: &str) -> String {
        let mut mac = self.mac.clone();
        mac.update(b"pyxis note: ");
        mac.update(note.as_bytes());
        hex::encode(&mac.finalize().into_bytes())
    }

    /// MAC of a record after `before`. `scratch` is a reusable buffer and is cleared first.
    fn chain(&self, scratch: &mut Vec<u8>, seq: i64, record: &AuditRecord, before: &[u8]) -> ChainMac {
        scratch.clear();
        record.encode(seq, scratch);
        scratch.extend_from_slice(before);
        let mut mac = self.mac.clone();
        mac.update(scratch);
        mac.finalize().into_bytes().into()
    }
}

impl std::fmt::Debug for AuditKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AuditKeys(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_condition_for_requests_without_asking_names_each_such_decision() {
        for decision in AuditDecision::ALL {
            let quoted = format!("'{decision}'");
            assert_eq!(sent_without_asking!().contains(&quoted), decision.passes(), "{decision}");
        }
    }
}
