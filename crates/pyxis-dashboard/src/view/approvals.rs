//! The inbox, the approval page, the standalone approval page, and the card they share.

use askama::Template;
use pyxis_gateway::approvals::inbox::MethodRisk;

use super::body::BodyView;
use super::edit::{EditCard, EditForm};
use super::tasks::TaskLine;
use super::{Choice, DecisionBadge, Layout, Search, Timestamp, in_section};
use crate::text::Middle;

/// Longest path in a compact row, in characters.
const LINE_PATH: usize = 32;

/// `GET /app/inbox`.
#[derive(Clone, Debug, Template)]
#[template(path = "inbox.html")]
pub struct InboxPage {
    pub shell: Layout,
    /// The search field.
    pub search: Search,
    /// The selects next to it.
    pub filters: InboxFilters,
    /// True if the list is filtered: an empty one then means that nothing was found.
    pub narrowed: bool,
    /// Link to the first page of the list, with its filters and order.
    pub list: String,
    /// The query of that link.
    pub list_query: String,
    /// Link to the first page in the other order.
    pub turned: String,
    /// This person's recent load; `None` if there were no requests.
    pub load: Option<Load>,
    /// Proposed tasks that this person may decide, oldest first.
    pub tasks: Vec<TaskLine>,
    /// Pending requests in the chosen order, those of one agent and route together.
    pub groups: Vec<CardGroup>,
    /// Links to more pages, if there are any.
    pub pages: Option<Pages>,
    /// Recently decided requests, newest first.
    pub decided: Vec<Card>,
    /// True if the newest pending request comes first (`?order=newest`). Otherwise the oldest does, so that nothing
    /// moves when one arrives.
    pub newest_first: bool,
    /// Shown to managers if there has never been a request.
    pub first_request: Option<FirstRequest>,
}

#[derive(Clone, Debug)]
pub struct InboxFilters {
    /// Agents with pending requests.
    pub agents: Vec<Choice>,
    /// Credentials with pending requests.
    pub credentials: Vec<Choice>,
    /// Kinds of methods.
    pub kinds: Vec<Choice>,
}

/// Steps to a first request.
#[derive(Clone, Debug)]
pub struct FirstRequest {
    /// True if a credential is stored.
    pub has_credential: bool,
    /// An agent that can get a new key; the present one cannot be shown.
    pub agent: Option<FirstAgent>,
    /// A `curl` with a placeholder for the key.
    pub command: String,
}

/// Agent of a first request.
#[derive(Clone, Debug)]
pub struct FirstAgent {
    pub id: String,
    pub name: String,
}

/// Requests that are shown together.
#[derive(Clone, Debug)]
pub struct CardGroup {
    /// The common route; `None` for a single request.
    pub shared: Option<SharedRoute>,
    /// At least one request.
    pub cards: Vec<Card>,
}

/// The common parts of a group's requests.
#[derive(Clone, Debug)]
pub struct SharedRoute {
    /// Transaction id of the first request.
    pub id: String,
    /// True if the table of differences is too long to be open.
    pub is_long: bool,
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

/// Name and value of a field; `None` if the request has no such field.
pub type DifferentField = (String, Option<String>);

/// Fields that are not equal in all requests of a group.
#[derive(Clone, Debug)]
pub struct Differences {
    /// Names of the fields.
    pub columns: Vec<String>,
    /// Each request's transaction id, and its value of each field: `None` if it has no such field.
    pub rows: Vec<(String, Vec<DifferentField>)>,
    /// Number of fields that the table leaves out: `3 fields more.`
    pub more: Option<String>,
}

/// Requests that a person was asked about, and their decisions.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Requests of the last hour.
    pub hour: u64,
    /// Requests of the last 24 hours.
    pub day: u64,
    /// Their approvals of the last 24 hours.
    pub approved: u64,
    /// Their denials of the last 24 hours.
    pub denied: u64,
    /// True if that is more than anyone reads with care.
    pub heavy: bool,
}

