//! A signing sidecar: the credential's connector, not a configuration of its own.

use super::connector::Connector;
use super::kind::{CredentialKind, KindField, KindGroup, SecretForm};

pub(super) const KIND: CredentialKind = CredentialKind {
    name: "sidecar",
    group: KindGroup::Elsewhere,
    label: "Sidecar",
    explanation: "Requests go to a signing sidecar, which signs and forwards them.",
    settings: &[KindField::line("api_base", "Sidecar address", "http://127.0.0.1:8080")
        .hint("Requests are sent here; the allowed hosts below bind the real target.")],
    secret: SecretForm::Text(
        KindField::secret("secret", "Sidecar token")
            .optional()
            .with_note("optional, write-only")
            .hint("Sent to the sidecar as a bearer token, and only to the sidecar."),
    ),
    connector: Connector::Sidecar,
    ..CredentialKind::PLAIN
};
