//! Parameters that several operations share.

use pyxis_http::openapi::{in_path, in_query, optional, text, text_enum};
use serde_json::json;
use utoipa::PartialSchema;
use utoipa::openapi::ObjectBuilder;
use utoipa::openapi::schema::Type;

use crate::values::{Address, ModelName, integer};

pyxis_http::parameters! {
    /// The scorer's number.
    pub(super) ScorerPath = in_path("scorer_id", integer().minimum(Some(1))).example(Some(json!(1)));
    /// Explain the score, in a member `explain`.
    pub(super) ExplainScore = optional("explain", switch());
    /// Sign the score: as a token (`jwt`), as typed data for EVM contracts (`eip712`), or as an attestation of EAS (`eas`).
    pub(super) SignedForm = optional("signed", text_enum(["jwt", "eip712", "eas"]));
    /// Form of the signature: a token (`jwt`), or typed data for EVM contracts (`eip712`).
    pub(super) ChallengedForm = in_query("signed", text_enum(["jwt", "eip712"])).example(Some(json!("jwt")));
    /// With `signed=eas`: UID of the schema, if it is registered with a resolver or cannot be revoked.
    pub(super) SchemaUid = optional("schema", text().pattern(Some("^0x[0-9A-Fa-f]{64}$")));
    /// With `signed=eip712` or `eas`: the chain of the contract that will verify the signature.
    pub(super) ChainId = optional(
        "chain_id",
        integer().minimum(Some(1)).maximum(Some(9_007_199_254_740_991_i64)).examples([json!(10)])
    );
    /// With `chain_id`: the contract that will verify the signature. No other contract accepts it.
    pub(super) VerifyingContract = optional("verifying_contract", Address::schema());
    /// Explain the score, in a member `explain`: the models it comes from with their weights, and for each the features
    /// that moved it.
    pub(super) ExplainModel = optional("explain", switch());
    /// Refuse the whole request if one entry is invalid, instead of reporting that entry in its place.
    pub(super) Strict = optional("strict", switch());
    /// Add `metadata` to each item.
    pub(super) IncludeMetadata = optional("include_metadata", switch());
    /// Stamps on a page.
    pub(super) PageLimit =
        optional("limit", integer().minimum(Some(1)).maximum(Some(1000)).default(Some(json!(1000))));
    /// Changes on a page.
    pub(super) ChangesLimit =
        optional("limit", integer().minimum(Some(1)).maximum(Some(100)).default(Some(json!(100))));
    /// `next` or `prev` of an earlier response.
    pub(super) PageToken = optional("token", text());
    /// Strictly before this moment. Formats: `YYYY-MM-DD`, the start of that day in UTC, or
    /// `YYYY-MM-DDThh:mm:ss.sssZ`, a time in UTC. It has 0 to 9 digits of a second, and `Z` or `+00:00`. Every
    /// time in a response has one of these forms.
    pub(super) CreatedBefore = in_query("created_at", text().examples(["2026-01-31", "2026-01-31T09:05:00.250Z", "2026-01-31T09:05:00.250000+00:00"]));
    /// The name of a Stamp, with `#` written `%23`. May be repeated.
    pub(super) Providers = in_query("provider", text());
    /// Name of one model.
    pub(super) ModelQuery = optional("model", ModelName::schema());
    /// Name of one model.
    pub(super) ModelList = optional("model_list", text().default(Some(json!("aggregate"))));
}

fn switch() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::Boolean).default(Some(json!(false)))
}
