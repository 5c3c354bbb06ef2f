//! OAuth clients that registered themselves. Registration is anonymous, so they belong to no workspace.

use pyxis_core::clock::UnixMillis;

use crate::db::{row, sql};
use crate::{Executor, StoreError};

row! {
    /// A registered client. Its secret is not stored.
    pub RegisteredClientRow: "connection_clients", client_columns {
        /// Unique identifier, chosen by this server.
        id: String,
        /// Name that the program gives itself.
        name: String,
        /// SHA-256 of the secret, hex; `None` for a public client.
        secret_hash: Option<String>,
        /// JSON list of redirect URIs.
        redirect_uris: String,
        /// Time of the registration.
        created_at: UnixMillis,
        /// Time after which it is deleted, unless a connection uses it.
        expires_at: UnixMillis,
    }
}

/// Adds a client. Of those that no person has connected, the newest `most` stay: strangers can register without end, and
/// must not keep others out. The id must be new.
pub async fn insert(
    executor: impl Executor + Copy,
    new: &RegisteredClientRow,
    most: i64,
) -> Result<(), StoreError> {
    let query =
        sql("INSERT INTO connection_clients (id, name, secret_hash, redirect_uris, created_at, expires_at) \
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING")
        .bind(&new.id)
        .bind(&new.name)
        .bind(&new.secret_hash)
        .bind(&new.redirect_uris)
        .bind(new.created_at)
        .bind(new.expires_at);
    crate::db::insert(executor, query).await?;
    // One that a person consented to expires later than the newest that nobody did.
    let excess = sql("DELETE FROM connection_clients WHERE id IN (SELECT registered.id \
         FROM connection_clients registered WHERE registered.expires_at <= $1 AND NOT EXISTS \
         (SELECT 1 FROM agent_connections WHERE client_id = registered.id) \
         ORDER BY registered.expires_at DESC LIMIT 1000 OFFSET $2)");
    executor.execute(excess.bind(new.expires_at).bind(most)).await?;
    Ok(())
}

/// The client with this id, unless it has expired. One with a connection does not expire.
pub async fn find(
    executor: impl Executor,
    id: &str,
    now: UnixMillis,
) -> Result<Option<RegisteredClientRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        client_columns!(),
        " FROM connection_clients WHERE id = $1 AND (expires_at > $2 \
         OR EXISTS (SELECT 1 FROM agent_connections WHERE client_id = connection_clients.id))"
    ));
    executor.optional(query.bind(id).bind(now)).await
}

/// Keeps a client that was used until `expires_at`.
pub async fn extend(executor: impl Executor, id: &str, expires_at: UnixMillis) -> Result<(), StoreError> {
    let query = sql("UPDATE connection_clients SET expires_at = $1 WHERE id = $2 AND expires_at < $3");
    executor.execute(query.bind(expires_at).bind(id).bind(expires_at)).await?;
    Ok(())
}

/// Deletes expired clients without a connection.
pub(super) async fn purge(executor: impl Executor, now: UnixMillis) -> Result<u64, StoreError> {
    let query = sql("DELETE FROM connection_clients WHERE expires_at <= $1 \
         AND NOT EXISTS (SELECT 1 FROM agent_connections WHERE client_id = connection_clients.id)");
    executor.execute(query.bind(now)).await
}
