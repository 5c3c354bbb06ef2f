//! The Stamps explorer: explains an address's score.

use askama::Template;

use super::{Choice, Layout, Search, Timestamp, in_section};
use crate::chart::meter::Meter;

/// `GET /app/explorer?address=…&scorer=…`.
#[derive(Clone, Debug, Template)]
#[template(path = "explorer.html")]
pub struct ExplorerPage {
    pub shell: Layout,
    /// Address as typed.
    pub address: String,
    /// Problem with the address.
    pub problem: Option<String>,
    pub scorers: Vec<Choice>,
    pub found: Option<ExplorerResult>,
    /// For the empty state: a `curl` that submits a credential.
    pub bring: String,
}

/// One address in one scorer.
#[derive(Clone, Debug)]
pub struct ExplorerResult {
    pub address: String,
    /// Number of the scorer.
    pub scorer: String,
    pub scorer_name: String,
    pub score: String,
    /// The scorer's threshold.
    pub threshold: String,
    /// True if it passes.
    pub passes: bool,
    /// Margin above or below the threshold, as a sentence.
    pub margin: String,
    /// Time at which the first contributing Stamp expires.
    pub expires: Option<Timestamp>,
    /// The score as a bar.
    pub meter: Meter,
    /// The orders of its Stamps, their pages and file.
    pub search: Search,
    /// One page of its Stamps.
    pub stamps: Vec<StampRow>,
    /// A `curl` that asks for this score.
    pub ask: String,
}

/// Effect of a Stamp on the score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StampStatus {
    /// It contributes its weight.
    Counts,
    /// It contributes an earlier weight until it expires.
    KeepsWeight,
    /// Another address claimed the same nullifier first.
    Deduplicated,
    /// The scorer gives it no weight.
    Weightless,
    /// Not valid yet.
    Early,
    Expired,
}

impl StampStatus {
    /// The word on the badge.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Counts => "Counts",
            Self::KeepsWeight => "Keeps earlier weight",
            Self::Deduplicated => "Deduplicated",
            Self::Weightless => "No weight",
            Self::Early => "Not valid yet",
            Self::Expired => "Expired",
        }
    }

    /// Its icon in the sprite.
    pub const fn icon(self) -> &'static str {
        match self {
            Self::Counts | Self::KeepsWeight => "check",
            Self::Deduplicated => "twins",
            Self::Weightless => "pause",
            Self::Early => "clock",
            Self::Expired => "expired",
        }
    }

    /// Its class in the stylesheet.
    pub const fn class(self) -> &'static str {
        match self {
            Self::Counts | Self::KeepsWeight => "green",
            Self::Deduplicated => "amber",
            Self::Weightless | Self::Early | Self::Expired => "gray",
        }
    }
}

/// One Stamp. Revoking posts to `/app/stamps/{digest}/revoke`: `reason`, and `address` and `scorer` to return to.
#[derive(Clone, Debug)]
pub struct StampRow {
    pub name: String,
    /// Icon of its platform, one of our paths.
    pub icon: Option<String>,
    /// Description of what it says about its holder; may be empty.
    pub description: String,
    /// Effect on the score.
    pub standing: StampStatus,
    /// Reason, as a sentence.
    pub why: String,
    /// Address that holds the nullifier, if another one does; links to it.
    pub holder: Option<String>,
    /// Weight in the scorer.
    pub weight: String,
    /// Contribution to the score.
    pub contribution: String,
    /// Time of expiry.
    pub expires: Timestamp,
    /// Time of issue.
    pub issued: Timestamp,
    /// Name of its issuer; its DID if it is not listed.
    pub issuer: String,
    /// DID of its issuer.
    pub did: String,
    /// Digest of the signed content, hexadecimal: the identity of the credential.
    pub digest: String,
}

in_section!(ExplorerPage => Explorer);
