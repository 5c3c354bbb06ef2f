//! Pending requests of one agent to one route, and the page after several were decided.

use askama::Template;

use super::{DecisionBadge, Layout, in_section};
use crate::text::Middle;

/// The common parts of a group's requests.
#[derive(Clone, Debug)]
pub struct SharedRoute {
    /// `3 requests`.
    pub count: String,
    pub agent: String,
    pub method: String,
    pub host: String,
    /// Path with `*` for each identifier, shortened in the middle.
    pub path: Middle,
    /// Fields that are not equal; `None` if the requests are the same.
    pub differences: Option<Differences>,
}

/// Fields that are not equal in all requests of a group.
#[derive(Clone, Debug)]
pub struct Differences {
    /// Names of the fields.
    pub columns: Vec<String>,
    /// Each request's transaction id, and its value of each field: `None` if it has no such field.
    pub rows: Vec<(String, Vec<(String, Option<String>)>)>,
    /// Number of fields that the table leaves out: `3 fields more.`
    pub more: Option<String>,
}

/// `POST /app/inbox/decide`: the outcome of each request.
#[derive(Clone, Debug, Template)]
#[template(path = "decided_several.html")]
pub struct BatchPage {
    pub shell: Layout,
    /// `2 of 3 requests decided`.
    pub summary: String,
    /// In the order of the form.
    pub results: Vec<BatchResult>,
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
