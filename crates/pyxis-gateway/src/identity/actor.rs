//! Administrative changes to the proxy.

pub use pyxis_core::actor::Actor;
use pyxis_core::audit_event::AuditEvent;
use pyxis_store::Tx;
use pyxis_store::audit;
use serde_json::Value;

use crate::error::Result;
use crate::runtime::state::State;

/// A change in progress. The change, its audit record and its event commit together.
pub(crate) struct Change<'a> {
    pub(crate) state: &'a State,
    pub(crate) actor: &'a Actor,
    pub(crate) tx: Tx,
}

impl<'a> Change<'a> {
    pub(crate) async fn begin(state: &'a State, actor: &'a Actor) -> Result<Self> {
        Ok(Self { state, actor, tx: state.store.begin().await? })
    }

    /// Records the change and commits. `credential` and `detail` must not contain secrets.
    pub(crate) async fn commit(
        self,
        event: AuditEvent,
        credential: Option<&str>,
        detail: Value,
    ) -> Result<()> {
        let Self { state, actor, tx } = self;
        let (keys, now) = (&state.audit_keys, state.now());
        Ok(audit::commit_change(tx, keys, now, actor, event, credential, detail.to_string()).await?)
    }
}
