//! Parameters that several operations share.

use pyxis_http::openapi::{in_path, in_query, optional, text};
use serde_json::json;
use utoipa::openapi::ObjectBuilder;
use utoipa::openapi::schema::Type;

/// An address of the examples, which `pyxis quickstart` fills with samples.
const SAMPLE: &str = "0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1";

pyxis_http::parameters! {
    /// `0x` and 40 hexadecimal digits in any case; a checksum is not required.
    pub(crate) User = in_query("user", text()).example(Some(json!(SAMPLE)));
    /// A decimal number from 1 to below the order of the bn254 scalar field; `123456789` gives uniqueness across
    /// applications. There is no default.
    pub(crate) ActionId = in_query("action-id", text()).example(Some(json!("123456789")));
    /// `true` adds `reason`.
    pub(crate) Explain = optional("explain", ObjectBuilder::new().schema_type(Type::Boolean));
    /// `true` refuses the whole request if one entry is not an address, instead of reporting that entry in its place.
    pub(crate) Strict = optional("strict", ObjectBuilder::new().schema_type(Type::Boolean));
    /// Number of a scorer that is open to votes.
    pub(crate) Scorer = in_query("scorer-id", text()).example(Some(json!("1")));
    /// Answer 1 for a score of at least this, and 0 for others: a decimal number above 0, or `scorer` for the scorer's own
    /// threshold. Without it the answer is the score.
    pub(crate) Threshold = optional("threshold", text()).example(Some(json!("20")));
    /// Answer scores as integers with so many decimals, 0 to 5: with 5, 22.598 is 2259800. Further ones are cut off.
    pub(crate) VoteDecimals = optional("decimals", text()).example(Some(json!("5")));
    /// Kinds of proofs that are required as well, separated by commas: `gov-id`, `phone`, `biometrics`, `residence-us`.
    pub(crate) AllProofs = optional("and", text()).example(Some(json!("gov-id")));
    /// Kinds of proofs of which one suffices instead of the score, separated by commas. Only with `threshold`.
    pub(crate) AnyProof = optional("or", text()).example(Some(json!("gov-id,phone")));
    /// Action id of the proofs. Required with `gov-id`, `phone` and `biometrics`.
    pub(crate) OptionalAction = optional("action-id", text()).example(Some(json!("123456789")));
    /// Name of a network.
    pub(crate) NetworkPath = in_path("network", text()).example(Some(json!("optimism")));
    /// Chain id.
    pub(crate) ChainId = in_query("network", text()).example(Some(json!("10")));
    /// Block number, or `latest`.
    pub(crate) SnapshotBlock = in_query("snapshot", text()).example(Some(json!("latest")));
    /// Separated by commas.
    pub(crate) Addresses = in_query("addresses", text()).example(Some(json!(SAMPLE)));
    /// An EVM or Sui address.
    pub(crate) AddressPath = in_path("address", text()).example(Some(json!(SAMPLE)));
}
