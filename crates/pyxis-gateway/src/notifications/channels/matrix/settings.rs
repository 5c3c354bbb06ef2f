//! Settings of the Matrix bot.

use pyxis_core::BoxError;
use pyxis_core::secret::SecretString;

use crate::config::ChatSettings;
use crate::notifications::channels::settings::{SettingKey, SettingsSource, origin};

pub(super) const KEYS: &[SettingKey] = &[
    SettingKey::new(
        "matrix_homeserver",
        "",
        "Origin of the Matrix homeserver, the second chat channel. Empty: no Matrix.",
    ),
    SettingKey::new(
        "matrix_access_token",
        "",
        "Access token of the Matrix bot; or name a file with `PX_MATRIX_ACCESS_TOKEN_FILE`.",
    ),
];

/// Settings of the Matrix bot.
#[derive(Clone, Debug)]
pub struct MatrixConfig {
    /// Origin of the homeserver, without a trailing slash.
    pub homeserver: String,
    /// Access token of the bot.
    pub token: SecretString,
}

pub(super) fn read(source: &dyn SettingsSource, chats: &mut ChatSettings) -> Result<(), BoxError> {
    let token = source.secret("matrix_access_token")?;
    if source.text("matrix_homeserver")?.trim().is_empty() {
        return Ok(());
    }
    let homeserver = origin(source, "matrix_homeserver")?;
    let token = token.ok_or("PX_MATRIX_HOMESERVER needs PX_MATRIX_ACCESS_TOKEN")?;
    chats.insert(MatrixConfig { homeserver, token });
    Ok(())
}
