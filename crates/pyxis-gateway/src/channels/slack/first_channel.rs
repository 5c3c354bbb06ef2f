//! The channel that the settings name for the first workspace.

use pyxis_core::actor::{Actor, ActorId};
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::chat::ChatPlatform;
use pyxis_store::{chat_identities, workspaces};
use serde_json::json;

use super::Bot;
use crate::error::Result;
use crate::runtime::state::State;

/// Gives the first workspace this channel, unless it has one. Other workspaces may belong to other people.
pub(super) async fn set(state: &State, bot: &Bot) -> Result<()> {
    const PLATFORM: ChatPlatform = ChatPlatform::SLACK;
    let Some(channel) = bot.config.channel.as_deref() else { return Ok(()) };
    let Some(first) = workspaces::list(&state.store).await?.into_iter().map(|found| found.id).min() else {
        return Ok(());
    };
    let actor = Actor { workspace: first, id: ActorId::System, name: PLATFORM.as_str().to_owned() };
    let mut change = state.audited.begin(&actor).await?;
    if chat_identities::default_chat(&mut change.tx, first, PLATFORM).await?.is_some() {
        return Ok(());
    }
    chat_identities::set_default_chat(&mut change.tx, first, PLATFORM, Some(channel)).await?;
    let detail = json!({ PLATFORM.spec().room_field: channel, "by": "PX_SLACK_CHANNEL" });
    Ok(change.commit(AuditEvent::SettingsChanged, detail).await?)
}
