//! `Authorization: Basic base64(username:password)` (RFC 7617).

use serde::{Deserialize, Serialize};

use super::kind::{CredentialKind, KindField, SecretForm};
use super::settings::KindSettings;

pub(super) const KIND: CredentialKind = CredentialKind {
    name: "basic",
    label: "Basic",
    explanation: "Sent as a user name and password (HTTP Basic).",
    description: "RFC 7617. The secret is `{\"username\", \"password\"}` or `username:password`.",
    secret: SecretForm::Fields(&[
        KindField::line("username", "User name", "").unkept(),
        KindField::secret("password", "Password"),
    ]),
    secret_words: "`user:password` or object",
    example: "`--auth basic`",
    ..CredentialKind::PLAIN
};

/// Settings of a user name and password, which has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BasicPair {}

impl KindSettings for BasicPair {
    fn summary(&self) -> Option<String> {
        Some("HTTP Basic".to_owned())
    }
}
