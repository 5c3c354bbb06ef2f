//! Ties nullifiers into sets, and merges the claims on them.

use std::collections::{BTreeMap, HashMap};

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{ScorerId, WorkspaceId};
use pyxis_core::score::{Claim, merge};
use pyxis_core::stamp::Nullifier;

use super::{Set, Sets, members};
use crate::claims::{self, HeldClaim};
use crate::db::{Bind, Rows, Value, sql};
use crate::stamps::{NullifierHash, others_with_nullifiers};
use crate::{Engine, Executor, StoreError, Tx, scores};

/// Sets to be merged into one.
struct Union {
    /// Names of the merged sets.
    former: Vec<Nullifier>,
    /// Resulting set.
    set: Set,
}

/// Ties the nullifiers of each list into one set, and merges the claims on the merged sets
/// ([`pyxis_core::score::merge`]). Marks as stale the scores of wallets that lose a claim or wait for one, including
/// the caller's address.
///
/// `sets` comes from [`super::lock`], with all of these nullifiers. Afterwards it contains the new sets. `false` means
/// that a claim has changed: roll back and start again.
pub async fn tie(
    tx: &mut Tx,
    workspace: WorkspaceId,
    sets: &mut Sets,
    lists: &[&[Nullifier]],
    now: UnixMillis,
) -> Result<bool, StoreError> {
    let groups = groups(sets, lists);
    if groups.is_empty() {
        return Ok(true);
    }
    let unions = store(tx, workspace, sets, groups).await?;
    merge_claims(tx, workspace, &unions, now).await
}

/// Groups of set names tied together by the lists. Each group has at least two names.
fn groups(sets: &Sets, lists: &[&[Nullifier]]) -> Vec<Vec<Nullifier>> {
    let mut places: HashMap<Nullifier, usize> = HashMap::new();
    let mut parents: Vec<usize> = Vec::new();
    for list in lists {
        let names = sets.names(*list);
        if names.len() < 2 {
            continue;
        }
        let mut first = None;
        for name in names {
            let place = *places.entry(name).or_insert_with(|| {
                parents.push(parents.len());
                parents.len() - 1
            });
            let first = *first.get_or_insert(place);
            let (one, other) = (root(&mut parents, first), root(&mut parents, place));
            parents[other] = one;
        }
    }
    let mut groups: BTreeMap<usize, Vec<Nullifier>> = BTreeMap::new();
    for (name, place) in places {
        groups.entry(root(&mut parents, place)).or_default().push(name);
    }
    groups.into_values().collect()
}

/// Root of a tree of indexes. Shortens the path to it.
fn root(parents: &mut [usize], mut place: usize) -> usize {
    while parents[place] != place {
        parents[place] = parents[parents[place]];
        place = parents[place];
    }
    place
}

/// Stores the merged groups and puts them into `sets`. The smaller sets join the largest one. So a nullifier
/// changes its set only a few times, however many sets are joined.
async fn store(
    tx: &mut Tx,
    workspace: WorkspaceId,
    sets: &mut Sets,
    groups: Vec<Vec<Nullifier>>,
) -> Result<Vec<Union>, StoreError> {
    let known: HashMap<Nullifier, Set> = sets.0.values().map(|set| (set.name.clone(), set.clone())).collect();
    let is_new = |group: &&Vec<Nullifier>| group.iter().all(|name| !known.contains_key(name));
    let mut numbers = numbers(tx, groups.iter().filter(is_new).count()).await?.into_iter();
    let mut changes = Changes::default();
    let mut unions = Vec::with_capacity(groups.len());
    for mut former in groups {
        former.sort_unstable();
        let largest = former.iter().filter_map(|name| known.get(name)).max_by_key(|set| (set.size, -set.id));
        let (is_new, mut set) = match largest {
            Some(set) => (false, set.clone()),
            None => (
                true,
                Set { id: numbers.next().ok_or(StoreError::Aborted)?, name: former[0].clone(), size: 0 },
            ),
        };
        for name in &former {
            match known.get(name) {
                Some(same) if same.id == set.id => {}
                Some(smaller) => {
                    set.size += smaller.size;
                    changes.moved.push(vec![set.id.bind(), smaller.id.bind()]);
                    changes.gone.push(vec![smaller.id.bind()]);
                }
                None => {
                    set.size += 1;
                    let hash = NullifierHash::hash_all(workspace, [name])[0];
                    changes.tied.push(vec![hash.0.bind(), set.id.bind()]);
                }
            }
        }
        if is_new {
            let row = vec![set.id.bind(), workspace.bind(), (&set.name).bind(), set.size.bind()];
            changes.new.push(row);
        } else {
            changes.grown.push(vec![set.size.bind(), set.id.bind()]);
        }
        unions.push(Union { former, set });
    }
    changes.write(tx).await?;
    let mut renamed: HashMap<&Nullifier, &Set> = HashMap::new();
    for Union { former, set } in &unions {
        renamed.extend(former.iter().map(|name| (name, set)));
    }
    for set in sets.0.values_mut() {
        if let Some(new) = renamed.get(&set.name) {
            *set = (*new).clone();
        }
    }
    for (name, set) in renamed {
        sets.0.insert(name.clone(), set.clone());
    }
    Ok(unions)
}

