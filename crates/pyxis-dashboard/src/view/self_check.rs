//! The self-check page, for people who are scored and have no account here.

use askama::Template;

/// `GET /check/{scorer}`. Its script signs in with the wallet and fills in the result.
#[derive(Clone, Debug, Template)]
#[template(path = "self_check.html")]
pub struct SelfCheckPage {
    /// Number of the scorer.
    pub scorer: String,
    /// The only origin at which the page works, as browsers write it.
    pub origin: String,
    /// Address of the page there.
    pub url: String,
    /// Name of the scorer.
    pub name: String,
    /// The score needed to pass.
    pub threshold: String,
    /// Stamps that count, the heaviest first.
    pub stamps: Vec<WeighedRow>,
}

/// A Stamp that counts.
#[derive(Clone, Debug)]
pub struct WeighedRow {
    pub name: String,
    /// Description of the holder; may be empty.
    pub description: String,
    /// Name of its platform.
    pub platform: Option<String>,
    /// Page where it is issued.
    pub url: Option<String>,
    /// Points that it adds.
    pub points: String,
}
