//! Reasons for refusing a credential.

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;

/// A path longer than this, in bytes, is shortened at the start.
const LONGEST_PLACE: usize = 256;

/// The check that a credential failed. The message says what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// More bytes than any credential needs.
    #[error("longer than {max} bytes; send the credential without additions")]
    TooLarge {
        /// The limit.
        max: usize,
    },
    /// Nested too deeply, or too many members or types.
    #[error("more levels, members or types than a credential has; send it as it was issued")]
    TooComplex,
    /// Not JSON, or not an object.
    #[error("not a JSON object (line {line}, column {column}); send the credential as it was issued")]
    MalformedJson {
        /// Counted from 1.
        line: usize,
        /// Counted from 1.
        column: usize,
    },
    /// Duplicate key: two readers could disagree on which value counts.
    #[error("the key {key} occurs twice in one object; send the credential as it was issued")]
    DuplicateKey {
        /// The key, shortened.
        key: String,
    },
    /// A required field is missing.
    #[error("{field} is missing; send the credential as it was issued")]
    MissingField {
        /// Path, for example `proof.created`.
        field: String,
    },
    /// A field has the wrong form.
    #[error("{field} must be {expected}; send the credential as it was issued")]
    WrongForm {
        /// Path of the field.
        field: String,
        /// The required form.
        expected: &'static str,
    },
    /// `type` or `@context` is not that of a credential.
    #[error("not a Verifiable Credential of version 1: check type and @context")]
    NotACredential,
    /// The proof type is not supported.
    #[error("unknown proof type; supported are EthereumEip712Signature2021 and Ed25519Signature2018")]
    UnsupportedProof,
    /// The proof was made for a purpose other than issuing.
    #[error("the proof does not have the purpose assertionMethod; ask the issuer for a credential that does")]
    WrongProofPurpose,
    /// The proof names a key that is not the issuer's.
    #[error("verificationMethod is not a key of the issuer; both must carry the same DID")]
    WrongVerificationMethod,
    /// The typed data cannot be hashed, or is ambiguous.
    #[error(
        "the typed data of the proof is invalid ({reason}); ask the issuer for a credential that follows EIP-712"
    )]
    InvalidTypedData {
        /// Fault of the typed data.
        reason: &'static str,
    },
    /// Signed for a purpose other than credentials.
    #[error("the domain of the typed data is not that of a credential: {difference}; sign under that domain")]
    WrongDomain {
        /// Each member that differs, and its required value.
        difference: String,
    },
    /// The credential contains something that the signature does not cover.
    #[error("{field} is not covered by the signature; send the credential as it was issued")]
    UnsignedProperty {
        /// Path of the unsigned property, shortened.
        field: String,
    },
    #[error("malformed signature: {expected}")]
    MalformedSignature {
        /// The required form.
        expected: &'static str,
    },
    /// The second of the two signatures that anyone can derive from one.
    #[error("the signature has a high s; send it in its canonical form, as it was issued")]
    HighS,
    /// The signature is not the issuer's over this content.
    #[error("the signature does not match this issuer and content; send the credential as it was issued")]
    SignatureMismatch,
    /// An issuer of this kind cannot make this proof.
    #[error("issuer must be a DID of this proof type: {expected}")]
    InvalidIssuer {
        /// The kinds that can.
        expected: &'static str,
    },
    /// The issuer is not trusted here.
    #[error("the issuer {issuer} is not trusted here; an operator can add it to the issuers")]
    UnknownIssuer {
        /// Its DID.
        issuer: String,
    },
    /// A date field does not hold a date.
    #[error("{field} must be a date and time in RFC 3339 form, for example 2026-01-31T09:05:00Z")]
    InvalidDate {
        /// Path of the date field.
        field: String,
    },
    /// Issued later than now.
    #[error("issued in the future, at {at:?}; check the clocks of issuer and server")]
    IssuedInFuture {
        /// Time of issuance.
        at: UnixMillis,
    },
    /// No longer valid.
    #[error("expired at {at:?}; ask the issuer for a new credential")]
    Expired {
        /// Time of expiry.
        at: UnixMillis,
    },
    /// Expires before issuance, so never valid.
    #[error("expires before it is issued; ask the issuer for a new credential")]
    ExpiresBeforeIssuance,
    /// The subject is not an address.
    #[error(
        "credentialSubject.id must be did:pkh:eip155:1: followed by an address (0x and 40 hex characters), \
         not {found:?}"
    )]
    InvalidSubject {
        /// The subject, shortened.
        found: String,
    },
    /// The subject is another address.
    #[error("the credential is about another address, {subject}; send it for that address")]
    OtherSubject {
        /// The address in `credentialSubject.id`.
        subject: EvmAddress,
    },
    /// `provider` is not a valid Stamp name.
    #[error(
        "credentialSubject.provider is not a Stamp name: up to 200 printable ASCII characters, no spaces"
    )]
    InvalidProvider,
    /// No nullifiers, too many, or equal or malformed ones.
    #[error("nullifiers are invalid: {expected}")]
    InvalidNullifiers {
        /// The requirement.
        expected: &'static str,
    },
    /// An unknown JSON-LD context, or one with forbidden definitions.
    #[error("{field} is not a supported context; use the credentials context and plain terms")]
    UnsupportedContext {
        /// Path of the context.
        field: String,
    },
    /// The signature does not distinguish the Stamp name from the nullifiers.
    #[error("under Ed25519Signature2018 a nullifier must contain a colon and a Stamp name must not")]
    AmbiguousProperties,
}

