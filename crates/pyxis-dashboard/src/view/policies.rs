//! Policies and grants: which requests pass, need approval or are denied.

use askama::Template;
use pyxis_core::policy::MAX_TIMEOUT_SECS;

use super::{Choice, DecisionBadge, Layout, Problems, RoomField, Search, Timestamp, in_section};

/// `GET /app/policies`.
#[derive(Clone, Debug, Template)]
#[template(path = "policies.html")]
pub struct PoliciesPage {
    pub shell: Layout,
    /// The search field and pages.
    pub search: Search,
    /// The credentials found, with their policies.
    pub policies: Vec<PolicyLine>,
    /// The pages of proposals.
    pub staged_search: Search,
    /// Proposals found that wait for their maker's passkey.
    pub staged: Vec<StagedLine>,
    /// The pages of grants.
    pub grant_search: Search,
    /// Active grants found.
    pub grants: Vec<GrantLine>,
}

/// A proposal: `GET /app/staged/{id}`.
#[derive(Clone, Debug)]
pub struct StagedLine {
    pub id: String,
    pub credential: String,
    /// Person who proposed it.
    pub by: String,
    /// Time of the proposal.
    pub at: Timestamp,
}

/// A credential and its policy in words.
#[derive(Clone, Debug)]
pub struct PolicyLine {
    pub credential: String,
    /// True if it has a policy of its own; otherwise the workspace's mode decides.
    pub own: bool,
    /// One sentence for each rule: `GET and HEAD are allowed`, `/payments always needs approval`.
    pub rules: Vec<String>,
}

/// An active grant. Revoking posts to `/app/grants/{id}/revoke`.
#[derive(Clone, Debug)]
pub struct GrantLine {
    pub id: String,
    pub method: String,
    /// Host and path.
    pub route: String,
    pub credential: String,
    /// `checkout-bot only`, `any agent`.
    pub agents: String,
    /// Person who opened it.
    pub by: String,
    /// Time of expiry.
    pub expires: Timestamp,
    /// `3 times`, `1 of 5 times`.
    pub used: String,
    /// True if this person may revoke it.
    pub revocable: bool,
}

/// Effect of a policy on a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MethodRule {
    /// Allowed.
    Auto,
    /// Needs approval (also what an unlisted method does).
    Ask,
    /// Denied.
    Deny,
}

/// Most minutes to decide that a form accepts.
pub const MAX_MINUTES: u64 = MAX_TIMEOUT_SECS / 60;

/// The editor. Fields: `method_{METHOD}` for each of [`PolicyForm::methods`] (`auto`, `ask`, `deny`). Lists, one
/// per line: `auto_approve_urls`, `require_approval_urls`, `deny_urls`, `content_rules`, `allowed_approvers`, `on_call`,
/// `escalation`.
/// Numbers and flags: `min_approvals`, `require_reason=on`, `passkey_required=on`, `approval_timeout_minutes`
/// (blank: the server's). Also `channel`, the room of each chat platform whose channel is offered (blank: the
/// workspace's), and `replay_count` for the replay.
#[derive(Clone, Debug)]
pub struct PolicyForm {
    /// GET (HEAD follows it), POST, PUT, PATCH, DELETE, OPTIONS, WEBSOCKET.
    pub methods: Vec<(String, MethodRule)>,
    /// One per line.
    pub auto_approve_urls: String,
    /// One per line.
    pub require_approval_urls: String,
    /// One per line.
    pub deny_urls: String,
    /// One per line.
    pub content_rules: String,
    /// One e-mail address per line; empty means any eligible approver.
    pub allowed_approvers: String,
    /// One e-mail address per line; empty means no one.
    pub on_call: String,
    /// One step per line: `10 eligible`.
    pub escalation: String,
    /// Digits.
    pub min_approvals: String,
    /// True if the agent must give a reason.
    pub require_reason: bool,
    /// True if approving requires a passkey ceremony.
    pub passkey_required: bool,
    /// Digits or empty.
    pub approval_timeout_minutes: String,
    /// Channels that announce approval requests.
    pub channels: Vec<Choice>,
    /// The credential's own rooms, on the platforms whose channels can be chosen.
    pub rooms: Vec<RoomField>,
    pub problems: Problems,
}

/// `GET /app/policies/{credential}`. The editor posts to the same path (save) or, with the draft as typed, to
/// `/replay`. The explain box posts to `/explain`, and `/remove` returns to the workspace's mode.
#[derive(Clone, Debug, Template)]
#[template(path = "policy.html")]
pub struct PolicyPage {
    pub shell: Layout,
    pub credential: String,
    /// True for the credential of an MCP server, whose tools have permissions of their own.
    pub is_mcp: bool,
    /// True if a policy is stored; otherwise the form starts from the mode's behavior.
    pub stored: bool,
    /// Effect of the workspace's mode without a policy, in one sentence.
    pub mode: String,
    pub form: PolicyForm,
    /// Warnings about the draft: `Nothing passes: every request will ask.`
    pub warnings: Vec<String>,
    /// The explain box.
    pub explain: Explain,
    /// Result of a replay.
    pub replay: Option<ReplayView>,
}

/// Explains the stored policy's decision about a request. Fields: `method`, `url`, `content_type`, `body`.
#[derive(Clone, Debug, Default)]
pub struct Explain {
    /// Method typed.
    pub method: String,
    /// URL typed.
    pub url: String,
    /// Body typed, for content rules.
    pub body: String,
    /// Type of the body.
    pub content_type: String,
    pub answer: Option<PolicyExplanation>,
}

/// The policy's decision.
#[derive(Clone, Debug)]
pub struct PolicyExplanation {
    pub outcome: DecisionBadge,
    /// `Needs approval`.
    pub decision: String,
    /// The rule, in words.
    pub rule: String,
    /// The pattern that matched.
    pub pattern: Option<String>,
    /// One more sentence.
    pub detail: String,
}

/// Decisions that the draft would have made about past requests.
#[derive(Clone, Debug)]
pub struct ReplayView {
    /// Number of requests replayed.
    pub considered: u64,
    /// Number of requests with another outcome or other content rules.
    pub changed: u64,
    /// Those, grouped by method and route, most first.
    pub changes: Vec<ReplayChange>,
}

impl ReplayView {
    /// `1000 requests`, with `noun` in the singular.
    fn considered_requests(&self, noun: &str) -> String {
        crate::text::count_noun(self.considered, noun)
    }
}

/// Requests that would have another outcome or other content rules.
#[derive(Clone, Debug)]
pub struct ReplayChange {
    /// Number of requests.
    pub count: u64,
    pub method: String,
    /// Host and path.
    pub route: String,
    /// Outcome at the time.
    pub before: DecisionBadge,
    /// Outcome with the draft.
    pub after: DecisionBadge,
    /// The rule of the draft that decides, or its content rules that differ.
    pub reason: String,
}

in_section!(PoliciesPage => Policies, PolicyPage => Policies);
