//! Reviews of scores.

use askama::Template;

use super::explorer::StampStatus;
use super::{Choice, Layout, Problems, Timestamp, in_section};

/// `GET /app/reviews`, with `state`.
#[derive(Clone, Debug, Template)]
#[template(path = "reviews.html")]
pub struct ReviewsPage {
    pub shell: Layout,
    /// States to choose from.
    pub states: Vec<Choice>,
    /// Reviews, newest first.
    pub reviews: Vec<ReviewLine>,
    /// Link to older ones.
    pub older: Option<String>,
}

/// `GET /app/reviews/{id}`. Posts to `/app/reviews/{id}/decide`: `decision` (`grant` or `decline`) and `reason`.
#[derive(Clone, Debug, Template)]
#[template(path = "review.html")]
pub struct ReviewPage {
    pub shell: Layout,
    pub review: ReviewLine,
    /// Score of the address now.
    pub score_now: String,
    pub passes_now: bool,
    /// Stamps of the address now.
    pub evidence: Vec<EvidenceRow>,
    /// Reason as typed.
    pub typed: String,
    pub problems: Problems,
}

/// One review.
#[derive(Clone, Debug)]
pub struct ReviewLine {
    pub id: String,
    pub address: String,
    /// Number of the scorer.
    pub scorer: String,
    /// The holder's reason.
    pub reason: String,
    /// Score at the time of the request.
    pub score: String,
    pub threshold: String,
    pub state: ReviewBadge,
    pub created: Timestamp,
    /// Name of who decided, and when.
    pub decided: Option<(String, Timestamp)>,
    /// Reason of the decision.
    pub answer: Option<String>,
}

/// A Stamp of the address.
#[derive(Clone, Debug)]
pub struct EvidenceRow {
    pub stamp: String,
    pub contribution: String,
    pub standing: StampStatus,
    pub expires: Timestamp,
}

/// State of a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewBadge {
    Open,
    Granted,
    Declined,
}

impl ReviewBadge {
    /// The word on the badge.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Open => "Open",
            Self::Granted => "Granted",
            Self::Declined => "Declined",
        }
    }

    /// Its class in the stylesheet.
    pub const fn class(self) -> &'static str {
        match self {
            Self::Open => "amber",
            Self::Granted => "green",
            Self::Declined => "gray",
        }
    }
}

in_section!(ReviewsPage => Reviews, ReviewPage => Reviews);
