//! The catalogue of Stamps (`docs/reference/behavior/scoring.md#catalogue`), and the defaults of a new scorer.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::decimal::Decimal;
use crate::stamp::StampName;

/// A place where an account or an activity is verified. Its JSON form is an entry of the catalogue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Platform {
    /// Permanent name without spaces.
    #[schema(example = "Discord")]
    pub id: String,
    /// Path or URL of an image.
    #[schema(example = "/assets/stamps/Discord.svg")]
    pub icon: String,
    /// Display name.
    #[schema(example = "Discord")]
    pub name: String,
    /// Description of what is verified there.
    #[schema(example = "An established Discord account")]
    pub description: String,
    /// Prompt for a person who starts.
    #[serde(rename = "connectMessage")]
    #[schema(example = "Connect your Discord account.")]
    pub connect_message: String,
    /// Page where its Stamps are issued, an https URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub url: Option<String>,
    /// Its Stamps, by kind.
    pub groups: Vec<Group>,
}

/// Stamps of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = PlatformGroup)]
pub struct Group {
    /// Display name.
    #[schema(example = "Account")]
    pub name: String,
    /// Stamps in display order.
    pub stamps: Vec<CatalogueStamp>,
}

/// One Stamp of the catalogue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CatalogueStamp {
    /// The name used in credentials.
    #[schema(value_type = String, example = "Discord")]
    pub name: StampName,
    /// Description of the holder, as the Stamp attests it.
    #[schema(example = "Holds an established, active Discord account")]
    pub description: String,
    /// Keccak-256 of the name, `0x` and 64 lower-case hexadecimal digits.
    #[schema(example = "0x47024beb35c119cb9ca37d810b63c51b538c48fc98c7b88a52d78b633e5600df")]
    pub hash: String,
}

/// Defaults of a new scorer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Defaults {
    /// The score needed to pass.
    pub threshold: Decimal,
    /// Weight of each Stamp.
    pub weights: BTreeMap<StampName, Decimal>,
}

static CATALOGUE: LazyLock<Vec<Platform>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../data/catalogue.json")).expect("the built-in catalogue is valid")
});
static DEFAULTS: LazyLock<Defaults> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../data/weights.json")).expect("the built-in weights are valid")
});

/// The platforms of a workspace without its own catalogue.
pub fn default_catalogue() -> &'static [Platform] {
    &CATALOGUE
}

/// Threshold and weights as published for the network that this API comes from.
pub fn default_weights() -> &'static Defaults {
    &DEFAULTS
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_platform_and_stamp_is_described_and_has_one_entry() {
        let (mut platforms, mut stamps) = (BTreeSet::new(), BTreeSet::new());
        for platform in default_catalogue() {
            assert!(platforms.insert(&platform.id), "{}", platform.id);
            assert_eq!(platform.icon, format!("/assets/stamps/{}.svg", platform.id));
            for text in [&platform.name, &platform.description, &platform.connect_message] {
                assert!(!text.is_empty() && text.len() < 100, "{}: {text:?}", platform.id);
            }
            for entry in platform.groups.iter().flat_map(|group| &group.stamps) {
                assert!(stamps.insert(&entry.name), "{}", entry.name);
                assert!(!entry.description.is_empty() && entry.description.len() < 80, "{}", entry.name);
                let digits = entry.hash.strip_prefix("0x").unwrap();
                let hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
                assert!(digits.len() == 64 && digits.bytes().all(hex), "{}", entry.name);
            }
        }
        assert_eq!((platforms.len(), stamps.len()), (31, 61));
    }

    #[test]
    fn an_entry_is_written_in_the_documented_order() {
        let text = serde_json::to_string(&default_catalogue()[2]).unwrap();
        assert_eq!(
            text,
            "{\"id\":\"Discord\",\"icon\":\"/assets/stamps/Discord.svg\",\"name\":\"Discord\",\
             \"description\":\"An established Discord account\",\
             \"connectMessage\":\"Connect your Discord account.\",\"groups\":[{\"name\":\"Account Verification\",\
             \"stamps\":[{\"name\":\"Discord\",\"description\":\"Holds an established, active Discord account\",\
             \"hash\":\"0x47024beb35c119cb9ca37d810b63c51b538c48fc98c7b88a52d78b633e5600df\"}]}]}"
        );
    }

    #[test]
    fn a_new_scorer_passes_at_twenty_and_knows_the_published_weights() {
        let defaults = default_weights();
        assert_eq!(defaults.threshold.to_string(), "20.00000");
        assert_eq!(defaults.weights["NFTScore#50"].to_string(), "16.24600");
        assert_eq!(defaults.weights.len(), 51);
    }
}
