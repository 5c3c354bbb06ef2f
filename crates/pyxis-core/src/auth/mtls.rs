//! A client certificate. The secret has `certificate` (a chain) and `private_key`, both PEM.

use serde::{Deserialize, Serialize};

use super::kind::{CredentialKind, KindField, KindGroup, SecretForm};
use super::settings::KindSettings;

pub(super) const KIND: CredentialKind = CredentialKind {
    name: "mtls",
    group: KindGroup::Signature,
    label: "Client certificate",
    explanation: "The TLS connection presents a client certificate.",
    description: "A client certificate. The secret has `certificate` (a chain) and `private_key`, both PEM.",
    secret: SecretForm::Fields(&[
        KindField::line("certificate", "Certificate", "-----BEGIN CERTIFICATE-----")
            .lines()
            .hint("PEM: the client certificate, followed by any intermediate certificates."),
        KindField::PRIVATE_KEY,
    ]),
    secret_words: "object: `certificate`, `private_key`, both PEM",
    example: "`--auth mtls --secret-file identity.json`",
    is_secret: |name| name != "certificate",
    is_derived: true,
    has_pem_key: true,
    ..CredentialKind::PLAIN
};

/// Settings of a client certificate, which has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientCertificate {}

impl KindSettings for ClientCertificate {}
