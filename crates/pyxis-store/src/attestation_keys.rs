//! Keys that sign attestations: their numbers, and the public halves that verifiers know.

use pyxis_core::clock::UnixMillis;

use crate::db::{row, sql, stored_enum};
use crate::{Executor, StoreError};

stored_enum! {
    /// How a key signs.
    pub Scheme {
        /// Ed25519, for Move contracts.
        Ed25519 = "ed25519",
        /// secp256k1 over EIP-712, for EVM contracts.
        Eip712 = "eip712",
    }
}

row! {
    /// A key.
    pub KeyRow: "attestation_keys", key_columns {
        /// Number; the private half is derived from it.
        id: i64,
        /// How it signs.
        scheme: Scheme,
        /// The public key, or the address on EVM chains, in lower case with `0x`.
        public_key: String,
        /// Since when it signs.
        created_at: UnixMillis,
        /// Since when it signs no longer.
        retired_at: Option<UnixMillis>,
    }
}

/// Every key, newest first.
pub async fn list(executor: impl Executor) -> Result<Vec<KeyRow>, StoreError> {
    executor.all(sql(concat!("SELECT ", key_columns!(), " FROM attestation_keys ORDER BY id DESC"))).await
}

/// The key that signs.
pub async fn active(executor: impl Executor, scheme: Scheme) -> Result<Option<KeyRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        key_columns!(),
        " FROM attestation_keys WHERE scheme = $1 AND retired_at IS NULL"
    ));
    executor.optional(query.bind(scheme)).await
}

/// Adds a key that signs from now on; whether it is the one. It is not while another signs.
pub async fn insert(executor: impl Executor, new: &KeyRow) -> Result<bool, StoreError> {
    let query = sql("INSERT INTO attestation_keys (id, scheme, public_key, created_at) \
         VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING")
    .bind(new.id)
    .bind(new.scheme)
    .bind(&new.public_key)
    .bind(new.created_at);
    Ok(executor.execute(query).await? == 1)
}

/// Ends a key; whether it was signing.
pub async fn retire(executor: impl Executor, id: i64, now: UnixMillis) -> Result<bool, StoreError> {
    let query = sql("UPDATE attestation_keys SET retired_at = $1 WHERE id = $2 AND retired_at IS NULL");
    Ok(executor.execute(query.bind(now).bind(id)).await? == 1)
}