impl Rejection {
    /// A stable name for programs.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::TooLarge { .. } => "too_large",
            Self::TooComplex => "too_complex",
            Self::MalformedJson { .. } => "malformed_json",
            Self::DuplicateKey { .. } => "duplicate_key",
            Self::MissingField { .. } => "missing_field",
            Self::WrongForm { .. } => "wrong_form",
            Self::NotACredential => "not_a_credential",
            Self::UnsupportedProof => "unsupported_proof",
            Self::WrongProofPurpose => "wrong_proof_purpose",
            Self::WrongVerificationMethod => "wrong_verification_method",
            Self::InvalidTypedData { .. } => "invalid_typed_data",
            Self::WrongDomain { .. } => "wrong_domain",
            Self::UnsignedProperty { .. } => "unsigned_property",
            Self::MalformedSignature { .. } => "malformed_signature",
            Self::HighS => "high_s",
            Self::SignatureMismatch => "signature_mismatch",
            Self::InvalidIssuer { .. } => "invalid_issuer",
            Self::UnknownIssuer { .. } => "unknown_issuer",
            Self::InvalidDate { .. } => "invalid_date",
            Self::IssuedInFuture { .. } => "issued_in_future",
            Self::Expired { .. } => "expired",
            Self::ExpiresBeforeIssuance => "expires_before_issuance",
            Self::InvalidSubject { .. } => "invalid_subject",
            Self::OtherSubject { .. } => "subject_mismatch",
            Self::InvalidProvider => "invalid_provider",
            Self::InvalidNullifiers { .. } => "invalid_nullifiers",
            Self::UnsupportedContext { .. } => "unsupported_context",
            Self::AmbiguousProperties => "ambiguous_properties",
        }
    }

    pub(super) fn missing(field: &str) -> Self {
        Self::MissingField { field: shortened(field) }
    }

    pub(super) fn form(field: &str, expected: &'static str) -> Self {
        Self::WrongForm { field: shortened(field), expected }
    }

    pub(super) fn unsigned(field: &str) -> Self {
        Self::UnsignedProperty { field: shortened(field) }
    }

    /// The same rejection with the field's path prefixed by `parent`.
    #[must_use]
    pub(super) fn within(mut self, parent: &str) -> Self {
        if let Self::MissingField { field }
        | Self::WrongForm { field, .. }
        | Self::UnsignedProperty { field }
        | Self::InvalidDate { field }
        | Self::UnsupportedContext { field } = &mut self
            && field.len() < LONGEST_PLACE
        {
            *field = format!("{}.{field}", shortened(parent));
        }
        self
    }
}

/// An untrusted key, shortened to fit one log line.
pub(super) fn shortened(key: &str) -> String {
    key.chars().take(64).flat_map(char::escape_debug).collect()
}
