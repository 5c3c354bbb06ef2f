//! Sets of nullifiers that credentials have linked: each set is one account
//! (`docs/decisions/0010-treat-a-set-of-nullifiers-as-one-account.md`).
//!
//! A set only grows. In each scorer one address holds it, through a claim on its name, which is one of its nullifiers.
//! A nullifier that was never named together with another one is a separate set, without a row.

mod stored;
mod tie;

use std::collections::{BTreeSet, HashMap};

use pyxis_core::id::WorkspaceId;
use pyxis_core::score::Stamp;
use pyxis_core::stamp::Nullifier;

use crate::db::sql;
use crate::stamps::NullifierHash;
use crate::{Executor, StoreError, Tx, claims};

pub(crate) use stored::read_stored;
pub use tie::tie;

/// Sets of the given nullifiers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sets(HashMap<Nullifier, Set>);

/// A set with more than one nullifier.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Set {
    id: i64,
    name: Nullifier,
    size: i64,
}

impl Sets {
    /// Name of a nullifier's set.
    pub fn name<'a>(&'a self, nullifier: &'a Nullifier) -> &'a Nullifier {
        self.0.get(nullifier).map_or(nullifier, |set| &set.name)
    }

    /// Names of the sets of the given nullifiers, without duplicates.
    pub fn names<'a>(&self, nullifiers: impl IntoIterator<Item = &'a Nullifier>) -> Vec<Nullifier> {
        let names: BTreeSet<&Nullifier> = nullifiers.into_iter().map(|one| self.name(one)).collect();
        names.into_iter().cloned().collect()
    }

    /// Replaces a Stamp's nullifiers by the names of their sets, as [`pyxis_core::score::compute`] expects.
    #[must_use]
    pub fn with_set_names(&self, stamp: Stamp) -> Stamp {
        Stamp { nullifiers: self.names(&stamp.nullifiers), ..stamp }
    }
}

/// Reads the sets of the given nullifiers.
pub async fn read(
    executor: impl Executor,
    workspace: WorkspaceId,
    mut nullifiers: Vec<&Nullifier>,
) -> Result<Sets, StoreError> {
    nullifiers.sort_unstable();
    nullifiers.dedup();
    if nullifiers.is_empty() {
        return Ok(Sets::default());
    }
    let hashes = NullifierHash::hash_all(workspace, nullifiers.iter().copied());
    let engine = executor.engine();
    let query =
        sql("SELECT nullifier_hash, set_id, name, size FROM tied_nullifiers CROSS JOIN nullifier_sets \
         WHERE id = set_id AND workspace_id = $1")
        .bind(workspace)
        .and_in(engine, "nullifier_hash", hashes.iter().map(|hash| hash.0));
    let found: Vec<([u8; 16], i64, Nullifier, i64)> = executor.all(query).await?;
    let by_hash: HashMap<NullifierHash, &Nullifier> = hashes.into_iter().zip(nullifiers).collect();
    let set = |(hash, id, name, size)| {
        let nullifier = by_hash.get(&NullifierHash(hash))?;
        Some(((*nullifier).clone(), Set { id, name, size }))
    };
    Ok(Sets(found.into_iter().filter_map(set).collect()))
}

/// Locks the sets of the given nullifiers until the transaction ends. Meanwhile no one else settles a score, stores or
/// revokes a credential, or ties a set with one of them. Call it once per transaction, with all nullifiers.
///
/// `None` means that another transaction tied some of them meanwhile. Roll back and start again.
pub async fn lock(
    tx: &mut Tx,
    workspace: WorkspaceId,
    nullifiers: Vec<&Nullifier>,
) -> Result<Option<Sets>, StoreError> {
    let before = read(&mut *tx, workspace, nullifiers.clone()).await?;
    claims::lock(tx, workspace, &before.names(nullifiers.iter().copied())).await?;
    if tx.is_sqlite() || nullifiers.is_empty() {
        return Ok(Some(before));
    }
    let sets = read(&mut *tx, workspace, nullifiers.clone()).await?;
    let unchanged = nullifiers.iter().all(|nullifier| sets.name(nullifier) == before.name(nullifier));
    Ok(unchanged.then_some(sets))
}

/// All nullifiers in the sets of the given ones, which are included.
pub async fn members(
    executor: impl Executor,
    workspace: WorkspaceId,
    nullifiers: &[Nullifier],
) -> Result<Vec<NullifierHash>, StoreError> {
    if nullifiers.is_empty() {
        return Ok(Vec::new());
    }
    let hashes = NullifierHash::hash_all(workspace, nullifiers);
    let engine = executor.engine();
    let query = sql("SELECT nullifier_hash FROM tied_nullifiers WHERE set_id IN (\
         SELECT set_id FROM tied_nullifiers WHERE TRUE")
    .and_in(engine, "nullifier_hash", hashes.iter().map(|hash| hash.0))
    .append(")");
    let found: Vec<([u8; 16],)> = executor.all(query).await?;
    let members: BTreeSet<NullifierHash> =
        found.into_iter().map(|(hash,)| NullifierHash(hash)).chain(hashes).collect();
    Ok(members.into_iter().collect())
}
