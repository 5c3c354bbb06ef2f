//! A signature over parts of the request, in headers.

use serde::{Deserialize, Serialize};

use super::check;
use super::header::HeaderFormat;
use super::kind::{CredentialKind, HeaderUse, KindField, KindGroup, SecretForm};
use super::settings::{KindSettings, SettingError};

pub(super) const KIND: CredentialKind = CredentialKind {
    name: "hmac",
    group: KindGroup::Signature,
    label: "HMAC",
    explanation: "Parts of each request are signed with a shared key. Headers carry the signature.",
    description: "HMAC over parts of the request. Templates name `{method}`, `{host}`, `{path}`, `{query}`, `{target}`, `{body}`, `{body_sha256}`, `{timestamp}`, `{timestamp_ms}`, `{timestamp_iso}`, `{nonce}`, `{secret.field}`, and in headers `{signature}`. The secret is the key, or an object with `key`.",
    settings: &[
        KindField::line("content", "Signed content", r"{timestamp}{method}{target}{body}").lines().hint(
            r"Placeholders for parts of the request: {method}, {host}, {path}, {query}, {target}, {body}, {body_sha256}, {timestamp}, {timestamp_ms}, {timestamp_iso}, {nonce}, {secret.id}. \n is a line break.",
        ),
        KindField::choice(
            "hash",
            "Hash",
            &[("sha256", "SHA-256"), ("sha512", "SHA-512"), ("sha1", "SHA-1, for old APIs")],
        ),
        KindField::choice(
            "key_encoding",
            "Key encoding",
            &[("text", "Text: its bytes are the key"), ("hex", "Hexadecimal"), ("base64", "Base64")],
        ),
        KindField::choice(
            "signature_encoding",
            "Signature encoding",
            &[("hex", "Hexadecimal"), ("base64", "Base64"), ("base64url", "Base64 for URLs")],
        ),
    ],
    headers: Some(HeaderUse {
        is_flat: false,
        name: "X-Signature",
        format: "{signature}",
        hint: &[
            "",
            "{signature}",
            " stands for the signature, and belongs into one of them; the parts of the request and ",
            "{secret.id}",
            " may stand there too.",
        ],
    }),
    secret: SecretForm::Fields(&[
        KindField::secret("key", "Key"),
        KindField::line("id", "Key id", "")
            .optional()
            .hint("For APIs that need to know which key signed. Use it as {secret.id}."),
    ]),
    secret_words: "the key, or an object with `key`",
    example: "see [HMAC](#hmac)",
    is_derived: true,
    ..CredentialKind::PLAIN
};

/// A signature over parts of the request.
///
/// Texts are templates: `{method}`, `{host}`, `{path}`, `{query}`, `{target}` (path and query as on the wire), `{body}`,
/// `{body_sha256}` (hexadecimal digits). Also `{timestamp}` (seconds), `{timestamp_ms}`, `{timestamp_iso}`, `{nonce}` and
/// `{secret.field}`. In headers also `{signature}`. `\n` is a line end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hmac {
    /// The hash under the HMAC.
    #[serde(default)]
    pub hash: HmacHash,
    /// Template of the signed text.
    pub content: String,
    /// Encoding of the secret's `key`.
    #[serde(default)]
    pub key_encoding: KeyEncoding,
    #[serde(default)]
    pub signature_encoding: SignatureEncoding,
    /// The headers to set; at least one contains the signature.
    pub headers: Vec<HeaderFormat>,
}

/// Hashes of [`Hmac`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HmacHash {
    /// SHA-1, for old APIs.
    Sha1,
    #[default]
    Sha256,
    Sha512,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyEncoding {
    /// The bytes of the text itself.
    #[default]
    Text,
    /// Hexadecimal digits.
    Hex,
    Base64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SignatureEncoding {
    /// Hexadecimal digits, lower case.
    #[default]
    Hex,
    Base64,
    /// Base64 for URLs, without padding.
    Base64url,
}

impl KindSettings for Hmac {
    fn check(&self) -> Result<(), SettingError> {
        if self.headers.is_empty() {
            return Err(SettingError::new("auth.headers", "name at least one header"));
        }
        if !self.headers.iter().any(|header| header.format.contains("{signature}")) {
            return Err(SettingError::new("auth.headers", "put {signature} into one of them"));
        }
        self.headers.iter().try_for_each(|header| check::header_name(&header.name))
    }
}
