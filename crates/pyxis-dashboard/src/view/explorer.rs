//! The Stamps explorer: why one address has the score it has.

use askama::Template;

use super::{Choice, Layout, Search, Timestamp, in_section};
use crate::chart::meter::Meter;

/// `GET /app/explorer?address=…&scorer=…`.
#[derive(Clone, Debug, Template)]
#[template(path = "explorer.html")]
pub struct ExplorerPage {
    /// The frame.
    pub shell: Layout,
    /// Address as typed.
    pub address: String,
    /// Fault of the address.
    pub problem: Option<String>,
    /// Scorers of the workspace.
    pub scorers: Vec<Choice>,
    /// What was found.
    pub found: Option<ExplorerResult>,
    /// For the empty state: a `curl` that brings in a credential.
    pub bring: String,
}

/// One address in one scorer.
#[derive(Clone, Debug)]
pub struct ExplorerResult {
    /// The address.
    pub address: String,
    /// Number of the scorer.
    pub scorer: String,
    /// Its name.
    pub scorer_name: String,
    /// The score.
    pub score: String,
    /// The score needed.
    pub threshold: String,
    /// True if it passes.
    pub passes: bool,
    /// By how much it passes, or what it lacks, as a sentence.
    pub margin: String,
    /// When the first Stamp that contributes expires.
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

/// How a Stamp counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StampStatus {
    /// It contributes its weight.
    Counts,
    /// Another address verified the same first.
    Deduplicated,
    /// The scorer gives it no weight.
    Weightless,
    /// Its validity begins later.
    Early,
    /// Its validity is over.
    Expired,
}

impl StampStatus {
    /// The word on the badge.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Counts => "Counts",
            Self::Deduplicated => "Deduplicated",
            Self::Weightless => "No weight",
            Self::Early => "Not valid yet",
            Self::Expired => "Expired",
        }
    }

    /// Its icon in the sprite.
    pub const fn icon(self) -> &'static str {
        match self {
            Self::Counts => "check",
            Self::Deduplicated => "twins",
            Self::Weightless => "pause",
            Self::Early => "clock",
            Self::Expired => "expired",
        }
    }

    /// Its class in the stylesheet.
    pub const fn class(self) -> &'static str {
        match self {
            Self::Counts => "green",
            Self::Deduplicated => "amber",
            Self::Weightless | Self::Early | Self::Expired => "grey",
        }
    }
}

/// One Stamp. Revoking posts to `/app/stamps/{digest}/revoke`: `address` and `scorer`, to come back to,
/// and `reason`.
#[derive(Clone, Debug)]
pub struct StampRow {
    /// Name.
    pub name: String,
    /// Icon of its platform, a path of ours.
    pub icon: Option<String>,
    /// What it says about its holder; may be empty.
    pub description: String,
    /// How it counts.
    pub standing: StampStatus,
    /// Why, as a sentence.
    pub why: String,
    /// The address that holds it, if another does: to look at.
    pub holder: Option<String>,
    /// Weight in the scorer.
    pub weight: String,
    /// What it contributes.
    pub contribution: String,
    /// When it expires.
    pub expires: Timestamp,
    /// When it was issued.
    pub issued: Timestamp,
    /// Name of its issuer; its DID if it is not listed.
    pub issuer: String,
    /// DID of its issuer.
    pub did: String,
    /// What its issuer signed, hexadecimal: the identity of the credential.
    pub digest: String,
}

in_section!(ExplorerPage => Explorer);
