//! Keys that sign a workspace's own Stamps. The private half is derived from the installation's keys, the workspace and
//! the key's number. So every node has it, and it is never stored; a rotation uses the next number.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::WorkspaceId;
use pyxis_store::cipher::Keyring;
use pyxis_store::stamp_keys::StampKeyRow;

use crate::credential::Signer;
use crate::error::{Error, Result};

/// The signer of a stored key.
pub(crate) fn signer(keyring: &Keyring, workspace: WorkspaceId, row: &StampKeyRow) -> Result<Signer> {
    let signer = derived(keyring, workspace, row.number)?;
    if signer.did() != row.did {
        return Err(Error::Internal("a stamp key belongs to another master key".into()));
    }
    Ok(signer)
}

/// A key that is not stored yet.
pub(crate) fn new_row(
    keyring: &Keyring,
    workspace: WorkspaceId,
    number: i64,
    now: UnixMillis,
) -> Result<StampKeyRow> {
    let did = derived(keyring, workspace, number)?.did().to_owned();
    Ok(StampKeyRow { number, did, created_at: now })
}

fn derived(keyring: &Keyring, workspace: WorkspaceId, number: i64) -> Result<Signer> {
    let secret = keyring.derive(&format!("stamps {workspace} {number}"));
    Signer::from_secret(&secret)
        .ok_or_else(|| Error::Internal("the derived bytes are not a key; rotate it".into()))
}
