//! Revoked credentials, by signing digest. A credential in a different encoding therefore stays revoked.

use std::collections::BTreeSet;

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::WorkspaceId;
use pyxis_core::score::SigningDigest;

use crate::db::{Bind, row, sql};
use crate::page::Page;
use crate::{Executor, StoreError, Tx, locks};

row! {
    /// A revoked credential.
    pub RevocationRow: "revocations", revocation_columns {
        /// Digest that the issuer signed.
        digest: SigningDigest,
        /// Time of the revocation.
        revoked_at: UnixMillis,
        /// Display name of the person who revoked it.
        revoked_by: String,
        /// Reason, if given.
        reason: Option<String>,
    }
}

const LOCK: &str = "revocation";

/// Revokes a credential, stored or not. Returns false if it was already revoked.
///
/// Waits for transactions that called [`revoked_among`], and so sees the Stamps that they store.
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

/// Those of the given credentials that are revoked. The others cannot be revoked until the transaction ends. Callers do
/// not wait for each other, however many credentials they pass.
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

/// Records that all given digests belong to the same credential, which has several proofs.
pub async fn note_same(
    tx: &mut Tx,
    workspace: WorkspaceId,
    digests: &[SigningDigest],
) -> Result<(), StoreError> {
    let all = all_of(&mut *tx, workspace, digests).await?;
    let Some(first) = all.first() else { return Ok(()) };
    let row = |digest: &SigningDigest| vec![workspace.bind(), digest.bind(), first.bind()];
    let rows = all.iter().map(row).collect();
    let text = "INSERT INTO proof_digests (workspace_id, digest, first_digest) VALUES ($1, $2, $3) \
        ON CONFLICT (workspace_id, digest) DO UPDATE SET first_digest = excluded.first_digest";
    tx.execute_each(text.into(), rows).await.map(drop)
}

/// All digests of the credentials with the given digests, which are included, in order.
pub async fn all_of(
    executor: impl Executor,
    workspace: WorkspaceId,
    digests: &[SigningDigest],
) -> Result<Vec<SigningDigest>, StoreError> {
    let engine = executor.engine();
    let query = sql("SELECT digest FROM proof_digests WHERE workspace_id = $1 AND first_digest IN (\
         SELECT first_digest FROM proof_digests WHERE workspace_id = $1")
    .bind(workspace)
    .and_in(engine, "digest", digests)
    .append(")");
    let found: Vec<(SigningDigest,)> = executor.all(query).await?;
    let all: BTreeSet<SigningDigest> =
        found.into_iter().map(|(digest,)| digest).chain(digests.iter().copied()).collect();
    Ok(all.into_iter().collect())
}

/// Revocation of a credential.
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
        .append(" ORDER BY revoked_at DESC, digest DESC")
        .limit(page.limit);
    executor.all(query).await
}
