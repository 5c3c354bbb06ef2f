//! Configured chats that the bot cannot work in, as the command line, the page and the metric report them.

use pyxis_core::chat::ChatPlatform;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::WorkspaceId;
use pyxis_store::chat_messages;

use super::moves;
use crate::error::Result;
use crate::runtime::state::State;

/// A configured chat that the bot cannot work in.
#[derive(Clone, Debug)]
pub struct UnreachableChat {
    /// Workspace whose settings or policies name it.
    pub workspace: WorkspaceId,
    pub platform: ChatPlatform,
    /// Chat or room, as it is configured.
    pub chat: String,
    /// Reason, and the remedy.
    pub why: String,
    /// Time when this became known.
    pub since: UnixMillis,
}

/// The chats of a platform that the last examination found unusable, or that refused the newest message.
pub(crate) async fn list(state: &State, platform: ChatPlatform) -> Result<Vec<UnreachableChat>> {
    let problems = state.chat_examinations.problems(platform);
    let refused = chat_messages::unreachable(&state.store, platform).await?;
    if problems.is_empty() && refused.is_empty() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for (workspace, chat) in moves::configured(&state.store, &state.config, platform).await? {
        let message = refused.iter().find(|row| row.workspace_id == workspace && row.chat == chat);
        let examined = problems.get(&chat);
        let since = message.map(|row| row.created_at).into_iter().chain(examined.map(|found| found.since));
        let Some(since) = since.min() else { continue };
        // An examination knows the state of the chat; a message was refused some time ago.
        let why = examined.map_or_else(
            || {
                let said = message.and_then(|row| row.error.as_deref()).unwrap_or_default();
                format!("a message was refused: add the bot to the chat again, or name another one ({said})")
            },
            |found| found.why.clone(),
        );
        found.push(UnreachableChat { workspace, platform, chat, why, since });
    }
    Ok(found)
}
