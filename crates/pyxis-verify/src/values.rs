//! Schemas of names and small values in bodies and parameters.

use pyxis_core::proof::Kind;
use pyxis_http::openapi::text_enum;
use pyxis_store::attestation_keys::Scheme;
use pyxis_store::block_clocks::ClockKind;
use pyxis_store::proof_log::Change;
use pyxis_store::proofs::Ended;
use utoipa::openapi::ObjectBuilder;
use utoipa::openapi::schema::{SchemaType, Type};

use crate::error::COUNTRY;
use crate::verdict::{CheckVerdict, Reason};

/// Reason of a voter whose score is too low.
pub(crate) const BELOW_THRESHOLD: &str = "below_threshold";
/// Reason of a voter whose score is 0.
pub(crate) const NO_SCORE: &str = "no_score";

/// Code of a batch entry that is not an address.
pub(crate) const INVALID_ADDRESS: &str = "invalid_address";

pyxis_http::value_schemas! {
    pub(crate) KindName = text_enum(Kind::ALL.map(Kind::as_str));
    pub(crate) SybilKind = text_enum(Kind::ALL.into_iter().filter(|kind| kind.is_sybil_resistance()).map(Kind::as_str));
    pub(crate) StrategyKind = text_enum(
        Kind::ALL.into_iter().filter(|kind| kind.has_sybil_strategy()).map(Kind::as_str)
    );
    pub(crate) Country = text_enum([COUNTRY]);
    /// With `explain=true`.
    pub(crate) VerificationReason = text_enum(Reason::ALL.map(CheckVerdict::Invalid).map(CheckVerdict::reason).into_iter()
        .chain([CheckVerdict::Valid(None).reason()]));
    /// With `explain=true`: `valid`, a fault of the score, or the fault of a required proof.
    pub(crate) VoteReason = text_enum(Reason::ALL.map(CheckVerdict::Invalid).map(CheckVerdict::reason).into_iter()
        .chain([CheckVerdict::Valid(None).reason(), BELOW_THRESHOLD, NO_SCORE]));
    pub(crate) ClockName = text_enum(ClockKind::ALL.iter().map(|one| one.as_str()));
    pub(crate) ProofEnd = text_enum(Ended::ALL.iter().map(|one| one.as_str()));
    pub(crate) LogChange = text_enum(Change::ALL.iter().map(|one| one.as_str()));
    pub(crate) SchemeName = text_enum(Scheme::ALL.iter().map(|one| one.as_str()));
    pub(crate) EntryErrorCode = text_enum([INVALID_ADDRESS]);
    pub(crate) ZeroOrOne = ObjectBuilder::new().schema_type(Type::Integer).enum_values(Some([0, 1]));
    pub(crate) TextOrInteger = ObjectBuilder::new().schema_type(SchemaType::from_iter([Type::String, Type::Integer]));
    pub(crate) RevokedWord = text_enum(["revoked"]);
    pub(crate) StatementStatus = text_enum(["registered", "revoked", "rebound"]);
}
