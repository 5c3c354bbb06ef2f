//! Stamps that an address has verified.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A verified Stamp with its verifiable credential.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Stamp {
    pub version: String,
    pub credential: Map<String, Value>,
    /// `None` unless requested, and for a Stamp that the catalogue does not list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<StampMetadata>,
}

/// The catalogue's entry for a Stamp.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StampMetadata {
    pub group: String,
    pub platform: PlatformHead,
    pub name: String,
    pub description: String,
    pub hash: String,
}

/// The platform of a Stamp, without its groups.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PlatformHead {
    pub id: String,
    pub icon: String,
    pub name: String,
    pub description: String,
    pub connect_message: String,
}

/// Stamps, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StampPage {
    /// Token of the page with older Stamps; `None` at the end.
    pub next: Option<String>,
    /// Token of the page with newer Stamps; `None` at the start.
    pub prev: Option<String>,
    pub items: Vec<Stamp>,
}

/// Outcome of one credential.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StampOutcome {
    /// `accepted`, `replaced`, `unchanged` or `rejected`.
    pub status: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<StampRejection>,
}

/// The reason that a credential was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StampRejection {
    /// Position in the request, from 0.
    pub index: u64,
    pub code: String,
    pub detail: String,
}

/// Outcomes in the order of the request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StampOutcomes {
    pub items: Vec<StampOutcome>,
}

/// Number of Stamps that were removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemovedStamps {
    pub removed: u64,
}
