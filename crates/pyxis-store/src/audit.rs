//! The audit log: a chain in which every record's MAC covers the record and the MAC before it.
//!
//! A request and its outcome are two records; the outcome's `ref_seq` is the request's `seq`. Nothing is
//! ever changed or removed, and [`verify`] names the first record that was.

mod append;
mod appender;
mod change;
mod checkpoint;
mod ordered;
mod search;
mod verify;

use std::borrow::Cow;

use hmac::{Hmac, Mac};
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{GrantId, TxnId, WorkspaceId};
use sha2::Sha256;

use crate::StoreError;
use crate::cipher::Keyring;
use crate::db::{Bind, FromRow, Row, Value};

pub use append::append_in;
pub use appender::Appender;
pub use change::commit_change;
pub use checkpoint::{Checkpoint, CheckpointError, checkpoint, holds};
pub use ordered::AuditColumn;
pub use search::{
    AuditEntry, AuditFilter, Tally, decisions_over_time, entries, recent_forwards, requests_over_time,
    search, stream,
};
pub use verify::{ChainVerdict, Damage, DamageKind, verify};

/// The kind of a record that says how an earlier one ended.
pub const OUTCOME: &str = "outcome";
/// The kind of a record that says that a request is about to be forwarded, or why it is not.
pub const FORWARD: &str = "forward";

/// HMAC-SHA256.
pub(crate) const MAC_BYTES: usize = 32;
pub(crate) type ChainMac = [u8; MAC_BYTES];

/// A record to append.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditRecord {
    /// When it happened.
    pub at: UnixMillis,
    /// Workspace; `None` for what concerns the installation.
    pub workspace_id: Option<WorkspaceId>,
    /// What happened, for example `forward`, `outcome`, `approval.approved`, `policy.put`.
    pub kind: Cow<'static, str>,
    /// The record that this one follows up.
    pub ref_seq: Option<i64>,
    /// Who, for example `agent:<id>`, `user:<id>`, `system`.
    pub actor: String,
    /// Their name at that time.
    pub actor_name: String,
    /// Name of the credential.
    pub credential: Option<String>,
    /// What was decided.
    pub decision: Option<Cow<'static, str>>,
    /// HTTP method.
    pub method: Option<String>,
    /// Host of the target.
    pub host: Option<String>,
    /// Approval.
    pub txn_id: Option<TxnId>,
    /// Grant.
    pub grant_id: Option<GrantId>,
    /// HTTP status.
    pub status: Option<i64>,
    /// The rest, as a JSON object. No secrets.
    pub detail: String,
}

/// A stored record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRow {
    /// Place in the chain, from 1 without gaps.
    pub seq: i64,
    /// What was recorded.
    pub record: AuditRecord,
    /// MAC over the record and the MAC before it.
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
        kind: row.take("kind")?,
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
    /// An empty record of `kind`.
    pub fn new(at: UnixMillis, kind: &'static str) -> Self {
        Self { at, kind: Cow::Borrowed(kind), detail: "{}".to_owned(), ..Self::default() }
    }

    /// The parameters of the INSERT, in the order of the columns.
    fn into_values(self, seq: i64, mac: &ChainMac) -> Vec<Value> {
        vec![
            seq.bind(),
            self.at.bind(),
            self.workspace_id.bind(),
            self.kind.bind(),
            self.ref_seq.bind(),
            self.actor.bind(),
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

    /// Every column, with a tag and its length, so that no two records give the same bytes.
    fn encode(&self, seq: i64, out: &mut Vec<u8>) {
        put_int(out, Some(seq));
        put_int(out, Some(self.at.0));
        put_id(out, self.workspace_id.as_ref());
        put_text(out, Some(&self.kind));
        put_int(out, self.ref_seq);
        put_text(out, Some(&self.actor));
        put_text(out, Some(&self.actor_name));
        put_text(out, self.credential.as_deref());
        put_text(out, self.decision.as_deref());
        put_text(out, self.method.as_deref());
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

/// The same as text, without a String in between: an identifier is always 36 bytes.
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

/// The keys of the chain: both derived from the keyring, so neither is stored by itself.
#[derive(Clone)]
pub struct AuditKeys {
    /// Keyed once; a clone of it saves two blocks of hashing for each record.
    mac: Hmac<Sha256>,
    signing: ed25519_dalek::SigningKey,
}

impl AuditKeys {
    /// The keys of a database.
    pub fn new(keyring: &Keyring) -> Self {
        let mut seed = zeroize::Zeroizing::new([0; 32]);
        seed.copy_from_slice(keyring.derive("audit-checkpoint").expose());
        Self {
            mac: crate::cipher::hmac(keyring.derive("audit-chain").expose()),
            signing: ed25519_dalek::SigningKey::from_bytes(&seed),
        }
    }

    /// The public key of checkpoints (Ed25519), for whoever verifies them elsewhere.
    pub fn verifying_key(&self) -> [u8; 32] {
        self.signing.verifying_key().to_bytes()
    }

    /// The MAC of a record after `before`. `scratch` is emptied first and kept for the next record.
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
