//! `Authorization: Bearer <secret>`.

use serde::{Deserialize, Serialize};

use super::kind::CredentialKind;
use super::settings::KindSettings;

pub(super) const KIND: CredentialKind = CredentialKind {
    name: "bearer",
    label: "Bearer token",
    explanation: "Sent as Authorization: Bearer followed by the secret. Most APIs use this.",
    description: "`Authorization: Bearer <SECRET>`.",
    example: "`pyxis credential add --name openai --preset openai --secret-env OPENAI_API_KEY`",
    ..CredentialKind::PLAIN
};

/// Settings of a bearer token, which has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BearerToken {}

impl KindSettings for BearerToken {}
