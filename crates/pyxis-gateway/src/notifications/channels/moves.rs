//! Chats that become others: a Telegram group that became a supergroup, a Matrix room that was upgraded. Every setting
//! that names the one then names the other, and what still asks is posted there.

use std::collections::BTreeSet;

use pyxis_core::actor::{Actor, ActorId};
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::chat::ChatPlatform;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::WorkspaceId;
use pyxis_core::policy::Policy;
use pyxis_store::audit::AuditedStore;
use pyxis_store::{Store, chat_identities, chat_messages, credentials, policies, workspaces};
use serde_json::json;

use crate::config::Config;
use crate::error::{Error, Result};
use crate::runtime::state::State;

/// Every chat of a platform that a workspace, a policy or the operator names, with the workspace.
pub(crate) async fn configured(
    store: &Store,
    config: &Config,
    platform: ChatPlatform,
) -> Result<BTreeSet<(WorkspaceId, String)>> {
    let mut chats = BTreeSet::new();
    for workspace in workspaces::list(store).await? {
        let mut add = |setting: &str| {
            chats.extend(platform.rooms_of(setting).into_iter().map(|chat| (workspace.id, chat)));
        };
        match chat_identities::default_chat(store, workspace.id, platform).await? {
            Some(chat) => add(&chat),
            None => config.chats.room(platform).into_iter().for_each(&mut add),
        }
        for row in policies::list(store, workspace.id).await? {
            let policy = read(&row.document)?;
            policy.rooms_on(platform).for_each(&mut add);
        }
    }
    Ok(chats)
}

/// Changes every setting that names the chat `from` to `to`, with an audit record in each workspace. Where another node
/// did that before, nothing is left to change.
pub(super) async fn rename_chat(state: &State, platform: ChatPlatform, from: &str, to: &str) -> Result<()> {
    if from == to {
        return Ok(());
    }
    for workspace in workspaces::list(&state.store).await? {
        // A concurrent policy change wins; try again.
        while !follow_in(&state.audited, state.now(), workspace.id, platform, from, to).await? {}
    }
    state.work.wake_chats(platform);
    Ok(())
}

/// False where a policy changed meanwhile, and nothing was done.
async fn follow_in(
    audited: &AuditedStore,
    now: UnixMillis,
    workspace: WorkspaceId,
    platform: ChatPlatform,
    from: &str,
    to: &str,
) -> Result<bool> {
    let actor = Actor { workspace, id: ActorId::System, name: platform.as_str().to_owned() };
    let mut change = audited.begin(&actor).await?;
    let moved = (from, to);
    let default = chat_identities::replace_default_chat(&mut change.tx, workspace, platform, moved).await?;
    let mut changed = Vec::new();
    for row in policies::list(&mut change.tx, workspace).await? {
        let (id, mut policy) = (row.credential_id, read(&row.document)?);
        if !policy.rename_room(platform, from, to) {
            continue;
        }
        let document = serde_json::to_string(&policy).map_err(|error| Error::Internal(error.into()))?;
        let put = policies::replace_if_unchanged(
            &mut change.tx,
            workspace,
            id,
            &document,
            row.version,
            &actor.name,
            now,
        );
        if put.await?.is_none() {
            return Ok(false);
        }
        changed.extend(credentials::find(&mut change.tx, workspace, id).await?.map(|row| row.name));
    }
    let messages = chat_messages::rename_chat(&mut change.tx, workspace, platform, moved, now).await?;
    if !default && changed.is_empty() && messages == 0 {
        return Ok(true);
    }
    tracing::info!(platform = platform.as_str(), from, to, "a chat moved; the settings now name the new one");
    let detail = json!({
        "platform": platform.as_str(), "from": from, "to": to, "default": default, "policies": changed,
    });
    change.commit(AuditEvent::ChatMoved, detail).await?;
    Ok(true)
}

fn read(document: &str) -> Result<Policy> {
    Policy::from_json(document.as_bytes()).map_err(|error| Error::Internal(Box::new(error)))
}
