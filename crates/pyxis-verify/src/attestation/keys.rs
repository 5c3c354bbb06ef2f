//! Attestation keys. The private half is derived from the installation's keys and the key's number. So every node has
//! it, and it is never stored; a rotation uses the next number.

use ed25519_dalek::SigningKey;
use pyxis_core::actor::Actor;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::clock::UnixMillis;
use pyxis_core::hex;
use pyxis_core::secret::SecretBytes;
use pyxis_store::attestation_keys::{self, KeyRow, Scheme};
use pyxis_store::cipher::Keyring;
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::error::{Error, Result};
use crate::service;
use crate::state::State;
use crate::values::SchemeName;

/// Attempts to add a key while other nodes do the same.
const ATTEMPTS: usize = 8;

/// Every key, newest first. Active keys are created on first use.
pub async fn list(state: &State) -> Result<Vec<KeyRow>> {
    active(state, Scheme::Ed25519).await?;
    active(state, Scheme::Eip712).await?;
    Ok(attestation_keys::list(&state.store).await?)
}

pub async fn active(state: &State, scheme: Scheme) -> Result<KeyRow> {
    for _ in 0..ATTEMPTS {
        if let Some(row) = attestation_keys::active(&state.store, scheme).await? {
            return Ok(row);
        }
        let known = attestation_keys::list(&state.store).await?;
        let row = new(&state.keyring, state.now(), scheme, known.first().map_or(1, |row| row.id + 1))?;
        attestation_keys::insert(&state.store, &row).await?;
    }
    Err(Error::Unavailable("others keep adding keys; try again".into()))
}

/// Retires the active key and activates a new one. Signatures of the old one can still be checked: it stays on the
/// list.
pub async fn rotate(state: &State, actor: &Actor, scheme: Scheme) -> service::Result<KeyRow> {
    service::require_first_workspace(&state.store, actor).await?;
    let old = active(state, scheme).await?;
    let mut change = state.audited.begin(actor).await?;
    let known = attestation_keys::list(&mut change.tx).await?;
    let row = new(&state.keyring, state.now(), scheme, known.first().map_or(1, |row| row.id + 1))?;
    let retired = attestation_keys::retire(&mut change.tx, old.id, state.now()).await?;
    if !retired || !attestation_keys::insert(&mut change.tx, &row).await? {
        return Err(service::Error::Conflict("someone else just rotated this key"));
    }
    let detail = json!({ "scheme": scheme.as_str(), "old": old.public_key, "new": row.public_key });
    change.commit(AuditEvent::AttestationKeyRotated, detail).await?;
    Ok(row)
}

/// The public form of a key.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AttestationKey {
    active: bool,
    /// Of eip712.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "0xd6fc34345bc8c8e5659a35bed9629d5558d48c4e")]
    address: Option<String>,
    /// Unix seconds.
    #[schema(example = 1_769_850_300)]
    created_at: i64,
    #[schema(example = 1)]
    id: i64,
    /// Of ed25519.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(
        nullable = false,
        example = "0xd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    )]
    public_key: Option<String>,
    #[schema(required, example = json!(null))]
    retired_at: Option<i64>,
    #[schema(value_type = SchemeName)]
    scheme: &'static str,
}

impl From<&KeyRow> for AttestationKey {
    fn from(row: &KeyRow) -> Self {
        let public = |scheme| (row.scheme == scheme).then(|| row.public_key.clone());
        Self {
            active: row.retired_at.is_none(),
            address: public(Scheme::Eip712),
            created_at: row.created_at.seconds(),
            id: row.id,
            public_key: public(Scheme::Ed25519),
            retired_at: row.retired_at.map(UnixMillis::seconds),
            scheme: row.scheme.as_str(),
        }
    }
}

fn new(keyring: &Keyring, now: UnixMillis, scheme: Scheme, id: i64) -> Result<KeyRow> {
    let public_key = match scheme {
        Scheme::Ed25519 => {
            format!("0x{}", hex::encode(&ed25519(keyring, id)?.verifying_key().to_bytes()))
        }
        Scheme::Eip712 => secp256k1(keyring, id)?.address().to_string(),
    };
    Ok(KeyRow { id, scheme, public_key, created_at: now, retired_at: None })
}

fn seed(keyring: &Keyring, scheme: Scheme, id: i64) -> SecretBytes {
    keyring.derive(&format!("attestation {} {id}", scheme.as_str()))
}

/// The private half of an Ed25519 key.
pub(super) fn ed25519(keyring: &Keyring, id: i64) -> Result<SigningKey> {
    let seed = seed(keyring, Scheme::Ed25519, id);
    let seed: &[u8; 32] = seed.expose().as_slice().try_into().map_err(|_| unusable())?;
    Ok(SigningKey::from_bytes(seed))
}

/// The private half of a secp256k1 key.
pub(super) fn secp256k1(keyring: &Keyring, id: i64) -> Result<pyxis_evm::EvmSigningKey> {
    let seed = seed(keyring, Scheme::Eip712, id);
    pyxis_evm::EvmSigningKey::from_bytes(seed.expose()).ok_or_else(unusable)
}

fn unusable() -> Error {
    Error::Internal("the derived bytes are not a key; rotate it".into())
}
