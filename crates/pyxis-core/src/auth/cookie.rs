//! A cookie.

use serde::{Deserialize, Serialize};

use super::check;
use super::kind::{CredentialKind, KindField};
use super::settings::{KindSettings, SettingError};

pub(super) const KIND: CredentialKind = CredentialKind {
    name: "cookie",
    label: "Cookie",
    explanation: "Sent as a cookie.",
    description: "A cookie.",
    settings: &[KindField::line("cookie_name", "Cookie name", "session").member("name")],
    secret_words: "text: the value of one cookie without its name, in the characters of RFC 6265 (no `;`, `,`, space, `\"` inside or `\\`)",
    example: "`--auth cookie --set name=session`",
    ..CredentialKind::PLAIN
};

/// Settings of a cookie.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CookieName {
    /// The cookie's name.
    pub name: String,
}

impl KindSettings for CookieName {
    fn check(&self) -> Result<(), SettingError> {
        if !check::is_token(&self.name) {
            return Err(SettingError::new("auth.name", "must be a cookie name (RFC 6265 token)"));
        }
        Ok(())
    }

    fn summary(&self) -> Option<String> {
        Some(format!("Cookie {}", self.name))
    }
}
