//! Settings of Microsoft Teams.

use pyxis_core::BoxError;
use pyxis_core::chat::ChatPlatform;

use crate::config::ChatSettings;
use crate::notifications::channels::endpoints::{Endpoints, default_of};
use crate::notifications::channels::settings::{SettingKey, SettingsSource};

pub(super) const KEYS: &[SettingKey] = &[
    SettingKey::new(
        "teams_webhooks",
        "",
        "Webhooks of workflows in Microsoft Teams, one `NAME=URL` per line; or name a file with \
         `PX_TEAMS_WEBHOOKS_FILE`. Policies name them, and the URLs are secrets. Empty: no Microsoft Teams.",
    ),
    SettingKey::new(
        "teams_channel",
        "",
        "Name of the webhook for workspaces and policies that name none. Empty: no messages for them.",
    ),
];

/// Settings of Microsoft Teams.
#[derive(Clone, Debug)]
pub struct TeamsConfig {
    /// Webhooks.
    pub endpoints: Endpoints,
}

pub(super) fn read(source: &dyn SettingsSource, chats: &mut ChatSettings) -> Result<(), BoxError> {
    let endpoints = Endpoints::read(source, "teams_webhooks")?;
    let default = default_of(source, "teams_channel", &endpoints)?;
    if endpoints.is_empty() {
        return Ok(());
    }
    if let Some(name) = default {
        chats.set_room(ChatPlatform::TEAMS, Some(name));
    }
    chats.insert(TeamsConfig { endpoints });
    Ok(())
}
