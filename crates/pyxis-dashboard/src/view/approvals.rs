//! The inbox, the approval page, the standalone approval page, and the card they share.

use askama::Template;

use super::body::BodyView;
use super::{DecisionBadge, Layout, Search, Timestamp, in_section};
use crate::text::Middle;

/// `GET /app/inbox`.
#[derive(Clone, Debug, Template)]
#[template(path = "inbox.html")]
pub struct InboxPage {
    /// The frame.
    pub shell: Layout,
    /// The search field.
    pub search: Search,
    /// How often this person was asked of late; `None` where nobody asked.
    pub load: Option<Load>,
    /// Requests that wait, in the chosen order.
    pub pending: Vec<Card>,
    /// Where there are more than one page shows.
    pub pages: Option<Pages>,
    /// Requests decided lately, newest first.
    pub decided: Vec<Card>,
    /// True if the newest pending one stands first (`?order=newest`); else the oldest, so that
    /// nothing moves when one arrives.
    pub newest_first: bool,
    /// Shown to managers when there was never a request: a `curl` that makes one.
    pub first_request: Option<String>,
}

/// How often a person was asked, and what they said.
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
    /// True if that is more than anybody reads with care.
    pub heavy: bool,
}

impl InboxPage {
    /// True if any of the requests is approved with a passkey.
    fn asks_passkey(&self) -> bool {
        self.pending.iter().any(Card::asks_passkey)
    }
}

impl Load {
    fn requests(count: u64) -> String {
        crate::text::counted(count, "request")
    }
}

/// A list that is longer than a page.
#[derive(Clone, Debug)]
pub struct Pages {
    /// `50 of 120 that wait`.
    pub summary: String,
    /// The first page, where this is another.
    pub start: Option<String>,
    /// The next page.
    pub next: Option<String>,
}

/// `GET /app/decided`: everything that is over, newest first.
#[derive(Clone, Debug, Template)]
#[template(path = "decided.html")]
pub struct DecidedPage {
    /// The frame.
    pub shell: Layout,
    /// The search field.
    pub search: Search,
    /// One page of them.
    pub decided: Vec<Card>,
    /// Where there are more than one page shows.
    pub pages: Option<Pages>,
}

/// `GET /app/approvals/{txn_id}`.
#[derive(Clone, Debug, Template)]
#[template(path = "approval.html")]
pub struct ApprovalPage {
    /// The frame.
    pub shell: Layout,
    /// The request.
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

/// The page a card stands on; sent back as `from`, so that the answer returns there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReturnTo {
    /// The inbox.
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

/// One request for approval.
///
/// Posts to `/app/approvals/{txn_id}/approve` with `csrf`, `from`, and, if a grant is wanted,
/// `grant_seconds` (900, 1800, 3600, 7200, 14400; the standalone page's checkbox sends 1800) and
/// `agent_only=on`. Where a passkey is needed, the form first asks `/app/approvals/{txn_id}/begin` for a
/// challenge and sends `ceremony` and `credential` as well. To `/app/approvals/{txn_id}/deny` with `csrf`, `from`, `reason` (may be empty).
#[derive(Clone, Debug)]
pub struct Card {
    /// Transaction id.
    pub txn_id: String,
    /// What it was made from; the page is made anew when the server says another one.
    pub mark: String,
    /// Where it is shown.
    pub place: ReturnTo,
    /// HTTP method, upper case.
    pub method: String,
    /// Host, with the port if it is not the default.
    pub host: String,
    /// Path and query, shortened in the middle.
    pub path: Middle,
    /// True if the request goes over plain http: shown as a warning.
    pub plain_http: bool,
    /// Name of the agent.
    pub agent: String,
    /// Its page, for who may stop it.
    pub agent_page: Option<String>,
    /// Name of the credential.
    pub credential: String,
    /// What the agent gave as its reason.
    pub reason: Option<String>,
    /// The rule that paused it, in words: `POST needs approval`, `matches /payments`.
    pub rule: String,
    /// What is to be signed, where a signature is asked for.
    pub signing: Option<Signing>,
    /// Headers of the agent that not every client sends: name and value.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: BodyView,
    /// When the agent asked.
    pub requested: Timestamp,
    /// When the window ends.
    pub expires: Timestamp,
    /// Approvals needed.
    pub min_approvals: u32,
    /// Approvals so far.
    pub approvals: Vec<Vote>,
    /// Where it stands.
    pub state: CardState,
}

/// A payload that is to be signed, made readable: control and bidi characters are visible.
#[derive(Clone, Debug)]
pub struct Signing {
    /// `secp256k1, EIP-712 typed data`.
    pub what: String,
    /// What is under the signature, in hexadecimal digits.
    pub digest: String,
    /// The agent's words.
    pub description: Option<String>,
    /// The payload as text or hexadecimal digits.
    pub plain: Option<String>,
    /// Typed data: place, type and value of each field, first of the domain, then of the message.
    pub fields: Vec<(String, String, String)>,
    /// What to be careful about.
    pub warning: Option<String>,
}

/// One person's yes.
#[derive(Clone, Debug)]
pub struct Vote {
    /// E-mail address.
    pub by: String,
    /// When.
    pub at: Timestamp,
}

/// Where a request stands, and what this person may do.
#[derive(Clone, Debug)]
pub enum CardState {
    /// Waits, and this person may decide.
    Open {
        /// The grant this person may open with the approval.
        grant: GrantOffer,
        /// True if approving opens a passkey ceremony.
        passkey: bool,
    },
    /// Waits, and this person may decide, but not all of the body stands here: it is approved on its own
    /// page, where all of it does, and denied here or there.
    Longer,
    /// Waits for somebody else: this person has approved, or is not eligible.
    Watching {
        /// Why there are no buttons: `You approved 2 min ago. One more person must approve.`
        why: String,
    },
    /// Approved.
    Approved {
        /// Who completed the quorum.
        by: String,
        /// When.
        at: Timestamp,
        /// What came of it: `200 from upstream`, `being sent`, `upstream did not answer in 30 s`.
        result: String,
        /// True if the call failed or its outcome is unknown.
        failed: bool,
    },
    /// Denied; nothing was sent.
    Denied {
        /// Who.
        by: String,
        /// When.
        at: Timestamp,
        /// The reason given.
        reason: Option<String>,
    },
    /// Expired or withdrawn; nothing was sent.
    Expired {
        /// When.
        at: Timestamp,
        /// True if the agent withdrew it.
        withdrawn: bool,
    },
}

/// Whether a grant can be opened with an approval.
#[derive(Clone, Debug)]
pub enum GrantOffer {
    /// Yes, for one of `choices` (the standalone page offers 30 minutes only).
    Choices {
        /// What it covers, to be followed by `until 14:30 UTC`:
        /// `any POST to api.example.com/v1/items with billing-api`.
        covers: String,
        /// What of the last requests it would have covered, in one sentence.
        lately: String,
        /// Durations, shortest first.
        choices: Vec<GrantChoice>,
    },
    /// No, and why: `A grant cannot stand in for two approvals.`
    Unavailable(String),
}

/// A duration of a grant.
#[derive(Clone, Debug)]
pub struct GrantChoice {
    /// Value of `grant_seconds`.
    pub seconds: u64,
    /// `30 minutes`.
    pub label: String,
    /// When it would end if approved now.
    pub until: Timestamp,
}

impl Card {
    /// The badge.
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

    /// True if it still waits.
    pub const fn is_pending(&self) -> bool {
        matches!(self.state, CardState::Open { .. } | CardState::Longer | CardState::Watching { .. })
    }
}
