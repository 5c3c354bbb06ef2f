//! Schemas of names and small values in bodies.

mod examples;

use pyxis_http::openapi::{in_path, text, text_enum};
use pyxis_models::scope::Model;
use serde_json::json;
use utoipa::openapi::schema::{ArrayBuilder, OneOfBuilder, SchemaType, Type};
use utoipa::openapi::{ObjectBuilder, Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::credential::example_credential;

pyxis_http::value_schemas! {
    /// An EVM address in lower case, in upper case, or with its checksum (ERC-55). Responses use lower case.
    pub(crate) Address = text().pattern(Some("^0x[0-9A-Fa-f]{40}$")).examples([SAMPLE]);
    /// A decimal number as text, with exactly five decimals.
    pub(crate) Amount = text().pattern(Some(r"^[0-9]+\.[0-9]{5}$")).examples(["35.76600"]);
    /// A decimal number, as text or number: up to 7 digits before and 5 after the point, not negative.
    pub(crate) AmountInput =
        ObjectBuilder::new().schema_type(SchemaType::from_iter([Type::String, Type::Number])).examples(["16.021"]);
    /// Contribution of each Stamp, by name; at most 2,000. A Stamp that is not named contributes nothing.
    pub(crate) WeightsInput = ObjectBuilder::new().additional_properties(Some(
        utoipa::openapi::Ref::from_schema_name("AmountInput")
    ));
    pub(crate) MicroTime = text().format(Some(pyxis_http::openapi::format("date-time")))
        .examples(["2026-01-31T09:05:00.250000+00:00"]);
    /// A display name: 1 to 100 bytes on one line.
    pub(crate) Label = text().min_length(Some(1)).max_length(Some(100));
    /// Requests in 15 minutes: 125, 350 or 2,000 for Stamps and 15, 350 or 2,000 for models. Tier 4 has its own limit.
    pub(crate) TierNumber = integer().minimum(Some(1)).maximum(Some(4));
    /// Requests in 15 minutes; only with tier 4, and required there.
    pub(crate) TierLimit = integer()
        .minimum(Some(2001))
        .maximum(Some(1_000_000_000));
    /// The fault: a sentence, or for a parameter a list.
    pub(crate) Detail = ObjectBuilder::new().property("detail", detail()).required("detail");
    /// A sentence, or a list of places and reasons.
    pub(crate) AnyDetail = ObjectBuilder::new().schema_type(SchemaType::from_iter([Type::String, Type::Array]));
    pub(crate) TextOrInteger = ObjectBuilder::new().schema_type(SchemaType::from_iter([Type::String, Type::Integer]));
    pub(crate) Null = ObjectBuilder::new().schema_type(Type::Null);
    pub(crate) Done = text_enum(["DONE"]);
    pub(crate) PageVersion = text_enum(["1.0.0"]);
    /// A custom model: the model that it answers for, its name, hashes of file and features, and operators. Then
    /// calibration, weight, and measured quality if known.
    pub(crate) CustomModel = ObjectBuilder::new().examples([examples::custom_model()]);
    /// Its size, median score, shared funder and sink, members that first bridged on the same day, transfers within, and
    /// up to 60 members.
    pub(crate) SuspectedGroup = ObjectBuilder::new().examples([examples::suspected_group()]);
    /// Origin and quality of the models.
    pub(crate) ModelsCard = ObjectBuilder::new().examples([examples::models_card()]);
    /// A Verifiable Credential of version 1.
    pub(crate) VerifiableCredential = ObjectBuilder::new().examples([example_credential(SAMPLE)]);
    pub(crate) AnyObject = ObjectBuilder::new();
    pub(crate) EntryErrorCode = text_enum([INVALID_ADDRESS]);
    pub(crate) SurfaceName = text_enum(["stamps", "models"]);
    pub(crate) StampStatusName = text_enum(["counts", "keeps_weight", "no_weight", "deduplicated", "expired", "not_yet_valid"]);
    pub(crate) ScoreReviewStateName = text_enum(["open", "granted", "declined"]);
    pub(crate) ScoreKeySchemeName = text_enum(["es256", "eip712"]);
    pub(crate) ScoreKeyStatus = text_enum(["next", "active", "retired", "withdrawn"]);
    pub(crate) ScoreJobStateName = text_enum(["queued", "running", "done", "canceled", "failed"]);
    /// Format of a download.
    pub(crate) TableFormatName = text_enum(["csv", "parquet"]).default(Some(json!("csv")));
    /// Format of a download of groups.
    pub(crate) ClusterFormatName = text_enum(["csv", "graphml"]).default(Some(json!("csv")));
    /// All rows, or only failed ones.
    pub(crate) JobRows = text_enum(["all", "failed"]).default(Some(json!("all")));
    pub(crate) IngestStatus = text_enum(["accepted", "replaced", "unchanged", "rejected"]);
    pub(crate) IssueStatus = text_enum(["accepted", "replaced", "unchanged", "rejected", "unanswered"]);
    /// Settings of a condition, by name; every value is text. The reference lists those of each kind.
    pub(crate) ConditionSettings = ObjectBuilder::new()
        .additional_properties(Some(text()))
        .examples([examples::condition_settings()]);
    pub(crate) ModelName = text_enum(Model::ALL.iter().map(|model| model.as_str())).default(Some(json!("aggregate")));
}

pyxis_http::parameters! {
    pub(crate) AddressPath = in_path("address", Address::schema()).example(Some(json!(SAMPLE)));
}

/// Code of a batch entry that is not an address.
pub(crate) const INVALID_ADDRESS: &str = "invalid_address";

/// An address of the examples, which `pyxis quickstart` fills with samples.
pub(crate) const SAMPLE: &str = "0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1";

/// Verifiable Credentials, up to 200.
pub(crate) enum CredentialList {}

impl PartialSchema for CredentialList {
    fn schema() -> RefOr<Schema> {
        let credential = Ref::from_schema_name(VerifiableCredential::name());
        ArrayBuilder::new().items(credential).max_items(Some(200)).into()
    }
}

impl ToSchema for CredentialList {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((VerifiableCredential::name().into_owned(), VerifiableCredential::schema()));
    }
}

fn detail() -> Schema {
    let step = ObjectBuilder::new().schema_type(SchemaType::from_iter([Type::String, Type::Integer]));
    let place = "Its place and its name; a number is an index in a list.";
    let fault = ObjectBuilder::new()
        .property("type", text())
        .required("type")
        .property("loc", ArrayBuilder::new().items(step).description(Some(place)))
        .required("loc")
        .property("msg", text().description(Some("The expected value.")))
        .required("msg");
    OneOfBuilder::new().item(text()).item(ArrayBuilder::new().items(fault)).into()
}

pub(crate) fn integer() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::Integer)
}
