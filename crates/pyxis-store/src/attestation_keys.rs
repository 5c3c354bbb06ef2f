//! Keys that sign attestations: numbers and public keys, as verifiers know them.

use pyxis_core::clock::UnixMillis;

use crate::db::{row, sql, stored_enum};
use crate::{Executor, StoreError};

stored_enum! {
    /// Signature scheme.
    pub Scheme {
        /// Ed25519, for Move contracts.
        Ed25519 = "ed25519",
        /// secp256k1 over EIP-712, for EVM contracts.
        Eip712 = "eip712",
    }
}

row! {
    pub KeyRow: "attestation_keys", key_columns {
        /// Key number, from which the private key is derived.
        id: i64,
        /// Signature scheme.
        scheme: Scheme,
        /// Public key, or the address on EVM chains, in lower case with `0x`.
        public_key: String,
        /// Time from which the key signs.
        created_at: UnixMillis,
        /// Time when the key stopped signing.
        retired_at: Option<UnixMillis>,
    }
}

/// All keys, newest first.
pub async fn list(executor: impl Executor) -> Result<Vec<KeyRow>, StoreError> {
    executor.all(sql(concat!("SELECT ", key_columns!(), " FROM attestation_keys ORDER BY id DESC"))).await
}

/// The current signing key of a scheme.
pub async fn active(executor: impl Executor, scheme: Scheme) -> Result<Option<KeyRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        key_columns!(),
        " FROM attestation_keys WHERE scheme = $1 AND retired_at IS NULL"
    ));
    executor.optional(query.bind(scheme)).await
}

/// Adds a key that signs from now on. Returns false if another key is active.
pub async fn insert(executor: impl Executor, new: &KeyRow) -> Result<bool, StoreError> {
    let query = sql("INSERT INTO attestation_keys (id, scheme, public_key, created_at) \
         VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING")
    .bind(new.id)
    .bind(new.scheme)
    .bind(&new.public_key)
    .bind(new.created_at);
    Ok(executor.execute(query).await? == 1)
}

/// Retires a key. Returns true if it was active.
pub async fn retire(executor: impl Executor, id: i64, now: UnixMillis) -> Result<bool, StoreError> {
    let query = sql("UPDATE attestation_keys SET retired_at = $1 WHERE id = $2 AND retired_at IS NULL");
    Ok(executor.execute(query.bind(now).bind(id)).await? == 1)
}
