//! A proposed policy and its changes.

use askama::Template;

use super::{Layout, Timestamp, in_section};

/// `GET /app/staged/{id}`. The maker's passkey applies it: the form posts to `/app/staged/{id}/apply` (`ceremony`,
/// `credential`), after `/app/staged/{id}/begin` returned the challenge. `/withdraw` withdraws the proposal.
#[derive(Clone, Debug, Template)]
#[template(path = "staged.html")]
pub struct StagedPage {
    pub shell: Layout,
    pub id: String,
    pub credential: String,
    /// Person who proposed it.
    pub by: String,
    /// Time of the proposal.
    pub at: Timestamp,
    /// Last moment to confirm it.
    pub expires: Timestamp,
    /// True if the viewer proposed it, and so may confirm it.
    pub mine: bool,
    /// True if the viewer has a passkey.
    pub has_passkey: bool,
    /// True if the policy has changed since.
    pub outdated: bool,
    /// Proposed changes.
    pub changes: Vec<Difference>,
}

/// One field with changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Field in words.
    pub field: String,
    /// Removed values.
    pub removed: Vec<String>,
    /// Added values.
    pub added: Vec<String>,
}

in_section!(StagedPage => Policies);
