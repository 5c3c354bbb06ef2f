//! Keys that sign scores: numbers, public keys and times, as verifiers know them.

use pyxis_core::clock::UnixMillis;

use crate::db::{row, sql, stored_enum};
use crate::{Executor, StoreError};

stored_enum! {
    /// Form of a signed score.
    pub ScoreKeyScheme {
        /// ECDSA over P-256, for JSON Web Tokens.
        Es256 = "es256",
        /// secp256k1 over EIP-712, for EVM contracts.
        Eip712 = "eip712",
    }
}

row! {
    /// A key that signs scores.
    pub ScoreKeyRow: "score_keys", score_key_columns {
        /// Form that the key signs.
        scheme: ScoreKeyScheme,
        /// Number within the scheme, from which the private key is derived. Later keys have greater numbers.
        number: i64,
        /// Uncompressed point of `es256`, or the address of `eip712`: hex with `0x`.
        public_key: String,
        /// Time from which the key signs.
        signs_from: UnixMillis,
        /// Time of its creation, from which it is published.
        created_at: UnixMillis,
        /// Time from which it is no longer trusted.
        withdrawn_at: Option<UnixMillis>,
    }
}

/// All keys, newest first within each scheme.
pub async fn list(executor: impl Executor) -> Result<Vec<ScoreKeyRow>, StoreError> {
    let query =
        sql(concat!("SELECT ", score_key_columns!(), " FROM score_keys ORDER BY scheme, number DESC"));
    executor.all(query).await
}

/// Adds a key. Returns false if another key took its number.
pub async fn insert(executor: impl Executor, new: &ScoreKeyRow) -> Result<bool, StoreError> {
    let query = sql("INSERT INTO score_keys (scheme, number, public_key, signs_from, created_at) \
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING")
    .bind(new.scheme)
    .bind(new.number)
    .bind(&new.public_key)
    .bind(new.signs_from)
    .bind(new.created_at);
    Ok(executor.execute(query).await? == 1)
}

/// Ends the trust in every key of a scheme before `number`. Returns how many there were.
pub async fn withdraw_before(
    executor: impl Executor,
    scheme: ScoreKeyScheme,
    number: i64,
    now: UnixMillis,
) -> Result<u64, StoreError> {
    let query = sql("UPDATE score_keys SET withdrawn_at = $1 \
         WHERE scheme = $2 AND number < $3 AND withdrawn_at IS NULL")
    .bind(now)
    .bind(scheme)
    .bind(number);
    executor.execute(query).await
}
