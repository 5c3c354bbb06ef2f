//! Passkey ceremonies under way: challenges that were handed out and not answered yet.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{CeremonyId, UserId};

use crate::db::{row, sql, stored_enum};
use crate::{Executor, StoreError};

stored_enum! {
    /// What a ceremony is for. An answer to one is no answer to another.
    pub Purpose {
        /// Registering a passkey.
        Register = "register",
        /// Signing in.
        SignIn = "sign_in",
        /// Deciding a request.
        Decide = "decide",
        /// Applying one's own proposal of a policy.
        Policy = "policy",
    }
}

row! {
    /// A challenge that waits for its answer.
    pub CeremonyRow: "ceremonies", ceremony_columns {
        /// Identifier: random, and known only to who asked.
        id: CeremonyId,
        /// Whose answer it must be; `None` where the passkey says who signs in.
        user_id: Option<UserId>,
        /// What for.
        purpose: Purpose,
        /// What it is bound to, in one line.
        binding: String,
        /// The challenge and what else the check needs, as JSON.
        state: String,
        /// End of validity.
        expires_at: UnixMillis,
    }
}

/// Adds a ceremony.
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

/// Takes a ceremony for good, whatever comes of it: of any number of callers one gets it, and none
/// after its end.
pub async fn take(
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

/// Forgets ceremonies whose time is over; how many.
pub async fn purge(executor: impl Executor, now: UnixMillis) -> Result<u64, StoreError> {
    executor.execute(sql("DELETE FROM ceremonies WHERE expires_at <= $1").bind(now)).await
}
