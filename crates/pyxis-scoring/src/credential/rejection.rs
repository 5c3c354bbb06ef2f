//! Why a credential is refused.

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;

/// A place that takes more bytes to say is not said from the start.
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
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
    },
    /// Two readers could disagree on which of the two counts.
    #[error("the key {key} occurs twice in one object; send the credential as it was issued")]
    DuplicateKey {
        /// The key, shortened.
        key: String,
    },
    /// Something that must be there is not.
    #[error("{field} is missing; send the credential as it was issued")]
    MissingField {
        /// Where, for example `proof.created`.
        field: String,
    },
    /// Something is of another form than it must be.
    #[error("{field} must be {expected}; send the credential as it was issued")]
    WrongForm {
        /// Where.
        field: String,
        /// The form it must have.
        expected: &'static str,
    },
    /// `type` or `@context` is that of something else.
    #[error("not a Verifiable Credential of version 1: look at type and @context")]
    NotACredential,
    /// The proof is of a type that is not known.
    #[error("unknown proof type; supported are EthereumEip712Signature2021 and Ed25519Signature2018")]
    UnsupportedProof,
    /// A proof made for something else than issuing.
    #[error("the proof is not made for assertionMethod; ask the issuer for a credential that is")]
    WrongProofPurpose,
    /// The proof names a key that is not the issuer's.
    #[error("verificationMethod is not a key of the issuer; both must carry the same DID")]
    WrongVerificationMethod,
    /// The typed data cannot be hashed, or could be read in two ways.
    #[error("the typed data of the proof is invalid ({reason}); ask the issuer for a credential by EIP-712")]
    InvalidTypedData {
        /// Fault of the typed data.
        reason: &'static str,
    },
    /// Signed for another purpose than credentials.
    #[error("the domain of the typed data is not that of a credential: {difference}; sign under that domain")]
    WrongDomain {
        /// Each member that differs, and what it must be.
        difference: String,
    },
    /// Something in the credential that the signature does not cover.
    #[error("{field} is not covered by the signature; send the credential as it was issued")]
    UnsignedProperty {
        /// Where, shortened.
        field: String,
    },
    /// The signature does not have the form of one.
    #[error("malformed signature: {expected}")]
    MalformedSignature {
        /// The form it must have.
        expected: &'static str,
    },
    /// The second of the two signatures that everybody can derive from one.
    #[error("the signature has a high s; send it in its canonical form, as it was issued")]
    HighS,
    /// The signature is not that of the issuer over this content.
    #[error("the signature is not the issuer's over this content; send the credential as it was issued")]
    SignatureMismatch,
    /// The issuer is of a kind that cannot make this proof.
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
    /// A date is not one.
    #[error("{field} must be a date and time by RFC 3339, for example 2026-01-31T09:05:00Z")]
    InvalidDate {
        /// Where.
        field: String,
    },
    /// Issued later than now.
    #[error("issued in the future, at {at:?}; check the clocks of issuer and server")]
    IssuedInFuture {
        /// The issuance.
        at: UnixMillis,
    },
    /// No longer valid.
    #[error("expired at {at:?}; ask the issuer for a new credential")]
    Expired {
        /// The expiry.
        at: UnixMillis,
    },
    /// Never valid.
    #[error("expires before it is issued; ask the issuer for a new credential")]
    ExpiresBeforeIssuance,
    /// The subject is no address.
    #[error(
        "credentialSubject.id must be did:pkh:eip155:1: and an address of 0x and 40 hexadecimal digits, not {found:?}"
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
    /// `provider` cannot be the name of a Stamp.
    #[error(
        "credentialSubject.provider is not a Stamp name: up to 200 printable ASCII characters, no spaces"
    )]
    InvalidProvider,
    /// No nullifier, too many, equal or malformed ones.
    #[error("nullifiers are invalid: {expected}")]
    InvalidNullifiers {
        /// What they must be.
        expected: &'static str,
    },
    /// A JSON-LD context that is not known, or defines what it must not.
    #[error("{field} is not a context that is supported; use the credentials context and plain terms")]
    UnsupportedContext {
        /// Where.
        field: String,
    },
    /// The signature does not tell the Stamp name from the nullifiers.
    #[error("under Ed25519Signature2018 a nullifier must contain a colon and a Stamp name must not")]
    AmbiguousProperties,
}

impl Rejection {
    /// A name for programs, which does not change.
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

    /// The same about the field as seen from one level further out, where `parent` holds it.
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

/// A key of a stranger, fit for one line of a log.
pub(super) fn shortened(key: &str) -> String {
    key.chars().take(64).flat_map(char::escape_debug).collect()
}
