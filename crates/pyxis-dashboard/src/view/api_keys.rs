//! API keys of the scoring surface: their permissions and rate limits.

use askama::Template;

use super::{Choice, DecisionBadge, Layout, Problems, Search, Timestamp, in_section};
use crate::chart::StackedBars;

/// `GET /app/api-keys`.
#[derive(Clone, Debug, Template)]
#[template(path = "api_keys.html")]
pub struct ApiKeysPage {
    pub shell: Layout,
    /// The search field and pages.
    pub search: Search,
    /// The keys found, oldest first.
    pub keys: Vec<ApiKeyLine>,
    /// The pages of requests for history.
    pub request_search: Search,
    /// Requests for access to history that were found, newest first.
    pub requests: Vec<HistoryRequest>,
    /// For the empty state: a `curl` that asks for a score.
    pub ask: String,
}

/// One key in the list.
#[derive(Clone, Debug)]
pub struct ApiKeyLine {
    pub id: String,
    pub name: String,
    /// Start of the key: `px_api_3fA…`.
    pub hint: String,
    /// True if it still works.
    pub live: bool,
    /// `Tier 2: 350 per 15 minutes`.
    pub tier: String,
    /// Usage in the current window: `12 of 350`.
    pub used: String,
    /// `reads, writes, history`.
    pub permissions: String,
    pub last_used: Option<Timestamp>,
}

/// A request for access to history. A pending one posts to `/app/history-requests/{id}/approve` and
/// `/refuse`.
#[derive(Clone, Debug)]
pub struct HistoryRequest {
    pub id: String,
    pub key_id: String,
    /// Name of the key.
    pub key: String,
    /// Reason for the request.
    pub use_case: String,
    /// Person who asked.
    pub by: String,
    /// Time of the request.
    pub at: Timestamp,
    /// Pending, approved or denied.
    pub state: DecisionBadge,
    /// Person who decided, and time of the decision.
    pub decided: Option<(String, Timestamp)>,
}

impl HistoryRequest {
    /// The word on its badge.
    pub(crate) fn label(&self) -> &'static str {
        if self.state == DecisionBadge::Denied { "Refused" } else { self.state.label() }
    }
}

/// The form of a key. Fields: `name`, `stamps_tier` and `models_tier` (1 to 4), `stamps_limit` and
/// `models_limit` (read in tier 4), `can_read=on`, `can_write=on`.
#[derive(Clone, Debug, Default)]
pub struct ApiKeyForm {
    pub name: String,
    /// Tiers of the Stamps endpoints, with their limits in the label.
    pub stamps_tiers: Vec<Choice>,
    /// Digits, or empty.
    pub stamps_limit: String,
    /// Tiers of the models endpoint.
    pub models_tiers: Vec<Choice>,
    /// Digits, or empty.
    pub models_limit: String,
    /// True if it may read scores and Stamps.
    pub can_read: bool,
    /// True if it may add and remove Stamps.
    pub can_write: bool,
    pub problems: Problems,
}

/// `GET /app/new/api-key`; posts to `/app/api-keys`.
#[derive(Clone, Debug, Template)]
#[template(path = "api_key_new.html")]
pub struct NewApiKeyPage {
    pub shell: Layout,
    pub form: ApiKeyForm,
}

/// `GET /app/api-keys/{id}`: change (`/edit`), `/history` (asks for access: `use_case`), `/withdraw` (withdraws that
/// access) and `/revoke`.
#[derive(Clone, Debug, Template)]
#[template(path = "api_key.html")]
pub struct ApiKeyPage {
    pub shell: Layout,
    pub key: ApiKeyLine,
    /// Time of creation.
    pub created: Timestamp,
    /// Time of revocation.
    pub revoked: Option<Timestamp>,
    pub form: ApiKeyForm,
    /// Requests of the last day, by window.
    pub chart: StackedBars,
    pub history: HistoryAccess,
    /// The use case as typed.
    pub use_case: String,
    /// Settings of a publishable key, in place of permissions and history.
    pub publishable: Option<PublishableSettings>,
}

/// The form of a publishable key. Fields: `name`, `scorer_id` (of a new key), `origins` (one on each line),
/// `stamps_tier` (1 to 4), `stamps_limit` (read in tier 4).
#[derive(Clone, Debug, Default)]
pub struct PublishableKeyForm {
    pub name: String,
    /// Scorers to choose from; empty where it cannot be changed.
    pub scorers: Vec<Choice>,
    /// One on each line.
    pub origins: String,
    /// Tiers of the Stamps endpoints, with their limits in the label.
    pub stamps_tiers: Vec<Choice>,
    /// Digits, or empty.
    pub stamps_limit: String,
    pub problems: Problems,
}

/// `GET /app/new/publishable-key`; posts to `/app/publishable-keys`.
#[derive(Clone, Debug, Template)]
#[template(path = "publishable_key_new.html")]
pub struct NewPublishableKeyPage {
    pub shell: Layout,
    pub form: PublishableKeyForm,
}

/// Settings of a publishable key: change (`/edit`), and the code for the page.
#[derive(Clone, Debug)]
pub struct PublishableSettings {
    /// Number of its scorer.
    pub scorer: String,
    pub form: PublishableKeyForm,
    pub embed: EmbedCode,
}

/// Code for a page that shows the widget.
#[derive(Clone, Debug)]
pub struct EmbedCode {
    /// Script and element, with `integrity`.
    pub html: String,
    /// Sources for the page's content security policy, if it has one.
    pub policy: String,
}

/// A key's access to history.
#[derive(Clone, Debug)]
pub enum HistoryAccess {
    /// The key reads history.
    Granted,
    /// Requested, not decided.
    Pending(HistoryRequest),
    /// The key does not read history.
    Without {
        /// The last request, if it was refused.
        refused: Option<HistoryRequest>,
    },
}

/// Response to adding a key: shows the key once. Never cached.
#[derive(Clone, Template)]
#[template(path = "api_key_shown.html")]
pub struct ApiKeyShownPage {
    pub shell: Layout,
    pub id: String,
    pub name: String,
    pub key: String,
    /// True if it may read, so that the command works.
    pub can_read: bool,
    /// A `curl` with the key in it.
    pub ask: String,
    /// Code for the page of a publishable key.
    pub embed: Option<EmbedCode>,
}

impl std::fmt::Debug for ApiKeyShownPage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApiKeyShownPage").field("name", &self.name).finish_non_exhaustive()
    }
}

in_section!(
    ApiKeysPage => ApiKeys,
    NewApiKeyPage => ApiKeys,
    NewPublishableKeyPage => ApiKeys,
    ApiKeyPage => ApiKeys,
    ApiKeyShownPage => ApiKeys,
);
