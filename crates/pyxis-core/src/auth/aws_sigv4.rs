//! AWS Signature Version 4. The secret has `access_key_id`, `secret_access_key` and optionally `session_token`.

use serde::{Deserialize, Serialize};

use super::check;
use super::kind::{CredentialKind, KindField, KindGroup, SecretForm};
use super::settings::{KindSettings, SettingError};

pub(super) const KIND: CredentialKind = CredentialKind {
    name: "aws_sigv4",
    group: KindGroup::Signature,
    label: "AWS",
    explanation: "Each request is signed with AWS Signature Version 4.",
    description: "Signature Version 4 of Amazon Web Services. The secret has `access_key_id`, `secret_access_key` and perhaps `session_token`.",
    settings: &[
        KindField::line("region", "Region", "eu-central-1"),
        KindField::line("service", "Service", "s3")
            .hint("The service name in host names, such as s3, sts or execute-api."),
    ],
    secret: SecretForm::Fields(&[
        KindField::line("access_key_id", "Access key id", "AKIA…"),
        KindField::secret("secret_access_key", "Secret access key"),
        KindField::secret("session_token", "Session token")
            .optional()
            .hint("Only for temporary credentials."),
    ]),
    secret_words: "object: `access_key_id`, `secret_access_key`, `session_token` (optional)",
    example: "`--auth aws_sigv4 --set region=eu-central-1 --set service=s3`",
    is_secret: |name| name != "access_key_id",
    is_derived: true,
    // A signature for one service or region is invalid for another.
    shares_probes: false,
    ..CredentialKind::PLAIN
};

/// Scope of an AWS signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AwsScope {
    /// For example `eu-central-1`.
    pub region: String,
    /// For example `s3`.
    pub service: String,
}

impl KindSettings for AwsScope {
    fn check(&self) -> Result<(), SettingError> {
        check::part("auth.region", &self.region)?;
        check::part("auth.service", &self.service)
    }
}
