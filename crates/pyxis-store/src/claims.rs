//! Claims: the owner of each nullifier within a scorer (`docs/reference/behavior/scoring.md#deduplication`). Scorers
//! do not affect each other. Nullifiers of a set are claimed under its name (`nullifier_sets`).

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{ScorerId, WorkspaceId};
use pyxis_core::score::{Claim, SigningDigest};
use pyxis_core::stamp::Nullifier;

use crate::db::{Bind, FromRow, Row, Rows, sql};
use crate::scorers::{self, ScorerRow, own_scorer};
use crate::{Executor, StoreError, Tx, locks};

impl FromRow for Claim {
    const TABLE: &'static str = "claims";

    fn from_row(row: &mut Row<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            nullifier: row.take("nullifier")?,
            address: row.take("address")?,
            provider: row.take("provider")?,
            digest: row.take("digest")?,
            claimed_at: row.take("claimed_at")?,
            expires_at: row.take("expires_at")?,
        })
    }
}

/// A claim with its scorer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldClaim {
    /// Scorer in which the claim applies.
    pub scorer: ScorerId,
    /// Nullifier, holder and expiry.
    pub claim: Claim,
}

impl FromRow for HeldClaim {
    const TABLE: &'static str = "claims";

    fn from_row(row: &mut Row<'_>) -> Result<Self, StoreError> {
        Ok(Self { scorer: row.take("scorer_id")?, claim: Claim::from_row(row)? })
    }
}

/// Locks nullifiers until the transaction ends. Meanwhile no one else settles a score, or adds or revokes a credential,
/// with one of them. Call it once per transaction, with all nullifiers.
pub async fn lock<'a>(
    tx: &mut Tx,
    workspace: WorkspaceId,
    nullifiers: impl IntoIterator<Item = &'a Nullifier>,
) -> Result<(), StoreError> {
    let values = nullifiers.into_iter().map(|nullifier| nullifier.as_str().as_bytes());
    locks::hold(tx, "claim", workspace, values).await
}

/// Claims on the given nullifiers in a scorer, including expired ones.
pub async fn list_for(
    executor: impl Executor,
    workspace: WorkspaceId,
    scorer: ScorerId,
    nullifiers: &[Nullifier],
) -> Result<Vec<Claim>, StoreError> {
    if nullifiers.is_empty() {
        return Ok(Vec::new());
    }
    let engine = executor.engine();
    let query = sql(concat!(
        "SELECT nullifier, address, provider, digest, claimed_at, expires_at FROM claims WHERE scorer_id = ",
        own_scorer!()
    ));
    executor.all(query.bind(workspace).bind(scorer).and_in(engine, "nullifier", nullifiers)).await
}

/// Claims that are based on a credential, in any scorer.
pub async fn of_digest(
    executor: impl Executor,
    workspace: WorkspaceId,
    digest: &SigningDigest,
) -> Result<Vec<HeldClaim>, StoreError> {
    let query =
        sql("SELECT scorer_id, nullifier, address, provider, digest, claimed_at, expires_at FROM claims \
         WHERE workspace_id = $1 AND digest = $2 ORDER BY scorer_id, nullifier");
    executor.all(query.bind(workspace).bind(digest)).await
}

/// Claims on the given nullifiers in every scorer of a workspace, including expired ones.
pub async fn in_every_scorer(
    tx: &mut Tx,
    workspace: WorkspaceId,
    nullifiers: &[Nullifier],
) -> Result<Vec<HeldClaim>, StoreError> {
    let mut found = Vec::new();
    for ScorerRow { id: scorer, .. } in scorers::list(&mut *tx, workspace).await? {
        let claims = list_for(&mut *tx, workspace, scorer, nullifiers).await?;
        found.extend(claims.into_iter().map(|claim| HeldClaim { scorer, claim }));
    }
    Ok(found)
}

