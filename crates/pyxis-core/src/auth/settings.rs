//! Settings of a kind, whatever the kind.

/// A setting that is not valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingError {
    /// Name of the setting, as in `auth.token_url`.
    pub field: &'static str,
    /// Rule that it breaks.
    pub detail: String,
}

impl SettingError {
    pub(super) fn new(field: &'static str, detail: impl Into<String>) -> Self {
        Self { field, detail: detail.into() }
    }
}

pub trait KindSettings {
    /// Checks the settings before they are stored.
    fn check(&self) -> Result<(), SettingError> {
        Ok(())
    }

    /// The kind with its settings in a few words, if they are worth showing: `Header X-Api-Key`.
    fn summary(&self) -> Option<String> {
        None
    }

    /// Scope of a kind that asks for one; empty means the provider's default.
    fn requested_scope(&self) -> Option<&str> {
        None
    }

    /// Name of the endpoint that gives tokens, unique among kinds.
    fn token_endpoint(&self) -> Option<String> {
        None
    }
}
