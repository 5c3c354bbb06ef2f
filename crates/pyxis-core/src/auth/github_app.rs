//! An installation of a GitHub App. The secret is the app's private key as PEM.

use serde::{Deserialize, Serialize};

use super::check;
use super::kind::{CredentialKind, KindField, KindGroup, SecretForm};
use super::settings::{KindSettings, SettingError};

pub(super) const KIND: CredentialKind = CredentialKind {
    name: "github_app",
    group: KindGroup::Token,
    label: "GitHub App",
    explanation: "Requests carry the installation token of a GitHub App.",
    description: "An installation of a GitHub App. The secret is the app's private key as PEM.",
    settings: &[
        KindField::line("app_id", "App id", "123456")
            .hint("App id or client id, from the app's settings page."),
        KindField::line("installation_id", "Installation id", "98765432")
            .hint("The number at the end of the installation's URL."),
        KindField::line("api_url", "API URL", "https://api.github.com")
            .hint("Only for GitHub Enterprise Server.")
            .optional()
            .default("https://api.github.com"),
    ],
    secret: SecretForm::Fields(&[KindField::PRIVATE_KEY]),
    secret_words: "private key, PEM",
    example: "`--auth github_app --set app_id=12 --set installation_id=34 --secret-file app.pem`",
    // A key file as a provider hands it out, whose other fields are names and addresses.
    is_secret: |name| name.is_empty() || name == "private_key",
    is_derived: true,
    has_pem_key: true,
    ..CredentialKind::PLAIN
};

/// An installation of a GitHub App.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GithubApp {
    /// Id (or client id) of the app.
    pub app_id: String,
    pub installation_id: String,
    /// URL of the API; `https://api.github.com` unless you run your own server.
    #[serde(default = "github")]
    pub api_url: String,
}

fn github() -> String {
    "https://api.github.com".to_owned()
}

impl KindSettings for GithubApp {
    fn check(&self) -> Result<(), SettingError> {
        check::part("auth.app_id", &self.app_id)?;
        check::part("auth.installation_id", &self.installation_id)?;
        check::url("auth.api_url", &self.api_url)
    }

    fn token_endpoint(&self) -> Option<String> {
        Some(format!("app {}", self.api_url))
    }
}
