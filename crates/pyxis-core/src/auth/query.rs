//! A query parameter.

use serde::{Deserialize, Serialize};

use super::kind::{CredentialKind, KindField};
use super::settings::{KindSettings, SettingError};

pub(super) const KIND: CredentialKind = CredentialKind {
    name: "query",
    label: "Query",
    explanation: "Added to the URL as a query parameter.",
    description: "A query parameter.",
    settings: &[KindField::line("parameter", "Parameter", "api_key")],
    example: "`--auth query --set parameter=api_key`",
    ..CredentialKind::PLAIN
};

/// Settings of a query parameter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueryParameter {
    /// The parameter's name.
    #[serde(alias = "name")]
    pub parameter: String,
}

impl KindSettings for QueryParameter {
    fn check(&self) -> Result<(), SettingError> {
        if self.parameter.is_empty() {
            return Err(SettingError::new("auth.parameter", "must not be empty"));
        }
        Ok(())
    }

    fn summary(&self) -> Option<String> {
        Some(format!("Query parameter {}", self.parameter))
    }
}
