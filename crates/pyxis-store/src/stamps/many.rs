//! Many Stamps of addresses that never had one, as imports bring them.

use std::collections::BTreeSet;

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::WorkspaceId;

use super::{NewStamp, Packed, nullifier_rows};
use crate::db::{Bind, Rows};
use crate::{Executor, StoreError, Tx};

/// Stamps of addresses that are not known yet, as they will stand in the tables: made before the transaction
/// begins, in which everybody else has to wait.
pub struct Many {
    holders: Rows,
    stamps: Rows,
    credentials: Rows,
    nullifiers: Rows,
}

impl Many {
    /// Each address and name once and each digest once, none of them stored before: of digests nothing else makes sure.
    pub fn of(workspace: WorkspaceId, new: Vec<NewStamp>, now: UnixMillis) -> Self {
        // In their order, in which everybody locks them.
        let addresses: BTreeSet<EvmAddress> = new.iter().map(|stamp| stamp.address).collect();
        let holder = |address: EvmAddress| vec![workspace.bind(), address.bind(), now.bind()];
        let mut many = Self {
            holders: addresses.into_iter().map(holder).collect(),
            stamps: Vec::with_capacity(new.len()),
            credentials: Vec::with_capacity(new.len()),
            nullifiers: Vec::with_capacity(new.len()),
        };
        for stamp in new {
            many.nullifiers.extend(nullifier_rows(
                workspace,
                stamp.address,
                &stamp.provider,
                &stamp.nullifiers,
            ));
            many.stamps.push(vec![
                workspace.bind(),
                stamp.address.bind(),
                (&stamp.provider).bind(),
                stamp.issuer.bind(),
                stamp.issued_at.bind(),
                stamp.expires_at.bind(),
                stamp.digest.bind(),
                stamp.nullifiers.bind(),
                stamp.received_at.bind(),
            ]);
            many.credentials.push(vec![
                Packed::of(&stamp.credential).bind(),
                workspace.bind(),
                stamp.address.bind(),
                stamp.provider.bind(),
            ]);
        }
        many
    }
}

/// Stores them, and makes their addresses known: a few statements for all of them.
pub async fn insert_many(tx: &mut Tx, many: Many) -> Result<(), StoreError> {
    let addresses = many.holders.len() as u64;
    let added = tx
        .execute_each(
            "INSERT INTO holders (workspace_id, address, since_at) VALUES ($1, $2, $3)".into(),
            many.holders,
        )
        .await?;
    debug_assert_eq!(added, addresses, "a holder was known");
    tx.execute_each(
        "INSERT INTO stamps (workspace_id, address, provider, issuer, issued_at, expires_at, digest, \
         nullifiers, received_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"
            .into(),
        many.stamps,
    )
    .await?;
    tx.execute_each(
        "INSERT INTO stamp_credentials (stamp_id, credential, packed) \
         SELECT id, '', $1 FROM stamps WHERE workspace_id = $2 AND address = $3 AND provider = $4"
            .into(),
        many.credentials,
    )
    .await?;
    tx.execute_each(
        "INSERT INTO stamp_nullifiers (workspace_id, nullifier, address, provider) \
         VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING"
            .into(),
        many.nullifiers,
    )
    .await?;
    Ok(())
}
