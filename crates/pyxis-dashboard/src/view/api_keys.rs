//! API keys of the scoring surface: who may ask, and how often.

use askama::Template;

use super::{Choice, DecisionBadge, Layout, Problems, Search, Timestamp, in_section};
use crate::chart::StackedBars;

/// `GET /app/api-keys`.
#[derive(Clone, Debug, Template)]
#[template(path = "api_keys.html")]
pub struct ApiKeysPage {
    /// The frame.
    pub shell: Layout,
    /// The search field and pages.
    pub search: Search,
    /// Those found, oldest first.
    pub keys: Vec<ApiKeyLine>,
    /// The pages of requests.
    pub request_search: Search,
    /// Requests for access to history that were found, newest first.
    pub requests: Vec<HistoryRequest>,
    /// For the empty state: a `curl` that asks for a score.
    pub ask: String,
}

/// One key in the list.
#[derive(Clone, Debug)]
pub struct ApiKeyLine {
    /// Key id.
    pub id: String,
    /// Name.
    pub name: String,
    /// How the key begins: `px_api_3fA…`.
    pub hint: String,
    /// True if it still works.
    pub live: bool,
    /// `Tier 2: 350 each 15 minutes`.
    pub tier: String,
    /// Used in the present window: `12 of 350`.
    pub used: String,
    /// `reads, writes, history`.
    pub permissions: String,
    /// Last use.
    pub last_used: Option<Timestamp>,
}

/// A request for access to history. A pending one posts to `/app/history-requests/{id}/approve` and
/// `/refuse`.
#[derive(Clone, Debug)]
pub struct HistoryRequest {
    /// Request id.
    pub id: String,
    /// Key id.
    pub key_id: String,
    /// Name of the key.
    pub key: String,
    /// What for.
    pub use_case: String,
    /// Who asked.
    pub by: String,
    /// When.
    pub at: Timestamp,
    /// Pending, approved or denied.
    pub state: DecisionBadge,
    /// Who decided, and when.
    pub decided: Option<(String, Timestamp)>,
}

impl HistoryRequest {
    /// The word on its badge.
    pub(crate) fn word(&self) -> &'static str {
        if self.state == DecisionBadge::Denied { "Refused" } else { self.state.word() }
    }
}

/// The form of a key. Fields: `name`, `stamps_tier` and `models_tier` (1 to 4), `stamps_limit` and
/// `models_limit` (read in tier 4), `can_read=on`, `can_write=on`.
#[derive(Clone, Debug, Default)]
pub struct ApiKeyForm {
    /// Name.
    pub name: String,
    /// Tiers of the Stamps endpoints, with their limits in the label.
    pub stamps_tiers: Vec<Choice>,
    /// Digits, or empty.
    pub stamps_limit: String,
    /// Tiers of the models endpoint.
    pub models_tiers: Vec<Choice>,
    /// Digits, or empty.
    pub models_limit: String,
    /// True if it reads scores and Stamps.
    pub can_read: bool,
    /// True if it brings in and removes Stamps.
    pub can_write: bool,
    /// What is wrong.
    pub problems: Problems,
}

/// `GET /app/new/api-key`; posts to `/app/api-keys`.
#[derive(Clone, Debug, Template)]
#[template(path = "api_key_new.html")]
pub struct NewApiKeyPage {
    /// The frame.
    pub shell: Layout,
    /// The form.
    pub form: ApiKeyForm,
}

/// `GET /app/api-keys/{id}`: change (`/edit`), `/history` (asks for access: `use_case`), `/withdraw`
/// (takes that access away) and `/revoke`.
#[derive(Clone, Debug, Template)]
#[template(path = "api_key.html")]
pub struct ApiKeyPage {
    /// The frame.
    pub shell: Layout,
    /// The key.
    pub key: ApiKeyLine,
    /// When it was added.
    pub created: Timestamp,
    /// When it was revoked.
    pub revoked: Option<Timestamp>,
    /// The form.
    pub form: ApiKeyForm,
    /// Requests of the last day, by window.
    pub chart: StackedBars,
    /// How it stands with history.
    pub history: HistoryAccess,
    /// The use case as typed.
    pub use_case: String,
}

/// Whether a key reads history.
#[derive(Clone, Debug)]
pub enum HistoryAccess {
    /// It does.
    Granted,
    /// Somebody asked, nobody decided.
    Pending(HistoryRequest),
    /// It does not.
    Without {
        /// The last request, if it was refused.
        refused: Option<HistoryRequest>,
    },
}

/// The answer to adding a key: the key, this once. Never cached.
#[derive(Clone, Template)]
#[template(path = "api_key_shown.html")]
pub struct ApiKeyShownPage {
    /// The frame.
    pub shell: Layout,
    /// Key id.
    pub id: String,
    /// Name.
    pub name: String,
    /// The key.
    pub key: String,
    /// True if it may read, and the command is of use.
    pub can_read: bool,
    /// A `curl` with the key in it.
    pub ask: String,
}

impl std::fmt::Debug for ApiKeyShownPage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApiKeyShownPage").field("name", &self.name).finish_non_exhaustive()
    }
}

in_section!(
    ApiKeysPage => ApiKeys,
    NewApiKeyPage => ApiKeys,
    ApiKeyPage => ApiKeys,
    ApiKeyShownPage => ApiKeys,
);