/// Rows to write.
#[derive(Default)]
struct Changes {
    new: Rows,
    grown: Rows,
    tied: Rows,
    moved: Rows,
    gone: Rows,
}

impl Changes {
    async fn write(self, tx: &mut Tx) -> Result<(), StoreError> {
        let steps: [(&'static str, Vec<Vec<Value>>); 5] = [
            ("INSERT INTO nullifier_sets (id, workspace_id, name, size) VALUES ($1, $2, $3, $4)", self.new),
            ("UPDATE nullifier_sets SET size = $1 WHERE id = $2", self.grown),
            ("INSERT INTO tied_nullifiers (nullifier_hash, set_id) VALUES ($1, $2)", self.tied),
            ("UPDATE tied_nullifiers SET set_id = $1 WHERE set_id = $2", self.moved),
            ("DELETE FROM nullifier_sets WHERE id = $1", self.gone),
        ];
        for (text, rows) in steps {
            if !rows.is_empty() {
                tx.execute_each(text.into(), rows).await?;
            }
        }
        Ok(())
    }
}

/// Ids for new sets, as the engine would assign them.
async fn numbers(tx: &mut Tx, count: usize) -> Result<Vec<i64>, StoreError> {
    let count = i64::try_from(count).map_err(StoreError::unavailable)?;
    if count == 0 {
        return Ok(Vec::new());
    }
    if tx.engine() == Engine::Postgres {
        let next =
            sql("SELECT nextval(pg_get_serial_sequence('nullifier_sets', 'id')) FROM generate_series(1, $1)");
        let numbers: Vec<(i64,)> = tx.all(next.bind(count)).await?;
        return Ok(numbers.into_iter().map(|(number,)| number).collect());
    }
    // No one else writes meanwhile, and a row with an explicit id counts toward the sequence.
    let last: Option<(i64,)> =
        tx.optional(sql("SELECT seq FROM sqlite_sequence WHERE name = 'nullifier_sets'")).await?;
    let last = last.map_or(0, |(last,)| last);
    Ok((last + 1..=last + count).collect())
}

/// Leaves one claim on each set in each scorer. `false` means that another transaction changed a claim.
async fn merge_claims(
    tx: &mut Tx,
    workspace: WorkspaceId,
    unions: &[Union],
    now: UnixMillis,
) -> Result<bool, StoreError> {
    let names: Vec<Nullifier> = unions.iter().flat_map(|union| union.former.clone()).collect();
    let numbered = unions.iter().enumerate();
    let which: HashMap<&Nullifier, usize> =
        numbered.flat_map(|(number, union)| union.former.iter().map(move |name| (name, number))).collect();
    let mut found: BTreeMap<(ScorerId, usize), Vec<Claim>> = BTreeMap::new();
    for HeldClaim { scorer, claim } in claims::in_every_scorer(tx, workspace, &names).await? {
        if let Some(number) = which.get(&claim.nullifier) {
            found.entry((scorer, *number)).or_default().push(claim);
        }
    }
    for ((scorer, number), claims) in found {
        let name = &unions[number].set.name;
        let kept = merge(&claims, now).map(|kept| Claim { nullifier: name.clone(), ..kept });
        for claim in claims.iter().filter(|claim| Some(*claim) != kept.as_ref()) {
            let held = HeldClaim { scorer, claim: claim.clone() };
            if !claims::release(&mut *tx, workspace, &held).await? {
                return Ok(false);
            }
        }
        let Some(kept) = kept else { continue };
        let taken = claims.contains(&kept)
            || claims::claim_or_extend(tx, workspace, scorer, now, std::slice::from_ref(&kept)).await?;
        if !taken {
            return Ok(false);
        }
        let changes = |claim: &Claim| (claim.address, claim.expires_at) != (kept.address, kept.expires_at);
        if claims.iter().any(|claim| now < claim.expires_at && changes(claim)) {
            let members = members(&mut *tx, workspace, std::slice::from_ref(name)).await?;
            let with_one = others_with_nullifiers(&mut *tx, workspace, None, &members).await?;
            scores::mark_stale(tx, workspace, scorer, &with_one).await?;
        }
    }
    Ok(true)
}
