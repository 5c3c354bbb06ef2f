//! Verification operations for managers. The admin API, the dashboard and the command line all call these functions.
//! Every change is on the audit trail.
//!
//! The registry belongs to the installation, so the managers of its first workspace manage it.

pub mod blocklist;
mod error;
pub mod issuers;
pub mod networks;
pub mod proofs;

use pyxis_core::actor::Actor;
use pyxis_core::proof::is_plain_text;
use pyxis_store::{Store, workspaces};

pub use pyxis_core::admin_error::{AdminError as Error, Result};

/// Refuses actors outside the installation's first workspace.
pub(crate) async fn require_first_workspace(store: &Store, actor: &Actor) -> Result<()> {
    let first = workspaces::list(store).await?.into_iter().next();
    let home = first.is_some_and(|first| first.id == actor.workspace);
    if home {
        Ok(())
    } else {
        Err(Error::Forbidden("proofs are managed in the first workspace of this installation"))
    }
}

/// Checks human-readable text: one line.
fn check_text(field: &'static str, text: &str) -> Result<()> {
    if is_plain_text(text) {
        Ok(())
    } else {
        Err(Error::field(field, "1 to 256 bytes of printable text on one line"))
    }
}
