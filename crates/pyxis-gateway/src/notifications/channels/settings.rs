//! The operator's settings of chat platforms, as a platform's folder describes and reads them.

use pyxis_core::BoxError;
use pyxis_core::secret::SecretString;

/// One setting.
#[derive(Debug)]
pub struct SettingKey {
    /// Name in `pyxis.toml`; the variable is `PX_` and the upper-case name.
    pub name: &'static str,
    /// Default, as text.
    pub default: &'static str,
    /// Description.
    pub meaning: &'static str,
}

impl SettingKey {
    /// A row of the table of settings.
    pub const fn new(name: &'static str, default: &'static str, meaning: &'static str) -> Self {
        Self { name, default, meaning }
    }

    /// Environment variable of the setting called `name`.
    pub fn variable(name: &str) -> String {
        format!("PX_{}", name.to_ascii_uppercase())
    }
}

/// Source of settings. Each key that is read must be one of the platform's [`SettingKey`]s.
pub trait SettingsSource {
    /// The configured text, or the default.
    fn text(&self, key: &'static str) -> Result<String, BoxError>;

    /// A secret, from its variable or from a file.
    fn secret(&self, key: &'static str) -> Result<Option<SecretString>, BoxError>;
}

/// An http or https origin, without a trailing slash.
pub(super) fn origin(source: &dyn SettingsSource, key: &'static str) -> Result<String, BoxError> {
    let text = source.text(key)?;
    let text = text.trim().trim_end_matches('/');
    let uri: Option<http::Uri> = text.parse().ok();
    let scheme = uri.as_ref().and_then(http::Uri::scheme_str);
    if matches!(scheme, Some("http" | "https")) && uri.as_ref().is_some_and(|uri| uri.host().is_some()) {
        return Ok(text.to_owned());
    }
    Err(format!("{} is {text:?}: it must be an http or https URL", SettingKey::variable(key)).into())
}

/// A whole number.
pub(super) fn number(source: &dyn SettingsSource, key: &'static str) -> Result<u64, BoxError> {
    let text = source.text(key)?;
    let wrong =
        |error| format!("{} is {text:?}: {error}; write a whole number", SettingKey::variable(key)).into();
    text.trim().parse().map_err(|error: std::num::ParseIntError| wrong(error))
}
