//! Policies and grants: what passes, what asks, what never goes.

use askama::Template;

use super::{Choice, DecisionBadge, Layout, Problems, Search, Timestamp, in_section};

/// `GET /app/policies`.
#[derive(Clone, Debug, Template)]
#[template(path = "policies.html")]
pub struct PoliciesPage {
    /// The frame.
    pub shell: Layout,
    /// The search field and pages.
    pub search: Search,
    /// The credentials that were found, with their policies.
    pub policies: Vec<PolicyLine>,
    /// The pages of proposals.
    pub staged_search: Search,
    /// Proposals that wait for their maker's passkey and were found.
    pub staged: Vec<StagedLine>,
    /// The pages of grants.
    pub grant_search: Search,
    /// Grants that are in force and were found.
    pub grants: Vec<GrantLine>,
}

/// A proposal: `GET /app/staged/{id}`.
#[derive(Clone, Debug)]
pub struct StagedLine {
    /// Its id.
    pub id: String,
    /// The credential.
    pub credential: String,
    /// Who proposed it.
    pub by: String,
    /// When.
    pub at: Timestamp,
}

/// A credential and its policy in words.
#[derive(Clone, Debug)]
pub struct PolicyLine {
    /// Name of the credential.
    pub credential: String,
    /// True if it has a policy of its own; else the workspace's mode decides.
    pub own: bool,
    /// One sentence for each rule: `GET and HEAD pass`, `/payments always asks`.
    pub rules: Vec<String>,
}

/// A grant in force. Revoke posts to `/app/grants/{id}/revoke`.
#[derive(Clone, Debug)]
pub struct GrantLine {
    /// Grant id.
    pub id: String,
    /// HTTP method.
    pub method: String,
    /// Host and path.
    pub route: String,
    /// Credential.
    pub credential: String,
    /// `checkout-bot only`, `any agent`.
    pub agents: String,
    /// Who opened it.
    pub by: String,
    /// When it ends.
    pub expires: Timestamp,
    /// `3 times`, `1 of 5 times`.
    pub used: String,
    /// True if this person may revoke it.
    pub revocable: bool,
}

impl PolicyForm {
    /// True if a channel can be chosen.
    fn offers(&self, channel: &str) -> bool {
        self.channels.iter().any(|choice| choice.value == channel)
    }
}

/// What happens to a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MethodRule {
    /// Passes.
    Auto,
    /// Needs approval (also what an unlisted method does).
    Ask,
    /// Is refused.
    Deny,
}

/// The editor. Fields: `method_{METHOD}` for each of [`PolicyForm::methods`] (`auto`, `ask`, `deny`),
/// `auto_approve_urls`, `require_approval_urls`, `deny_urls`, `allowed_approvers` (one a line),
/// `min_approvals`, `require_reason=on`, `passkey_required=on`, `approval_timeout_minutes` (blank: the server's), `channel`,
/// `telegram_chat` and `matrix_room` (where those channels are offered; blank: the workspace's),
/// and for the replay `replay_count`.
#[derive(Clone, Debug)]
pub struct PolicyForm {
    /// GET (HEAD follows it), POST, PUT, PATCH, DELETE, OPTIONS.
    pub methods: Vec<(String, MethodRule)>,
    /// One a line.
    pub auto_approve_urls: String,
    /// One a line.
    pub require_approval_urls: String,
    /// One a line.
    pub deny_urls: String,
    /// One e-mail address a line; empty means any eligible approver.
    pub allowed_approvers: String,
    /// Digits.
    pub min_approvals: String,
    /// True if the agent must give a reason.
    pub require_reason: bool,
    /// True if only a passkey ceremony approves.
    pub passkey_required: bool,
    /// Digits or empty.
    pub approval_timeout_minutes: String,
    /// Where approvals are announced.
    pub channels: Vec<Choice>,
    /// This credential's own chat on the first platform; empty: the workspace's.
    pub telegram_chat: String,
    /// Its own room on the second.
    pub matrix_room: String,
    /// What is wrong.
    pub problems: Problems,
}

/// `GET /app/policies/{credential}`. The editor posts to the same path (save) or, with the draft as
/// typed, to `/replay`; the explain box to `/explain`; `/remove` returns to the workspace's mode.
#[derive(Clone, Debug, Template)]
#[template(path = "policy.html")]
pub struct PolicyPage {
    /// The frame.
    pub shell: Layout,
    /// Name of the credential.
    pub credential: String,
    /// True if a policy is stored; else what the mode does is the starting point.
    pub stored: bool,
    /// What the workspace's mode does without a policy, in one sentence.
    pub mode: String,
    /// The editor.
    pub form: PolicyForm,
    /// Warnings about the draft: `Nothing passes: every request will ask.`
    pub warnings: Vec<String>,
    /// The explain box.
    pub explain: Explain,
    /// Result of a replay.
    pub replay: Option<ReplayView>,
}

/// Asks what the stored policy would do. Fields: `method`, `url`.
#[derive(Clone, Debug, Default)]
pub struct Explain {
    /// Method typed.
    pub method: String,
    /// URL typed.
    pub url: String,
    /// The answer.
    pub answer: Option<PolicyExplanation>,
}

/// What the policy says.
#[derive(Clone, Debug)]
pub struct PolicyExplanation {
    /// Badge.
    pub outcome: DecisionBadge,
    /// `Needs approval`.
    pub decision: String,
    /// The rule, in words.
    pub rule: String,
    /// The pattern that matched.
    pub pattern: Option<String>,
    /// One sentence more.
    pub detail: String,
}

/// What the draft would have done to past requests.
#[derive(Clone, Debug)]
pub struct ReplayView {
    /// How many requests were tried.
    pub considered: u64,
    /// How many would go another way.
    pub changed: u64,
    /// Those, grouped by method and route, most first.
    pub changes: Vec<ReplayChange>,
}

impl ReplayView {
    /// `1000 requests`, with `noun` in the singular.
    fn considered_requests(&self, noun: &str) -> String {
        crate::text::counted(self.considered, noun)
    }
}

/// Requests that would go another way.
#[derive(Clone, Debug)]
pub struct ReplayChange {
    /// How many.
    pub count: u64,
    /// Method.
    pub method: String,
    /// Host and path.
    pub route: String,
    /// Before.
    pub before: DecisionBadge,
    /// After.
    pub after: DecisionBadge,
    /// The rule of the draft that decides.
    pub rule: String,
}

in_section!(PoliciesPage => Policies, PolicyPage => Policies);
