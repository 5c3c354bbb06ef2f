//! Revoked credentials, by signing digest: another spelling of the same credential stays revoked.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::WorkspaceId;
use pyxis_core::score::SigningDigest;

use crate::db::{row, sql};
use crate::page::Page;
use crate::{Executor, StoreError, Tx, locks};

row! {
    /// A revocation.
    pub RevocationRow: "revocations", revocation_columns {
        /// What the issuer signed.
        digest: SigningDigest,
        /// When.
        revoked_at: UnixMillis,
        /// Who, for people.
        revoked_by: String,
        /// Why.
        reason: Option<String>,
    }
}

const LOCK: &str = "revocation";

/// Revokes a credential, stored or not; whether it was not revoked before.
///
/// It waits for transactions that asked [`revoked_among`], and so sees the Stamp that such a one stores.
pub async fn insert(tx: &mut Tx, workspace: WorkspaceId, new: &RevocationRow) -> Result<bool, StoreError> {
    locks::hold_all(tx, LOCK, workspace).await?;
    let query = sql("INSERT INTO revocations (workspace_id, digest, revoked_at, revoked_by, reason) \
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING")
    .bind(workspace)
    .bind(new.digest)
    .bind(new.revoked_at)
    .bind(&new.revoked_by)
    .bind(&new.reason);
    Ok(tx.execute(query).await? == 1)
}

/// Which of some credentials are revoked. None of the others can be until the transaction ends. Those who ask do not
/// wait for each other, however many credentials they bring.
pub async fn revoked_among(
    tx: &mut Tx,
    workspace: WorkspaceId,
    digests: &[SigningDigest],
) -> Result<Vec<SigningDigest>, StoreError> {
    if digests.is_empty() {
        return Ok(Vec::new());
    }
    locks::share(tx, LOCK, workspace).await?;
    let query = sql("SELECT digest FROM revocations WHERE workspace_id = $1");
    let engine = tx.engine();
    let found = tx.all(query.bind(workspace).and_in(engine, "digest", digests)).await?;
    Ok(found.into_iter().map(|(digest,)| digest).collect())
}

/// The revocation of a credential.
pub async fn find(
    executor: impl Executor,
    workspace: WorkspaceId,
    digest: &SigningDigest,
) -> Result<Option<RevocationRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        revocation_columns!(),
        " FROM revocations WHERE workspace_id = $1 AND digest = $2"
    ));
    executor.optional(query.bind(workspace).bind(digest)).await
}

/// A page of revocations, newest first.
pub async fn list(
    executor: impl Executor,
    workspace: WorkspaceId,
    page: Page<SigningDigest>,
) -> Result<Vec<RevocationRow>, StoreError> {
    let (at, digest) = page.before.unzip();
    let query = sql(concat!("SELECT ", revocation_columns!(), " FROM revocations WHERE workspace_id = $1"))
        .bind(workspace)
        .push_if(" AND (revoked_at, digest) < (?", at)
        .push_if(", ?)", digest)
        .then(" ORDER BY revoked_at DESC, digest DESC")
        .limit(page.limit);
    executor.all(query).await
}
