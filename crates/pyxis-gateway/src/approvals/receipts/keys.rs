//! Keys that sign receipts. The private half is derived from the installation's keys and the key's number. So every
//! node has it, and it is never stored; a rotation uses the next number.
//!
//! Receipts do not expire, so earlier keys stay published. They belong to the installation: managers of its first
//! workspace rotate them.

use pyxis_core::actor::Actor;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::clock::UnixMillis;
use pyxis_core::hex;
use pyxis_signing::keys::{Algorithm, SigningKey};
use pyxis_signing::receipt::{ReceiptKeyPurpose, ReceiptKeySet, ReceiptPublicKey};
use pyxis_store::audit::AuditKeys;
use pyxis_store::cipher::Keyring;
use pyxis_store::receipt_keys::{self, ReceiptKeyRow};
use pyxis_store::workspaces;
use serde_json::json;

use crate::error::{Error, Result};
use crate::runtime::state::State;

/// Attempts to add a key while other nodes do the same.
const ATTEMPTS: usize = 8;

/// The key that signs, in both halves.
pub(super) struct ActiveKey {
    pub(super) public: ReceiptPublicKey,
    pub(super) private: SigningKey,
}

/// A key and its name.
#[derive(Clone, Debug)]
pub struct ListedReceiptKey {
    pub row: ReceiptKeyRow,
    /// `kid` of the receipts that it signed.
    pub kid: String,
    /// `active`, `retired` or `withdrawn`.
    pub status: &'static str,
}

/// Every key, newest first. The first one is created on first use.
pub async fn list(state: &State) -> Result<Vec<ListedReceiptKey>> {
    let rows = rows(state).await?;
    let newest = rows.first().map(|row| row.number);
    rows.into_iter()
        .map(|row| {
            let status = match row.withdrawn_at {
                Some(_) => "withdrawn",
                None if Some(row.number) == newest => "active",
                None => "retired",
            };
            Ok(ListedReceiptKey { kid: public_key(&row)?.kid().to_owned(), status, row })
        })
        .collect()
}

/// The keys that verifiers should know: all receipt keys except withdrawn ones, and the key of audit heads.
pub async fn published(state: &State) -> Result<ReceiptKeySet> {
    let rows = rows(state).await?;
    let keys: Result<Vec<ReceiptPublicKey>> =
        rows.iter().filter(|row| row.withdrawn_at.is_none()).map(public_key).collect();
    let mut keys = keys?;
    keys.push(audit_key(&state.audit_keys));
    Ok(ReceiptKeySet { keys })
}

/// Adds a key that signs from now on. Earlier ones stay published unless others may know them.
pub async fn rotate(state: &State, actor: &Actor, compromised: bool) -> Result<ListedReceiptKey> {
    if !workspaces::is_first(&state.store, actor.workspace).await? {
        return Err(Error::Forbidden("receipt keys are managed in the first workspace of this installation"));
    }
    // Creates the first key, so that there is one to rotate.
    rows(state).await?;
    let mut change = state.audited.begin(actor).await?;
    let known = receipt_keys::list(&mut change.tx).await?;
    let number = known.first().map_or(1, |newest| newest.number + 1);
    let now = state.now();
    let row = new_row(&state.keyring, number, now)?;
    if !receipt_keys::insert(&mut change.tx, &row).await? {
        return Err(Error::Conflict("someone else just rotated this key; read the list of keys again"));
    }
    if compromised {
        receipt_keys::withdraw_before(&mut change.tx, number, now).await?;
    }
    let detail = json!({ "number": number, "public_key": row.public_key, "compromised": compromised });
    change.commit(AuditEvent::ReceiptKeyRotated, detail).await?;
    let new = list(state).await?.into_iter().find(|key| key.row.number == number);
    new.ok_or_else(|| Error::Internal("the new receipt key is not on the list".into()))
}

/// The key that signs receipts now.
pub(super) async fn signer(state: &State) -> Result<ActiveKey> {
    let rows = rows(state).await?;
    let newest = rows.first().ok_or_else(|| Error::Internal("there is no receipt key".into()))?;
    let private = private_key(&state.keyring, newest.number)?;
    if encoded(&private) != newest.public_key {
        return Err(Error::Internal("the receipt key belongs to another master key".into()));
    }
    Ok(ActiveKey { public: public_key(newest)?, private })
}

/// The key that signs heads of the audit trail.
pub(super) fn audit_key(audit_keys: &AuditKeys) -> ReceiptPublicKey {
    ReceiptPublicKey::new(ReceiptKeyPurpose::AuditHead, &audit_keys.verifying_key())
}

/// Every key, newest first, of which the newest signs.
async fn rows(state: &State) -> Result<Vec<ReceiptKeyRow>> {
    for _ in 0..ATTEMPTS {
        let rows = receipt_keys::list(&state.store).await?;
        if rows.first().is_some_and(|newest| newest.withdrawn_at.is_none()) {
            return Ok(rows);
        }
        let number = rows.first().map_or(1, |newest| newest.number + 1);
        receipt_keys::insert(&state.store, &new_row(&state.keyring, number, state.now())?).await?;
    }
    Err(Error::Internal("cannot create a receipt key".into()))
}

fn new_row(keyring: &Keyring, number: i64, now: UnixMillis) -> Result<ReceiptKeyRow> {
    let public_key = encoded(&private_key(keyring, number)?);
    Ok(ReceiptKeyRow { number, public_key, created_at: now, withdrawn_at: None })
}

fn private_key(keyring: &Keyring, number: i64) -> Result<SigningKey> {
    let seed = keyring.derive(&format!("receipt {number}"));
    SigningKey::new(Algorithm::Ed25519, seed.expose()).map_err(|error| Error::Internal(Box::new(error)))
}

fn encoded(key: &SigningKey) -> String {
    format!("0x{}", key.public_key())
}

fn public_key(row: &ReceiptKeyRow) -> Result<ReceiptPublicKey> {
    let bytes = hex::decode_prefixed(&row.public_key).and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
    let bytes = bytes.ok_or_else(|| Error::Internal("a stored receipt key is not 32 bytes".into()))?;
    Ok(ReceiptPublicKey::new(ReceiptKeyPurpose::Receipt, &bytes))
}