impl InboxPage {
    fn count(&self) -> usize {
        self.cards().count()
    }

    fn cards(&self) -> impl Iterator<Item = &Card> {
        self.groups.iter().flat_map(|group| &group.cards)
    }
}

impl Load {
    fn requests(count: u64) -> String {
        crate::text::count_noun(count, "request")
    }
}

/// A list that is longer than a page.
#[derive(Clone, Debug)]
pub struct Pages {
    /// `50 of 120 pending`.
    pub summary: String,
    /// Label of the link to the next page; `None`: `More`.
    pub more: Option<String>,
    /// The first page, unless this is it.
    pub start: Option<String>,
    /// The next page.
    pub next: Option<String>,
}

/// `GET /app/decided`: everything decided or expired, newest first.
#[derive(Clone, Debug, Template)]
#[template(path = "decided.html")]
pub struct DecidedPage {
    pub shell: Layout,
    /// The search field.
    pub search: Search,
    /// One page of requests.
    pub decided: Vec<Card>,
    /// Links to more pages, if there are any.
    pub pages: Option<Pages>,
}

/// `GET /app/approvals/{txn_id}`.
#[derive(Clone, Debug, Template)]
#[template(path = "approval.html")]
pub struct ApprovalPage {
    pub shell: Layout,
    pub card: Card,
}

/// `GET /approve/{txn_id}`, signed in. Signed out, show [`super::sign_in::SignInPage`] with `next`.
#[derive(Clone, Debug, Template)]
#[template(path = "standalone.html")]
pub struct StandalonePage {
    /// CSRF token, user and workspace; there is no navigation.
    pub shell: Layout,
    /// The request; its `place` is [`Place::Standalone`].
    pub card: Card,
}

in_section!(InboxPage => Inbox, DecidedPage => Inbox, ApprovalPage => Inbox);

/// The page that shows a card. It is sent back as `from`, so that the response returns there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReturnTo {
    Inbox,
    /// The approval page.
    Approval,
    /// The standalone approval page.
    Standalone,
}

impl ReturnTo {
    /// The value of the `from` field.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Inbox => "inbox",
            Self::Approval => "approval",
            Self::Standalone => "standalone",
        }
    }
}

/// A request for approval.
///
/// Approving posts to `/app/approvals/{txn_id}/approve` with `csrf` and `from`. For a grant, it adds `agent_only=on`
/// and `grant_seconds` (900, 1800, 3600, 7200, 14400; the standalone page's checkbox sends 1800). If a passkey is
/// required, the form first asks `/app/approvals/{txn_id}/begin` for a challenge and also sends `ceremony` and
/// `credential`. Approving also sends `digest`; see [`EditForm`] for approving with changes. Denying posts to `/app/approvals/{txn_id}/deny` with `csrf`, `from` and `reason` (may be empty).
#[derive(Clone, Debug)]
pub struct Card {
    pub txn_id: String,
    /// Version tag of the request's state. The page reloads when the server reports another one.
    pub mark: String,
    /// The page that shows it.
    pub place: ReturnTo,
    /// Query of the inbox that an answer returns to.
    pub list: String,
    /// Cursor: the next page starts after this request.
    pub cursor: String,
    /// Summary for the compact row.
    pub gist: Option<String>,
    pub risk: MethodRisk,
    /// HTTP method, uppercase.
    pub method: String,
    /// Host, with the port if it is not the default.
    pub host: String,
    /// Path and query, shortened in the middle.
    pub path: Middle,
    /// True if the request goes over plain http: shown as a warning.
    pub plain_http: bool,
    pub agent: String,
    /// The agent's page, if this person may disable it.
    pub agent_page: Option<String>,
    pub credential: String,
    /// The agent's reason.
    pub reason: Option<String>,
    /// The rule that paused it, in words: `POST needs approval`, `matches /payments`.
    pub rule: String,
    /// Finding of a content rule: the headline of the request.
    pub content: Option<String>,
    /// The payload to sign, if a signature is requested.
    pub signing: Option<Signing>,
    /// The call of a tool of an MCP server.
    pub tool: Option<ToolCall>,
    /// Headers sent by the agent, except those that every client sends: name and value.
    pub headers: Vec<(String, String)>,
    pub body: BodyView,
    /// Digest of the request as it is shown; sent back as `digest` with an approval.
    pub digest: String,
    /// Changes that people made to the request, if there are any.
    pub edited: Option<EditCard>,
    /// Form to edit it before approving, on its own page.
    pub edit: Option<EditForm>,
    /// Time of the request.
    pub requested: Timestamp,
    /// End of the approval window.
    pub expires: Timestamp,
    /// Approvals needed.
    pub min_approvals: u32,
    /// Sentence about the rooms and people that were asked, and the next escalation step; empty in lists.
    pub asked: String,
    /// Approvals so far.
    pub approvals: Vec<Vote>,
    /// State of the request for this person.
    pub state: CardState,
    /// True if it is approved and its result is not known yet.
    pub under_way: bool,
    /// The beginning of the response, if this person may read it.
    pub response: Option<ResponseExcerpt>,
    /// True if a receipt can be downloaded here.
    pub has_receipt: bool,
}

