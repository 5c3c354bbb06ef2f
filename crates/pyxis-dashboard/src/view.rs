//! View models: the content of each page, as owned strings.
//!
//! A handler fills a `…Page` and renders it; nothing here reads a store or decides anything. Text is passed in
//! unchanged: the templates' escaper ([`crate::text::Escape`]) makes it inert and visible. Every POST form carries
//! `csrf`; the other field names are documented on the form structs.

pub mod account;
pub mod agents;
pub mod api_keys;
pub mod approvals;
pub mod audit;
pub mod batch;
pub mod body;
pub mod brand;
pub mod catalogue;
pub mod connect;
pub mod connector;
pub mod credentials;
pub mod edit;
pub mod error;
pub mod explorer;
pub mod home;
pub mod mcp_tools;
pub mod models;
pub mod notifications;
pub mod people;
pub mod policies;
pub mod population;
pub mod reviews;
pub mod routes;
pub mod score_jobs;
pub mod scorers;
mod search;
pub mod self_check;
pub mod settings;
pub mod sign_in;
pub mod staged;
pub mod tasks;
pub mod usage;
pub mod verification;
pub mod voting_strategy;
pub mod webhooks;

use pyxis_core::clock::UnixMillis;

use crate::text;

pub use search::{Order, Search, SortLink};

/// Content of the frame of a signed-in page.
#[derive(Clone, Debug)]
pub struct Layout {
    /// CSRF token of the session, for every form.
    pub csrf: String,
    /// E-mail address of the signed-in person.
    pub user: String,
    /// Role in words: `Owner`, `Admin`, `Member`.
    pub role: String,
    pub workspace: String,
    /// True for workspace managers; others see no administration.
    pub manager: bool,
    /// True if this server serves scoring, so that its pages exist.
    pub scoring: bool,
    /// True if this server answers verification checks.
    pub verification: bool,
    /// Number of pending approvals, for the badge.
    pub pending: u64,
    /// Result of the last action, shown once at the top.
    pub flash: Option<Flash>,
}

/// One line about the action that led here.
#[derive(Clone, Debug)]
pub struct Flash {
    /// True if it worked.
    pub good: bool,
    /// Text of the message: the result and, after a failure, the next step.
    pub text: String,
}

/// The entry of the navigation that a page belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// Overview.
    Home,
    /// Pending requests.
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
    /// A person's notification settings.
    Notifications,
    /// Workspace settings.
    Settings,
    /// The person's own passkeys and tokens.
    Account,
    /// Scorers and their weights.
    Scorers,
    /// Reviews of scores.
    Reviews,
    /// Jobs that score many addresses.
    ScoreJobs,
    /// API keys of the scoring surface.
    ApiKeys,
    /// One address and its Stamps.
    Explorer,
    /// Models that score wallets.
    Models,
    /// The catalogue of Stamps.
    Catalogue,
    /// Trusted issuers.
    Issuers,
    /// Proofs of addresses.
    Verification,
}

/// A time, exact and relative.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timestamp {
    /// The time itself, to sort by.
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
    /// `at` relative to `now`.
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
    /// Value that the form sends.
    pub value: String,
    /// Text that the person reads.
    pub label: String,
    /// True if it is currently chosen.
    pub chosen: bool,
}

/// Problems with a form, by field name.
#[derive(Clone, Debug, Default)]
pub struct Problems(Vec<(&'static str, String)>);

impl Problems {
    /// Adds a problem as a sentence: what is wrong and what to do.
    pub fn add(&mut self, field: &'static str, message: impl Into<String>) {
        self.0.push((field, message.into()));
    }

    /// Adds the problems of another part of the form.
    pub(crate) fn extend(&mut self, more: Self) {
        self.0.extend(more.0);
    }

    /// True if the form may be accepted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first problem of `field`.
    pub fn first_of(&self, field: &str) -> Option<&str> {
        self.0.iter().find(|(name, _)| *name == field).map(|(_, message)| message.as_str())
    }

    /// `field`, `2 fields`.
    pub fn field_count(&self) -> String {
        match self.0.len() {
            1 => "field".to_owned(),
            several => text::count_noun(several as u64, "field"),
        }
    }
}

/// Form field that names a room on a chat platform.
#[derive(Clone, Debug)]
pub struct RoomField {
    /// `telegram_chat`, `matrix_room`.
    pub name: &'static str,
    /// `Telegram chat`, `Matrix room`.
    pub label: String,
    /// Effect of a blank field.
    pub blank: String,
    /// Example of a room.
    pub example: &'static str,
    /// Condition of a room.
    pub hint: Option<&'static str>,
    /// The room as stored or typed.
    pub value: String,
}

/// Decision about a request: badge word, icon and state color.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecisionBadge {
    /// Allowed by policy or grant.
    Passed,
    /// Waits for approval, or had to wait.
    Pending,
    /// Approved by a person.
    Approved,
    /// Denied by a person or a rule.
    Denied,
    /// Not decided in time, or withdrawn by the agent.
    Expired,
    /// Refused before policy, or failed.
    Failed,
}

impl DecisionBadge {
    /// The word on the badge.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Passed => "Allowed",
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
            Self::Expired => "gray",
        }
    }
}

/// Declares the navigation entry that a page belongs to.
macro_rules! in_section {
    ($($page:ty => $section:ident),+ $(,)?) => {
        $(impl $page {
            /// The highlighted navigation entry.
            const fn section(&self) -> $crate::view::Section {
                $crate::view::Section::$section
            }
        })+
    };
}
pub(crate) use in_section;