/// Takes or extends claims. Returns true if all succeeded. An active claim of another address is left unchanged; on
/// false, roll back and settle again.
pub async fn claim_or_extend(
    tx: &mut Tx,
    workspace: WorkspaceId,
    scorer: ScorerId,
    now: UnixMillis,
    claims: &[Claim],
) -> Result<bool, StoreError> {
    let row = |claim: &Claim| {
        vec![
            scorer.bind(),
            (&claim.nullifier).bind(),
            workspace.bind(),
            claim.address.bind(),
            claim.provider.as_ref().bind(),
            claim.digest.bind(),
            claim.claimed_at.bind(),
            claim.expires_at.bind(),
            now.bind(),
        ]
    };
    let rows: Rows = claims.iter().map(row).collect();
    let touched = tx
        .execute_each(
            "INSERT INTO claims (scorer_id, nullifier, workspace_id, address, provider, digest, claimed_at, \
             expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (scorer_id, nullifier) DO UPDATE \
             SET address = excluded.address, provider = excluded.provider, digest = excluded.digest, \
             claimed_at = excluded.claimed_at, expires_at = excluded.expires_at \
             WHERE claims.address = excluded.address OR claims.expires_at <= $9"
                .into(),
            rows,
        )
        .await?;
    Ok(touched == claims.len() as u64)
}

/// Releases a claim. Returns true if `held` was still current.
pub async fn release(
    executor: impl Executor,
    workspace: WorkspaceId,
    held: &HeldClaim,
) -> Result<bool, StoreError> {
    let query = sql("DELETE FROM claims WHERE workspace_id = $1 AND scorer_id = $2 AND nullifier = $3 \
         AND address = $4 AND digest = $5")
    .bind(workspace)
    .bind(held.scorer)
    .bind(&held.claim.nullifier)
    .bind(held.claim.address)
    .bind(held.claim.digest);
    Ok(executor.execute(query).await? == 1)
}

/// Nullifiers that an address holds in any scorer of a workspace, including ended claims. Reads all claims.
pub async fn nullifiers_of(
    executor: impl Executor,
    workspace: WorkspaceId,
    address: EvmAddress,
) -> Result<Vec<Nullifier>, StoreError> {
    let query = sql("SELECT DISTINCT nullifier FROM claims WHERE workspace_id = $1 AND address = $2");
    let found = executor.all(query.bind(workspace).bind(address)).await?;
    Ok(found.into_iter().map(|(nullifier,)| nullifier).collect())
}

/// Deletes ended claims of an address and leaves the others to `heir`. Returns how many of each. The sets of their
/// nullifiers must be locked.
pub async fn leave_to(
    tx: &mut Tx,
    workspace: WorkspaceId,
    address: EvmAddress,
    heir: EvmAddress,
    now: UnixMillis,
) -> Result<(u64, u64), StoreError> {
    let end = sql("DELETE FROM claims WHERE workspace_id = $1 AND address = $2 AND expires_at <= $3");
    let ended = tx.execute(end.bind(workspace).bind(address).bind(now)).await?;
    let rename = sql("UPDATE claims SET address = $1 WHERE workspace_id = $2 AND address = $3");
    let left = tx.execute(rename.bind(heir).bind(workspace).bind(address)).await?;
    Ok((ended, left))
}

/// Moves a claim from one holder to another. Returns true if `held` was still current.
pub async fn hand_over(
    tx: &mut Tx,
    workspace: WorkspaceId,
    held: &HeldClaim,
    to: EvmAddress,
) -> Result<bool, StoreError> {
    let query =
        sql("UPDATE claims SET address = $1 WHERE workspace_id = $2 AND scorer_id = $3 AND nullifier = $4 \
         AND address = $5 AND digest = $6")
        .bind(to)
        .bind(workspace)
        .bind(held.scorer)
        .bind(&held.claim.nullifier)
        .bind(held.claim.address)
        .bind(held.claim.digest);
    Ok(tx.execute(query).await? == 1)
}
