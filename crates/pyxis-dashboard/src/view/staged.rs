//! A proposed policy and what it would change.

use askama::Template;

use super::{Layout, Timestamp, in_section};

/// `GET /app/staged/{id}`. The maker's passkey applies it: the form posts to `/app/staged/{id}/apply`
/// (`ceremony`, `credential`), after `/app/staged/{id}/begin` gave the challenge; `/withdraw` takes the
/// proposal back.
#[derive(Clone, Debug, Template)]
#[template(path = "staged.html")]
pub struct StagedPage {
    /// The frame.
    pub shell: Layout,
    /// Its id.
    pub id: String,
    /// Name of the credential.
    pub credential: String,
    /// Who proposed it.
    pub by: String,
    /// When.
    pub at: Timestamp,
    /// Until when it can be confirmed.
    pub expires: Timestamp,
    /// True if the viewer proposed it, and so may confirm it.
    pub mine: bool,
    /// True if the viewer has a passkey.
    pub has_passkey: bool,
    /// True if the policy has changed since.
    pub outdated: bool,
    /// What would change.
    pub changes: Vec<Difference>,
}

/// One field that would change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// In words.
    pub field: &'static str,
    /// What goes.
    pub removed: Vec<String>,
    /// What comes.
    pub added: Vec<String>,
}

in_section!(StagedPage => Policies);