/// The beginning of the response to an approved request, without secrets.
#[derive(Clone, Debug, Default)]
pub struct ResponseExcerpt {
    /// HTTP status; `None` for a signature and for a failure.
    pub status: Option<String>,
    /// True for a failure, and for a status of 400 or higher.
    pub is_error: bool,
    /// The `Content-Type`.
    pub content_type: Option<String>,
    /// `1.5 KiB`; `None` if there is no response.
    pub size: Option<String>,
    /// The beginning of the body, if it is text.
    pub text: Option<String>,
    /// `… 1,204 bytes more`, if only the beginning is shown.
    pub more: Option<String>,
    /// Reason why the body is missing or incomplete.
    pub note: Option<String>,
}

/// A payload to sign, made readable: control and bidi characters are visible.
#[derive(Clone, Debug)]
pub struct Signing {
    /// Key and payload type: `secp256k1, EIP-712 typed data`.
    pub what: String,
    /// The signed digest, in hexadecimal.
    pub digest: String,
    /// The agent's description.
    pub description: Option<String>,
    /// The payload as text or in hexadecimal.
    pub plain: Option<String>,
    /// Typed data: path, type and value of each field, first of the domain, then of the message.
    pub fields: Vec<(String, String, String)>,
    /// Warning about the payload.
    pub warning: Option<String>,
}

/// A call to a tool of an MCP server, made readable.
#[derive(Clone, Debug)]
pub struct ToolCall {
    /// Name of the tool on its server.
    pub tool: String,
    /// Names and values of the arguments.
    pub arguments: Vec<(String, String)>,
    /// True if the tool changed since a person allowed it.
    pub changed: bool,
    /// True if the request is a call for sure, so that the table says all of it. An agent can send an ordinary request
    /// that only looks like one.
    pub is_certain: bool,
}

/// One person's approval.
#[derive(Clone, Debug)]
pub struct Vote {
    /// E-mail address.
    pub by: String,
    /// Time of the approval.
    pub at: Timestamp,
}

/// State of a request, and this person's options.
#[derive(Clone, Debug)]
pub enum CardState {
    /// Pending, and this person may decide.
    Open {
        /// The grant this person may open with the approval.
        grant: GrantOffer,
        /// True if approving requires a passkey ceremony.
        passkey: bool,
    },
    /// Pending, and this person may decide, but the card shows only part of the body. The request is approved on its
    /// own page, which shows all of it, and denied here or there.
    Longer,
    /// Pending for someone else: this person has approved, or is not eligible.
    Watching {
        /// Reason that there are no buttons: `You approved 2 min ago. One more person must approve.`
        why: String,
    },
    Approved {
        /// Person who completed the quorum.
        by: String,
        /// Time of that approval.
        at: Timestamp,
        /// Result: `200 from upstream`, `being sent`, `upstream did not answer in 30 s`.
        result: String,
        /// True if the call failed or its outcome is unknown.
        failed: bool,
    },
    /// Denied; nothing was sent.
    Denied {
        /// Person who denied it.
        by: String,
        /// Time of the denial.
        at: Timestamp,
        /// The reason given.
        reason: Option<String>,
    },
    /// Expired or withdrawn; nothing was sent.
    Expired {
        /// Time of expiry or withdrawal.
        at: Timestamp,
        /// True if the agent withdrew it.
        withdrawn: bool,
    },
}

