//! View models: what each page needs, as owned strings.
//!
//! A handler fills a `…Page` and renders it; nothing here reads a store or decides anything. Text
//! goes in as it is: the templates' escaper ([`crate::text::Escape`]) makes it inert and visible.
//! Every POST form carries `csrf`; the other field names stand beside the form structs.

pub mod account;
pub mod agents;
pub mod api_keys;
pub mod approvals;
pub mod audit;
pub mod body;
pub mod brand;
pub mod catalogue;
pub mod connect;
mod credential_kinds;
pub mod credentials;
pub mod error;
pub mod explorer;
pub mod models;
pub mod notifications;
pub mod people;
pub mod policies;
pub mod routes;
pub mod scorers;
mod search;
pub mod settings;
pub mod sign_in;
pub mod staged;
pub mod usage;
pub mod verification;
pub mod webhooks;

use pyxis_core::clock::UnixMillis;

use crate::text;

pub use search::{Order, Search, SortLink};

/// What the frame of a signed-in page needs.
#[derive(Clone, Debug)]
pub struct Layout {
    /// CSRF token of the session, for every form.
    pub csrf: String,
    /// Who is signed in: an e-mail address.
    pub user: String,
    /// Their role in words: `Owner`, `Admin`, `Member`.
    pub role: String,
    /// Name of the workspace.
    pub workspace: String,
    /// True if they are a workspace manager; others see no administration.
    pub manager: bool,
    /// True if this server scores, so that there are pages for it.
    pub scoring: bool,
    /// True if this server answers verification checks.
    pub verification: bool,
    /// Pending approvals, for the badge.
    pub pending: u64,
    /// What the last action did, shown once at the top.
    pub flash: Option<Flash>,
}

/// One line about the action that led here.
#[derive(Clone, Debug)]
pub struct Flash {
    /// True if it worked.
    pub good: bool,
    /// What happened and, if it failed, what to do next.
    pub text: String,
}

/// The entry of the navigation that a page belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// Requests that wait.
    Inbox,
    /// Policies and grants.
    Policies,
    /// Webhook endpoints.
    Webhooks,
    /// Agent keys.
    Agents,
    /// Stored credentials.
    Credentials,
    /// Members.
    People,
    /// The log.
    Audit,
    /// Requests over time.
    Usage,
    /// Where a person is told of requests.
    Notifications,
    /// Workspace settings.
    Settings,
    /// One's own passkeys and tokens.
    Account,
    /// Scorers and their weights.
    Scorers,
    /// API keys of the scoring surface.
    ApiKeys,
    /// One address and its Stamps.
    Explorer,
    /// Models that score wallets.
    Models,
    /// What Stamps there are.
    Catalogue,
    /// Who is believed.
    Issuers,
    /// What addresses have proved.
    Verification,
}

/// A moment: how far away, and exactly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timestamp {
    /// The moment itself, to sort by.
    pub at: UnixMillis,
    /// RFC 3339, for `<time datetime>`.
    pub iso: String,
    /// `3 min ago`, as of the rendering.
    pub relative: String,
    /// `2026-01-31 09:05:00 UTC`.
    pub absolute: String,
    /// `09:05 UTC`.
    pub clock: String,
}

impl Timestamp {
    /// `at` as seen from `now`.
    pub fn new(at: UnixMillis, now: UnixMillis) -> Self {
        Self {
            at,
            iso: at.to_rfc3339(),
            relative: text::relative(at, now),
            absolute: text::absolute(at),
            clock: text::time_of_day(at),
        }
    }
}

/// An option of a select, radio group or list of checkboxes.
#[derive(Clone, Debug)]
pub struct Choice {
    /// What the form sends.
    pub value: String,
    /// What the person reads.
    pub label: String,
    /// True if it is chosen now.
    pub chosen: bool,
}

/// What is wrong with a form, by field name.
#[derive(Clone, Debug, Default)]
pub struct Problems(Vec<(&'static str, String)>);

impl Problems {
    /// Adds a problem: what is wrong and what to do, as a sentence.
    pub fn add(&mut self, field: &'static str, message: impl Into<String>) {
        self.0.push((field, message.into()));
    }

    /// Adds those of another part of the form.
    pub(crate) fn extend(&mut self, more: Self) {
        self.0.extend(more.0);
    }

    /// True if the form may be accepted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first problem of `field`.
    pub fn of(&self, field: &str) -> Option<&str> {
        self.0.iter().find(|(name, _)| *name == field).map(|(_, message)| message.as_str())
    }

    /// `1 field`, `2 fields`.
    pub fn counted(&self) -> String {
        text::counted(self.0.len() as u64, "field")
    }
}

/// What was decided about a request: badge word, icon and state color.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecisionBadge {
    /// Went through by policy or grant.
    Passed,
    /// Waits, or had to wait.
    Pending,
    /// A human said yes.
    Approved,
    /// A human or a rule said no.
    Denied,
    /// Nobody decided in time, or the agent withdrew.
    Expired,
    /// Refused before policy, or failed.
    Failed,
}

impl DecisionBadge {
    /// The word on the badge.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Passed => "Passed",
            Self::Pending => "Pending",
            Self::Approved => "Approved",
            Self::Denied => "Denied",
            Self::Expired => "Expired",
            Self::Failed => "Failed",
        }
    }

    /// Its icon in the sprite.
    pub const fn icon(self) -> &'static str {
        match self {
            Self::Passed => "arrow",
            Self::Pending => "clock",
            Self::Approved => "check",
            Self::Denied => "cross",
            Self::Expired => "expired",
            Self::Failed => "alert",
        }
    }

    /// Its class in the stylesheet.
    pub const fn class(self) -> &'static str {
        match self {
            Self::Passed => "plain",
            Self::Pending => "amber",
            Self::Approved => "green",
            Self::Denied | Self::Failed => "red",
            Self::Expired => "grey",
        }
    }
}

/// Declares which navigation entry a page belongs to.
macro_rules! in_section {
    ($($page:ty => $section:ident),+ $(,)?) => {
        $(impl $page {
            /// The navigation entry that is lit.
            const fn section(&self) -> $crate::view::Section {
                $crate::view::Section::$section
            }
        })+
    };
}
pub(crate) use in_section;
