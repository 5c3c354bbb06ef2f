//! Sign-ins of the widget: nonces, used once, and the short sessions that they open.

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{ApiKeyId, ScorerId};

use crate::db::{row, sql};
use crate::{Executor, Store, StoreError};

row! {
    /// A nonce that was not used yet. Its text is not stored.
    pub WidgetNonceRow: "widget_nonces", widget_nonce_columns {
        /// SHA-256 of the nonce, hex.
        nonce_hash: String,
        /// Publishable key of the page.
        api_key_id: ApiKeyId,
        /// Origin of the page.
        origin: String,
        /// Address that will sign.
        address: EvmAddress,
        /// Chain of the message.
        chain_id: i64,
        /// Expiry time.
        expires_at: UnixMillis,
    }
}

row! {
    /// A session of an address in a page. The token text is not stored.
    pub WidgetSessionRow: "widget_sessions", widget_session_columns {
        /// SHA-256 of the token, hex.
        token_hash: String,
        /// Publishable key of the page.
        api_key_id: ApiKeyId,
        /// The one scorer.
        scorer_id: ScorerId,
        /// Origin of the page.
        origin: String,
        /// Address that signed in.
        address: EvmAddress,
        /// Creation time.
        created_at: UnixMillis,
        /// Expiry time.
        expires_at: UnixMillis,
    }
}

/// Adds a nonce. Its hash must be new.
pub async fn insert_nonce(executor: impl Executor, new: &WidgetNonceRow) -> Result<(), StoreError> {
    let query =
        sql("INSERT INTO widget_nonces (nonce_hash, api_key_id, origin, address, chain_id, expires_at) \
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING")
        .bind(&new.nonce_hash)
        .bind(new.api_key_id)
        .bind(&new.origin)
        .bind(new.address)
        .bind(new.chain_id)
        .bind(new.expires_at);
    crate::db::insert(executor, query).await
}

/// Uses a nonce up. At most one of several callers gets the row, expired or not.
pub async fn take_nonce(
    executor: impl Executor,
    nonce_hash: &str,
) -> Result<Option<WidgetNonceRow>, StoreError> {
    let query =
        sql(concat!("DELETE FROM widget_nonces WHERE nonce_hash = $1 RETURNING ", widget_nonce_columns!()));
    Ok(executor.returning(query.bind(nonce_hash)).await?.pop())
}

/// Adds a session. Its hash must be new.
pub async fn insert(executor: impl Executor, new: &WidgetSessionRow) -> Result<(), StoreError> {
    let query = sql(
        "INSERT INTO widget_sessions (token_hash, api_key_id, scorer_id, origin, address, created_at, expires_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING",
    )
    .bind(&new.token_hash)
    .bind(new.api_key_id)
    .bind(new.scorer_id)
    .bind(&new.origin)
    .bind(new.address)
    .bind(new.created_at)
    .bind(new.expires_at);
    crate::db::insert(executor, query).await
}

/// The session with this token, if it lasts.
pub async fn find(
    executor: impl Executor,
    token_hash: &str,
    now: UnixMillis,
) -> Result<Option<WidgetSessionRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        widget_session_columns!(),
        " FROM widget_sessions WHERE token_hash = $1 AND expires_at > $2"
    ));
    executor.optional(query.bind(token_hash).bind(now)).await
}

/// Ends a session. Returns true if the key had it.
pub async fn remove(executor: impl Executor, key: ApiKeyId, token_hash: &str) -> Result<bool, StoreError> {
    let query = sql("DELETE FROM widget_sessions WHERE token_hash = $1 AND api_key_id = $2");
    Ok(executor.execute(query.bind(token_hash).bind(key)).await? == 1)
}

/// Deletes expired nonces and sessions. Returns their number.
pub async fn purge(store: &Store, now: UnixMillis) -> Result<u64, StoreError> {
    let nonces = store.execute(sql("DELETE FROM widget_nonces WHERE expires_at <= $1").bind(now)).await?;
    let sessions = store.execute(sql("DELETE FROM widget_sessions WHERE expires_at <= $1").bind(now)).await?;
    Ok(nonces + sessions)
}
