//! The catalogue of all Stamps.

use serde::{Deserialize, Serialize};

/// A place where an account or an activity is verified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Platform {
    pub id: String,
    pub icon: String,
    pub name: String,
    pub description: String,
    pub connect_message: String,
    /// Page where its Stamps are issued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    pub groups: Vec<PlatformGroup>,
}

/// Stamps of one kind, in display order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PlatformGroup {
    pub name: String,
    pub stamps: Vec<CatalogueStamp>,
}

/// One Stamp of the catalogue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CatalogueStamp {
    /// The name used in credentials and scores.
    pub name: String,
    pub description: String,
    /// Keccak-256 of the name.
    pub hash: String,
}
