//! Keys that sign receipts: numbers and public keys.

use pyxis_core::clock::UnixMillis;

use crate::db::{row, sql};
use crate::{Executor, StoreError};

row! {
    /// A key that signs receipts.
    pub ReceiptKeyRow: "receipt_keys", receipt_key_columns {
        /// Number from which the private key is derived. The greatest one signs.
        number: i64,
        /// Ed25519 public key: hex with `0x`.
        public_key: String,
        /// Time from which it signs.
        created_at: UnixMillis,
        /// Time from which it is no longer trusted.
        withdrawn_at: Option<UnixMillis>,
    }
}

/// All keys, newest first.
pub async fn list(executor: impl Executor) -> Result<Vec<ReceiptKeyRow>, StoreError> {
    let query = concat!("SELECT ", receipt_key_columns!(), " FROM receipt_keys ORDER BY number DESC");
    executor.all(sql(query)).await
}

/// Adds a key. Returns false if another key took its number.
pub async fn insert(executor: impl Executor, new: &ReceiptKeyRow) -> Result<bool, StoreError> {
    let query = sql("INSERT INTO receipt_keys (number, public_key, created_at) \
         VALUES ($1, $2, $3) ON CONFLICT DO NOTHING");
    let query = query.bind(new.number).bind(&new.public_key).bind(new.created_at);
    Ok(executor.execute(query).await? == 1)
}

/// Ends the trust in every key before `number`. Returns how many there were.
pub async fn withdraw_before(
    executor: impl Executor,
    number: i64,
    now: UnixMillis,
) -> Result<u64, StoreError> {
    let query = sql("UPDATE receipt_keys SET withdrawn_at = $1 WHERE number < $2 AND withdrawn_at IS NULL");
    executor.execute(query.bind(now).bind(number)).await
}
