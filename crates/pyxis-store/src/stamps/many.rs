//! Many Stamps of addresses that never had one, as imports bring them.

use std::collections::BTreeSet;

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::WorkspaceId;

use super::{NewStamp, nullifier_rows};
use crate::db::{Bind, Rows};
use crate::{Executor, StoreError, Tx};

/// Stores Stamps of addresses that are not known yet, and makes them known: a few statements for all of
/// them. Every address and name once, every digest once, none of them stored before.
pub async fn insert_many(
    tx: &mut Tx,
    workspace: WorkspaceId,
    new: Vec<NewStamp>,
    now: UnixMillis,
) -> Result<(), StoreError> {
    // In their order, in which everybody locks them.
    let addresses: BTreeSet<EvmAddress> = new.iter().map(|stamp| stamp.address).collect();
    let holders: Rows =
        addresses.iter().map(|address| vec![workspace.bind(), address.bind(), now.bind()]).collect();
    let added = tx
        .execute_each(
            "INSERT INTO holders (workspace_id, address, since_at) VALUES ($1, $2, $3)".into(),
            holders,
        )
        .await?;
    debug_assert_eq!(added, addresses.len() as u64, "a holder was known");
    let row = |stamp: &NewStamp| {
        vec![
            workspace.bind(),
            stamp.address.bind(),
            (&stamp.provider).bind(),
            (&stamp.issuer).bind(),
            stamp.issued_at.bind(),
            stamp.expires_at.bind(),
            stamp.digest.bind(),
            (&stamp.nullifiers).bind(),
            stamp.received_at.bind(),
        ]
    };
    tx.execute_each(
        "INSERT INTO stamps (workspace_id, address, provider, issuer, issued_at, expires_at, digest, \
         nullifiers, received_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"
            .into(),
        new.iter().map(row).collect(),
    )
    .await?;
    let nullifiers = new
        .iter()
        .flat_map(|stamp| nullifier_rows(workspace, stamp.address, &stamp.provider, &stamp.nullifiers));
    let nullifiers = nullifiers.collect();
    let credential = |stamp: NewStamp| {
        vec![stamp.credential.bind(), workspace.bind(), stamp.address.bind(), stamp.provider.bind()]
    };
    tx.execute_each(
        "INSERT INTO stamp_credentials (stamp_id, credential) \
         SELECT id, $1 FROM stamps WHERE workspace_id = $2 AND address = $3 AND provider = $4"
            .into(),
        new.into_iter().map(credential).collect(),
    )
    .await?;
    tx.execute_each(
        "INSERT INTO stamp_nullifiers (workspace_id, nullifier, address, provider) \
         VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING"
            .into(),
        nullifiers,
    )
    .await?;
    Ok(())
}