/// Grants that can be opened with an approval.
#[derive(Clone, Debug)]
pub enum GrantOffer {
    /// Available, for one of `choices` (the standalone page offers 30 minutes only).
    Choices {
        /// Scope of the grant, to be followed by a duration: `every POST to api.example.com/v1/items with
        /// billing-api`.
        covers: String,
        /// Count of recent requests that it would have covered, in one sentence.
        lately: String,
        /// Durations, shortest first.
        choices: Vec<GrantChoice>,
    },
    /// Not available, with the reason: `A grant cannot replace several approvals.`
    Unavailable(String),
}

/// A duration of a grant.
#[derive(Clone, Debug)]
pub struct GrantChoice {
    /// Value of `grant_seconds`.
    pub seconds: u64,
    /// `30 minutes`.
    pub label: String,
    /// End of the grant if approved now.
    pub until: Timestamp,
}

impl Card {
    /// True if it is the call of a tool of an MCP server.
    pub(crate) fn is_tool_call(&self) -> bool {
        self.shows_call()
    }

    /// True if a readable call stands in place of the body, which is then only to be looked up.
    fn shows_call(&self) -> bool {
        self.tool.as_ref().is_some_and(|tool| tool.is_certain)
    }

    const fn outcome(&self) -> DecisionBadge {
        match &self.state {
            CardState::Open { .. } | CardState::Longer | CardState::Watching { .. } => DecisionBadge::Pending,
            CardState::Approved { failed: true, .. } => DecisionBadge::Failed,
            CardState::Approved { .. } => DecisionBadge::Approved,
            CardState::Denied { .. } => DecisionBadge::Denied,
            CardState::Expired { .. } => DecisionBadge::Expired,
        }
    }

    /// True if this person approves it with a passkey here.
    pub const fn asks_passkey(&self) -> bool {
        matches!(self.state, CardState::Open { passkey: true, .. })
    }

    /// True if it can be selected and decided with others. One that is not shown in full cannot.
    const fn is_selectable(&self) -> bool {
        // An edited request is decided on its own page, which shows the difference.
        matches!((self.place, &self.state), (ReturnTo::Inbox, CardState::Open { .. }))
            && self.edited.is_none()
    }

    /// Path for a compact row: short enough that its end stays visible.
    fn line_path(&self) -> String {
        let Middle { head, tail, .. } = Middle::new(&self.path.full, LINE_PATH);
        tail.map_or_else(|| head.clone(), |tail| format!("{head}…{tail}"))
    }

    /// True if this person may decide it now.
    const fn is_open(&self) -> bool {
        matches!(self.state, CardState::Open { .. } | CardState::Longer)
    }

    /// Class of the method's badge in the stylesheet.
    const fn risk_class(&self) -> &'static str {
        match self.risk {
            MethodRisk::Read => "reads",
            MethodRisk::Write => "writes",
            MethodRisk::Delete => "deletes",
        }
    }

    /// True if a script follows it: it is pending, or its result is not known yet.
    pub const fn is_live(&self) -> bool {
        self.is_pending() || self.under_way
    }

    /// True if it is still pending.
    pub const fn is_pending(&self) -> bool {
        matches!(self.state, CardState::Open { .. } | CardState::Longer | CardState::Watching { .. })
    }
}
