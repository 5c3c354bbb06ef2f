//! Keys that sign a workspace's own Stamps. Each makes an issuer, which the workspace trusts from then on.

use pyxis_core::actor::Actor;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::id::WorkspaceId;
use pyxis_store::Store;
use pyxis_store::issuers::{self, IssuerRow};
use pyxis_store::stamp_keys::{self, StampKeyRow};
use serde_json::json;

use super::{Error, Result};
use crate::credential::Signer;
use crate::own;
use crate::state::State;

/// A key and its standing.
#[derive(Clone, Debug)]
pub struct ListedStampKey {
    pub row: StampKeyRow,
    /// True for the newest key, which signs.
    pub signs: bool,
    /// True while the workspace trusts its issuer.
    pub trusted: bool,
}

/// Every key of a workspace, newest first. There is none before the first signature.
pub async fn list(store: &Store, workspace: WorkspaceId) -> Result<Vec<ListedStampKey>> {
    let trusted = issuers::list(store, workspace).await?;
    let rows = stamp_keys::list(store, workspace).await?;
    let listed = |(place, row): (usize, StampKeyRow)| ListedStampKey {
        signs: place == 0,
        trusted: trusted.iter().any(|issuer| issuer.did == row.did),
        row,
    };
    Ok(rows.into_iter().enumerate().map(listed).collect())
}

/// Adds a key that signs from now, and trusts its issuer. Stamps of the earlier keys stay. With `compromised`, their
/// issuers are no longer trusted.
pub async fn rotate(state: &State, actor: &Actor, compromised: bool) -> Result<ListedStampKey> {
    let workspace = actor.workspace;
    let mut change = state.audited.begin(actor).await?;
    let known = stamp_keys::list(&mut change.tx, workspace).await?;
    let number = known.first().map_or(1, |newest| newest.number + 1);
    let row = own::new_row(&state.keyring, workspace, number, state.now())?;
    if !stamp_keys::insert(&mut change.tx, workspace, &row).await? {
        return Err(Error::Conflict("someone else just rotated this key; read the list of keys again"));
    }
    let name = format!("this workspace, key {number}");
    let issuer = IssuerRow { did: row.did.clone(), name, created_at: row.created_at };
    issuers::put(&mut change.tx, workspace, &issuer).await?;
    if compromised {
        for earlier in &known {
            issuers::remove(&mut change.tx, workspace, &earlier.did).await?;
        }
    }
    let detail = json!({ "number": number, "did": row.did, "compromised": compromised });
    change.commit(AuditEvent::StampKeyRotated, detail).await?;
    Ok(ListedStampKey { row, signs: true, trusted: true })
}

/// The signer in force; the first one is made on first use.
pub(super) async fn active(state: &State, actor: &Actor) -> Result<Signer> {
    let listed = list(&state.store, actor.workspace).await?.into_iter().next();
    let newest = match listed {
        Some(newest) => newest,
        None => match rotate(state, actor, false).await {
            // Someone else just made the first one.
            Err(Error::Conflict(_)) => {
                list(&state.store, actor.workspace).await?.into_iter().next().ok_or(Error::Busy)?
            }
            made => made?,
        },
    };
    if !newest.trusted {
        return Err(Error::Conflict(
            "this workspace does not trust its own issuer; add it again (`pyxis stamp-key list` shows its DID, \
             `pyxis issuer add` trusts it), or make another key with `pyxis stamp-key rotate`",
        ));
    }
    Ok(own::signer(&state.keyring, actor.workspace, &newest.row)?)
}
