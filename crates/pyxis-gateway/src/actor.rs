//! Who makes an administrative change, and the record of it.

use pyxis_core::id::{UserId, WorkspaceId};
use pyxis_store::audit::{self, Record};
use pyxis_store::{Event, Tx};
use serde_json::Value;

use crate::error::Result;
use crate::state::State;

/// The maker of a change, within one workspace.
#[derive(Clone, Debug)]
pub struct Actor {
    /// The workspace that is changed.
    pub workspace: WorkspaceId,
    /// `user:<id>` or `cli`.
    pub id: String,
    /// E-mail address, or who ran the command.
    pub name: String,
}

impl Actor {
    /// A signed-in person.
    pub fn user(workspace: WorkspaceId, user: UserId, email: &str) -> Self {
        Self { workspace, id: format!("user:{user}"), name: email.to_owned() }
    }

    /// The command line on the machine itself.
    pub fn cli(workspace: WorkspaceId) -> Self {
        Self { workspace, id: "cli".to_owned(), name: "command line".to_owned() }
    }
}

/// One change under way: the change, its audit record and the news of it commit together.
pub(crate) struct Change<'a> {
    pub(crate) state: &'a State,
    pub(crate) actor: &'a Actor,
    pub(crate) tx: Tx,
}

impl<'a> Change<'a> {
    pub(crate) async fn begin(state: &'a State, actor: &'a Actor) -> Result<Self> {
        Ok(Self { state, actor, tx: state.store.begin().await? })
    }

    /// Records the change and commits. `credential` and `detail` must hold no secret.
    pub(crate) async fn commit(
        mut self,
        kind: &'static str,
        credential: Option<&str>,
        detail: Value,
    ) -> Result<()> {
        let mut record = Record::new(self.state.now(), kind);
        record.workspace_id = Some(self.actor.workspace);
        record.actor.clone_from(&self.actor.id);
        record.actor_name.clone_from(&self.actor.name);
        record.credential = credential.map(str::to_owned);
        record.detail = detail.to_string();
        audit::append_in(&mut self.tx, &self.state.audit_keys, &[record]).await?;
        self.tx.notify(Event::Configuration);
        self.tx.commit().await?;
        Ok(())
    }
}
