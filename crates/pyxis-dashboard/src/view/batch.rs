//! The page after several requests were decided.

use askama::Template;

use super::{DecisionBadge, Layout, in_section};
use crate::text::Middle;

/// `POST /app/inbox/decide`: the outcome of each request.
#[derive(Clone, Debug, Template)]
#[template(path = "decided_several.html")]
pub struct BatchPage {
    pub shell: Layout,
    /// `2 of 3 requests decided`.
    pub summary: String,
    /// In the order of the form.
    pub results: Vec<BatchResult>,
    /// Link back to the inbox, with its filters.
    pub inbox: String,
}

/// The outcome of one request.
#[derive(Clone, Debug)]
pub struct BatchResult {
    pub txn_id: String,
    /// The request; `None` if it does not exist, or this person may not see it.
    pub request: Option<RequestLine>,
    /// The outcome, in one or two sentences.
    pub outcome: String,
}

/// A request in one line.
#[derive(Clone, Debug)]
pub struct RequestLine {
    pub method: String,
    pub host: String,
    /// Path and query, shortened in the middle.
    pub path: Middle,
    pub agent: String,
    pub credential: String,
    /// Current state.
    pub badge: DecisionBadge,
}

in_section!(BatchPage => Inbox);
