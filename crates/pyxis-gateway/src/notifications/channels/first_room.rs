//! The room that the settings name for the first workspace.

use pyxis_core::actor::{Actor, ActorId};
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::chat::ChatPlatform;
use pyxis_store::audit::AuditedStore;
use pyxis_store::{Store, chat_identities, workspaces};
use serde_json::json;

use super::settings::SettingKey;
use crate::error::Result;

/// Gives the first workspace the room of the setting `key`, unless it has one. Other workspaces may belong to other
/// people.
pub(super) async fn set(
    store: &Store,
    audited: &AuditedStore,
    platform: ChatPlatform,
    key: &'static str,
    room: Option<&str>,
) -> Result<()> {
    let Some(room) = room else { return Ok(()) };
    let Some(first) = workspaces::list(store).await?.into_iter().map(|found| found.id).min() else {
        return Ok(());
    };
    let actor = Actor { workspace: first, id: ActorId::System, name: platform.as_str().to_owned() };
    let mut change = audited.begin(&actor).await?;
    if chat_identities::default_chat(&mut change.tx, first, platform).await?.is_some() {
        return Ok(());
    }
    chat_identities::set_default_chat(&mut change.tx, first, platform, Some(room)).await?;
    let detail = json!({ platform.spec().room_field: room, "by": SettingKey::variable(key) });
    Ok(change.commit(AuditEvent::SettingsChanged, detail).await?)
}
