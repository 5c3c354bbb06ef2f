//! Pending passkey ceremonies: challenges that were issued and not answered yet.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{CeremonyId, UserId};

use crate::db::{row, sql, stored_enum};
use crate::{Executor, StoreError};

stored_enum! {
    /// Purpose of a ceremony. An answer for one purpose is not valid for another.
    pub Purpose {
        /// Registering a passkey.
        Register = "register",
        /// Signing in.
        SignIn = "sign_in",
        /// Deciding an approval request.
        Decide = "decide",
        /// Applying one's own policy proposal.
        Policy = "policy",
    }
}

row! {
    /// A pending challenge.
    pub CeremonyRow: "ceremonies", ceremony_columns {
        /// Random identifier, known only to the requester.
        id: CeremonyId,
        /// User who must answer. `None` if the passkey determines who signs in.
        user_id: Option<UserId>,
        /// Purpose of the ceremony.
        purpose: Purpose,
        /// Data that the ceremony is bound to, in one line.
        binding: String,
        /// The challenge and further data for verification, as JSON.
        state: String,
        /// Expiry time.
        expires_at: UnixMillis,
    }
}

/// Adds a ceremony. The id must be new.
pub async fn insert(executor: impl Executor, new: &CeremonyRow) -> Result<(), StoreError> {
    let query = sql("INSERT INTO ceremonies (id, user_id, purpose, binding, state, expires_at) \
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING")
    .bind(new.id)
    .bind(new.user_id)
    .bind(new.purpose)
    .bind(&new.binding)
    .bind(&new.state)
    .bind(new.expires_at);
    crate::db::insert(executor, query).await
}

/// Takes a ceremony permanently, whatever its result. Only one of several callers gets it, and none after its expiry.
pub async fn consume(
    executor: impl Executor,
    id: CeremonyId,
    now: UnixMillis,
) -> Result<Option<CeremonyRow>, StoreError> {
    let query = sql(concat!(
        "DELETE FROM ceremonies WHERE id = $1 AND expires_at > $2 RETURNING ",
        ceremony_columns!()
    ));
    Ok(executor.returning(query.bind(id).bind(now)).await?.pop())
}

/// Deletes expired ceremonies. Returns their number.
pub async fn purge(executor: impl Executor, now: UnixMillis) -> Result<u64, StoreError> {
    executor.execute(sql("DELETE FROM ceremonies WHERE expires_at <= $1").bind(now)).await
}
