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
