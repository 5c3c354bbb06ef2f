//! One or more headers, each from a format.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::check;
use super::kind::{CredentialKind, HeaderUse, KindField, SecretForm};
use super::settings::{KindSettings, SettingError};

/// Names of fields that identify someone.
const IDENTIFIERS: [&str; 16] = [
    "user",
    "username",
    "user_name",
    "login",
    "email",
    "account",
    "organization",
    "org",
    "project",
    "tenant",
    "region",
    "name",
    "id",
    "client_id",
    "app_id",
    "key_id",
];

pub(super) const KIND: CredentialKind = CredentialKind {
    name: "header",
    label: "Headers",
    explanation: "Sent in one or more headers of your choice, each made from a format.",
    description: "One header, or several.",
    headers: Some(HeaderUse {
        is_flat: true,
        name: "X-Api-Key",
        format: "{secret}",
        hint: &[
            "",
            "{secret}",
            " stands for the secret. If the secret is a JSON object, ",
            "{secret.field}",
            " stands for one of its fields.",
        ],
    }),
    secret: SecretForm::TextOrObject(
        KindField::SECRET
            .secret_lines()
            .hint("One value, or a JSON object of strings if the formats name fields."),
    ),
    secret_words: "text or object",
    example: "`--auth header --auth-name X-Api-Key --auth-format '{secret}'`",
    is_secret: |name| !IDENTIFIERS.contains(&name.to_ascii_lowercase().as_str()),
    ..CredentialKind::PLAIN
};

/// The headers of [`Auth::Header`](super::Auth::Header).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Headers {
    /// One, written flat.
    One(HeaderFormat),
    Several(HeaderList),
}

/// Several headers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeaderList {
    /// The headers to set.
    pub headers: Vec<HeaderFormat>,
}

impl Headers {
    /// The headers to set.
    pub fn list(&self) -> &[HeaderFormat] {
        match self {
            Self::One(header) => std::slice::from_ref(header),
            Self::Several(several) => &several.headers,
        }
    }
}

/// A header and the text to put there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HeaderFormat {
    /// Header name.
    #[schema(example = "X-Api-Key")]
    pub name: String,
    /// Text with `{secret}` or `{secret.field}` in it; default `{secret}`.
    #[serde(default = "default_format")]
    #[schema(default = "{secret}")]
    pub format: String,
}

fn default_format() -> String {
    "{secret}".to_owned()
}

impl KindSettings for Headers {
    fn check(&self) -> Result<(), SettingError> {
        if self.list().is_empty() {
            return Err(SettingError::new("auth.headers", "name at least one header"));
        }
        self.list().iter().try_for_each(|header| {
            check::header_name(&header.name)?;
            if !header.format.contains("{secret") {
                return Err(SettingError::new("auth.format", "must contain {secret} or {secret.field}"));
            }
            Ok(())
        })
    }

    fn summary(&self) -> Option<String> {
        let names: Vec<_> = self.list().iter().map(|header| header.name.as_str()).collect();
        let noun = if names.len() == 1 { "Header" } else { "Headers" };
        Some(format!("{noun} {}", names.join(", ")))
    }
}
