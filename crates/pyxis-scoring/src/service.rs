//! Scoring operations for managers. The admin API, the dashboard and the command line all call these functions. Every
//! change is on the audit trail.

pub mod amount;
pub mod api_keys;
pub mod catalogue;
mod error;
pub mod history_requests;
pub mod issuers;
mod lease;
pub mod models;
pub mod preview;
pub mod scorers;
pub mod stamps;

use pyxis_core::actor::Actor;
use pyxis_core::audit_event::AuditEvent;
use pyxis_store::{Tx, audit};
use serde_json::Value;

use crate::state::State;

pub use pyxis_core::admin_error::{AdminError as Error, Result};

/// Longest name, in bytes.
const MAX_NAME: usize = 100;

/// A change in progress: the change, its audit record and its event commit together.
struct Change<'a> {
    state: &'a State,
    actor: &'a Actor,
    tx: Tx,
}

impl<'a> Change<'a> {
    async fn begin(state: &'a State, actor: &'a Actor) -> Result<Self> {
        Ok(Self { state, actor, tx: state.store.begin().await? })
    }

    /// Records the change and commits. `detail` must hold no secret.
    async fn commit(self, event: AuditEvent, detail: Value) -> Result<()> {
        let Self { state, actor, tx } = self;
        let (keys, now) = (&state.audit_keys, state.now());
        Ok(audit::commit_change(tx, keys, now, actor, event, None, detail.to_string()).await?)
    }
}

/// Checks human-readable text: not empty, one line, at most `most` bytes.
fn check_text(field: impl Into<String>, text: &str, most: usize) -> Result<()> {
    if text.trim().is_empty() {
        return Err(Error::field(field, "must not be empty"));
    }
    if text.len() > most {
        return Err(Error::field(field, format!("must have at most {most} bytes")));
    }
    if text.chars().any(char::is_control) {
        return Err(Error::field(field, "must not contain control characters"));
    }
    Ok(())
}
