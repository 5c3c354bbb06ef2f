//! Settings of the workspace, and facts about the server.

use askama::Template;

use super::{Layout, Problems, Timestamp, in_section};

/// `GET /app/settings`; posts to the same path: `default_approval_mode` (`gated` or
/// `autonomous`) and `approval_timeout_minutes` (blank: the server's window).
#[derive(Clone, Debug, Template)]
#[template(path = "settings.html")]
pub struct SettingsPage {
    pub shell: Layout,
    /// True if the mode is autonomous; otherwise gated.
    pub autonomous: bool,
    /// Minutes that a request waits for a decision; empty means the server's window.
    pub window: String,
    /// The server's window: `1 hour`.
    pub server_window: String,
    /// Problems with the form.
    pub problems: Problems,
    /// Credentials without a policy, which follow the mode: `3 credentials`.
    pub following: String,
    /// The server's configuration, read-only.
    pub facts: Vec<Fact>,
    /// Result of the last check of the audit chain.
    pub audit: AuditHealth,
}

/// A fact about the server.
#[derive(Clone, Debug)]
pub struct Fact {
    /// `Approval window`.
    pub name: String,
    /// `1 hour`.
    pub value: String,
    /// Setting that changes it: `PX_APPROVAL_TIMEOUT_SECS`; may be empty.
    pub set_by: String,
}

/// The state of the audit chain.
#[derive(Clone, Debug)]
pub enum AuditHealth {
    /// Never checked by this server.
    Unchecked,
    /// Every checked row is intact.
    Whole {
        /// `12,345 events`.
        rows: String,
        /// Time of the check.
        at: Timestamp,
    },
    /// A row was changed or removed.
    Damaged {
        /// Output of `pyxis audit verify`.
        finding: String,
        /// Time of the check.
        at: Timestamp,
    },
}

in_section!(SettingsPage => Settings);
