//! Allow lists: lists of addresses as a Stamp.

use std::collections::{BTreeMap, BTreeSet};

use pyxis_core::actor::Actor;
use pyxis_core::address::EvmAddress;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::stamp::{Nullifier, StampName};
use pyxis_store::listed_addresses::{self, ListedAddressRow};
use pyxis_store::own_stamps::{self as rows, OwnStampRow};
use pyxis_store::{Store, issued_stamps};
use serde_json::json;

use super::own_stamps::{self, OwnStampInput};
use super::stamp_signing::{self, Holder};
use super::{Error, Result};
use crate::own::{ALLOW_LIST, CheckScope, recheck};
use crate::state::State;

/// Maximum number of addresses that are added or removed at once.
pub const MAX_CHANGED: usize = 10_000;
/// Addresses in one statement.
const CHUNK: usize = 1000;

#[derive(Clone, Debug)]
pub struct AllowList {
    pub row: OwnStampRow,
    /// Number of addresses on it.
    pub addresses: i64,
    /// Number of those that have the Stamp.
    pub issued: i64,
}

/// Result of a change.
#[derive(Clone, Copy, Debug)]
pub struct ListChange {
    /// Addresses that were added or removed.
    pub changed: u64,
    /// Stamps that were withdrawn.
    pub withdrawn: u64,
}

fn is_list(kind: &str) -> bool {
    kind == ALLOW_LIST
}

/// Adds an empty allow list.
pub async fn create(state: &State, actor: &Actor, input: OwnStampInput) -> Result<AllowList> {
    let row = own_stamps::create(state, actor, input, ALLOW_LIST, "{}".to_owned()).await?;
    Ok(AllowList { row, addresses: 0, issued: 0 })
}

/// Every allow list of the workspace, by name.
pub async fn list(store: &Store, actor: &Actor) -> Result<Vec<AllowList>> {
    let mut lists = Vec::new();
    for row in rows::list(store, actor.workspace).await?.into_iter().filter(|row| is_list(&row.kind)) {
        lists.push(with_count(store, actor, row).await?);
    }
    Ok(lists)
}

/// One allow list.
pub async fn get(store: &Store, actor: &Actor, name: &StampName) -> Result<AllowList> {
    with_count(store, actor, find(store, actor, name).await?).await
}

async fn with_count(store: &Store, actor: &Actor, row: OwnStampRow) -> Result<AllowList> {
    let addresses = listed_addresses::count(store, actor.workspace, &row.provider).await?;
    let issued = own_stamps::issued(store, actor, &row.provider).await?;
    Ok(AllowList { row, addresses, issued })
}

async fn find(store: &Store, actor: &Actor, name: &StampName) -> Result<OwnStampRow> {
    own_stamps::find(store, actor, "allow list", name, is_list).await
}

/// The addresses of a list behind `after`, in order.
pub async fn addresses(
    store: &Store,
    actor: &Actor,
    name: &StampName,
    after: Option<EvmAddress>,
    limit: u32,
) -> Result<Vec<ListedAddressRow>> {
    find(store, actor, name).await?;
    Ok(listed_addresses::page(store, actor.workspace, name, after, limit).await?)
}

/// Adds addresses to a list. Each gets the Stamp when it, or its application, asks for it. Addresses with the same
/// nullifier have one Stamp that counts. New nullifiers of a listed address hold from its next Stamp.
pub async fn add(state: &State, actor: &Actor, name: &StampName, holders: &[Holder]) -> Result<ListChange> {
    check_count("addresses", holders.len())?;
    let holders = merge(holders)?;
    let row = find(&state.store, actor, name).await?;
    let mut change = state.audited.begin(actor).await?;
    if !rows::lock_unchanged(&mut change.tx, actor.workspace, &row).await? {
        return Err(Error::not_found("allow list"));
    }
    let listed_at = state.now();
    // In order, so that the same set is the same text.
    let row = |(address, nullifiers): (EvmAddress, BTreeSet<&Nullifier>)| {
        let nullifiers = (!nullifiers.is_empty()).then(|| json!(nullifiers).to_string());
        ListedAddressRow { address, listed_at, nullifiers }
    };
    let holders: Vec<ListedAddressRow> = holders.into_iter().map(row).collect();
    let changed = listed_addresses::insert(&mut change.tx, actor.workspace, name, &holders).await?;
    if changed > 0 {
        change.commit(AuditEvent::AllowListChanged, json!({ "name": name, "changed": changed })).await?;
    }
    Ok(ListChange { changed, withdrawn: 0 })
}

/// Removes addresses from a list and withdraws their Stamps.
pub async fn remove(
    state: &State,
    actor: &Actor,
    name: &StampName,
    addresses: &[EvmAddress],
) -> Result<ListChange> {
    check_count("addresses", addresses.len())?;
    find(&state.store, actor, name).await?;
    let mut change = state.audited.begin(actor).await?;
    let mut changed = 0;
    for part in addresses.chunks(CHUNK) {
        changed += listed_addresses::remove(&mut change.tx, actor.workspace, name, part).await?;
    }
    if changed == 0 {
        return Ok(ListChange { changed, withdrawn: 0 });
    }
    change.commit(AuditEvent::AllowListChanged, json!({ "name": name, "removed": changed })).await?;
    // If this is interrupted, the next check of each Stamp withdraws it.
    for part in addresses.chunks(CHUNK) {
        issued_stamps::make_due(&state.store, actor.workspace, name, part, state.now()).await?;
    }
    let done = recheck(state, CheckScope::Named(actor.workspace, name)).await?;
    Ok(ListChange { changed, withdrawn: done.withdrawn })
}

/// Deletes a list and withdraws its Stamps.
pub async fn delete(state: &State, actor: &Actor, name: &StampName) -> Result<ListChange> {
    let list = get(&state.store, actor, name).await?;
    let done = own_stamps::remove(state, actor, &list.row).await?;
    Ok(ListChange { changed: list.addresses.unsigned_abs(), withdrawn: done.withdrawn })
}

/// The nullifiers of each address. An address may be repeated, but not with other nullifiers.
fn merge(holders: &[Holder]) -> Result<BTreeMap<EvmAddress, BTreeSet<&Nullifier>>> {
    let mut merged: BTreeMap<EvmAddress, BTreeSet<&Nullifier>> = BTreeMap::new();
    for (index, holder) in holders.iter().enumerate() {
        stamp_signing::check_nullifiers(index, holder)?;
        let nullifiers: BTreeSet<&Nullifier> = holder.nullifiers.iter().collect();
        let known = merged.entry(holder.address).or_default();
        if known.is_empty() {
            *known = nullifiers;
        } else if !nullifiers.is_empty() && *known != nullifiers {
            let detail =
                format!("{} is listed twice with different nullifiers; keep one entry", holder.address);
            return Err(Error::field(format!("holders[{index}].address"), detail));
        }
    }
    Ok(merged)
}

fn check_count(field: &str, count: usize) -> Result<()> {
    if (1..=MAX_CHANGED).contains(&count) {
        Ok(())
    } else {
        Err(Error::field(field, format!("must have 1 to {MAX_CHANGED} addresses, not {count}")))
    }
}
