//! Builds the card of a transaction.

use std::collections::HashMap;

use pyxis_core::approval_mode::{ApprovalState, ForwardState};
use pyxis_core::clock::{Clock, UnixMillis};
use pyxis_core::grant::DecisionSurface;
use pyxis_core::id::CredentialId;
use pyxis_core::policy::{Policy, Rule};
use pyxis_core::target::Target;
use pyxis_gateway::admin::rights::Rights;
use pyxis_gateway::admin::{passkeys, policies};
use pyxis_gateway::approvals::coverage::RecentRequests;
use pyxis_gateway::approvals::decide::Approver;
use pyxis_gateway::approvals::view::ApprovalView;
use pyxis_gateway::approvals::viewer_status::{self, Blocker, ViewerStatus};
use pyxis_store::Store;
use pyxis_store::approvals::{ApprovalKind, ApprovalRow, MethodRisk};
use pyxis_store::votes::{Verdict, VoteRow};

use super::inbox_query::cursor;
use super::{announcement_line, edited, labels, signing, tool_call};
use crate::Error;
use crate::session::SignedIn;
use crate::text::{self, Middle};
use crate::view::Timestamp;
use crate::view::approvals::{Card, CardState, GrantChoice, GrantOffer, ReturnTo, Vote};
use crate::view::body::BodyView;

/// Longest path in characters; a longer one loses its middle.
pub(super) const PATH: usize = 72;
/// Lengths of grants that a manager may open from the dashboard, in seconds (15 minutes to 4 hours).
const DASHBOARD_GRANTS: &[u64] = &[900, 1800, 3600, 7200, 14_400];
/// The only grant length on the standalone page.
const STANDALONE_GRANTS: &[u64] = &[1800];

/// The decision surface of a page.
pub(super) const fn surface(place: ReturnTo) -> DecisionSurface {
    match place {
        ReturnTo::Inbox | ReturnTo::Approval => DecisionSurface::Dashboard,
        ReturnTo::Standalone => DecisionSurface::Standalone,
    }
}

/// Builds the cards of one person on one page.
pub(super) struct Cards {
    place: ReturnTo,
    approver: Approver,
    rights: Rights,
    has_passkey: bool,
    recent: RecentRequests,
    policies: HashMap<CredentialId, Policy>,
    /// Query of the list that the forms return to.
    list: String,
    now: UnixMillis,
}

impl Cards {
    pub(super) async fn load(
        store: &Store,
        clock: &dyn Clock,
        who: &SignedIn,
        place: ReturnTo,
    ) -> Result<Self, Error> {
        let policies = policies::list(store, who.person.workspace()).await?;
        Ok(Self {
            place,
            approver: who.person.approver(surface(place)),
            rights: who.rights.clone(),
            recent: RecentRequests::load(store, who.person.workspace()).await?,
            has_passkey: !passkeys::list(store, &who.person.user).await?.is_empty(),
            policies: policies.into_iter().collect(),
            list: String::new(),
            now: clock.now(),
        })
    }

    /// Cards whose forms return to a filtered list, given by its query.
    pub(super) fn returning_to(self, list: String) -> Self {
        Self { list, ..self }
    }

    /// The card of `view`. `body` is the part of the body that is known here.
    pub(super) fn card(&self, view: &ApprovalView, body: BodyView) -> Card {
        let row = &view.row;
        // A target that holds a secret is shown with its placeholders, and no grant covers it.
        let target = Target::parse(&view.target).ok().filter(|_| !view.target_redacted);
        let assigned = self.rights.may_approve(row.credential_id);
        let policy = self.policies.get(&row.credential_id);
        let status = viewer_status::viewer_status(&self.approver, assigned, row, policy, &view.votes);
        // A target that no longer parses is shown as it is; it could not be sent either.
        let path = target.as_ref().map_or(view.target.as_str(), Target::wire);
        Card {
            txn_id: row.txn_id.to_string(),
            mark: view.version_tag(),
            place: self.place,
            list: self.list.clone(),
            cursor: cursor(row),
            gist: None,
            risk: MethodRisk::from_method(&row.method),
            method: row.method.to_string(),
            host: target.as_ref().map_or(&*row.target_host, Target::authority).to_owned(),
            path: Middle::new(path, PATH),
            // A signature is not sent anywhere.
            plain_http: row.kind == ApprovalKind::Forward && view.target.starts_with("http://"),
            agent: row.agent_name.clone(),
            agent_page: self.approver.role.is_manager().then(|| format!("/app/agents/{}", row.agent_id)),
            credential: row.credential_name.clone(),
            reason: row.reason.clone(),
            rule: if row.kind == ApprovalKind::Sign {
                "every signature needs approval".to_owned()
            } else {
                labels::rule(row.rule.as_str(), row.pattern.as_deref(), row.method.as_str())
            },
            content: view.content.clone(),
            signing: signing::from_view(view),
            tool: tool_call::from_view(view),
            headers: view.telling_headers(),
            body,
            digest: row.digest.clone(),
            edited: edited::card(view, self.now),
            edit: None,
            requested: self.when(row.created_at),
            expires: self.when(row.expires_at),
            min_approvals: status.needed,
            asked: announcement_line::line(view),
            approvals: self.approvals(view),
            state: self.state(view, target.as_ref(), status),
            under_way: row.state == ApprovalState::Approved && row.forward_state != ForwardState::Done,
            response: None,
            has_receipt: self.place != ReturnTo::Inbox && has_receipt(row),
        }
    }

    fn when(&self, at: UnixMillis) -> Timestamp {
        Timestamp::new(at, self.now)
    }

    fn approvals(&self, view: &ApprovalView) -> Vec<Vote> {
        let policy = self.policies.get(&view.row.credential_id);
        let settled = !matches!(view.row.state, ApprovalState::Pending);
        let counts = |vote: &&VoteRow| {
            if settled {
                vote.verdict == Verdict::Approve
            } else {
                viewer_status::counts(vote, &view.row, policy)
            }
        };
        let yes = view.votes.iter().filter(counts);
        yes.map(|vote| Vote { by: vote.email.clone(), at: self.when(vote.created_at) }).collect()
    }

    fn state(&self, view: &ApprovalView, target: Option<&Target>, status: ViewerStatus) -> CardState {
        let row = &view.row;
        let at = self.when(row.decided_at.unwrap_or(row.expires_at));
        let by = row.decided_by_email.clone().unwrap_or_else(|| "someone".to_owned());
        match row.state {
            ApprovalState::Pending => match status.bar {
                None => {
                    CardState::Open { grant: self.grant_offer(view, target, status.needed), passkey: false }
                }
                Some(Blocker::Passkey) if self.has_passkey => {
                    CardState::Open { grant: self.grant_offer(view, target, status.needed), passkey: true }
                }
                Some(bar) => CardState::Watching { why: self.blocker_text(view, bar, status.needed) },
            },
            ApprovalState::Approved => {
                let (result, failed) = labels::result(row);
                CardState::Approved { by, at, result, failed }
            }
            ApprovalState::Denied => CardState::Denied { by, at, reason: row.deny_reason.clone() },
            ApprovalState::Expired => CardState::Expired { at, withdrawn: row.withdrawn },
        }
    }

    fn blocker_text(&self, view: &ApprovalView, bar: Blocker, needed: u32) -> String {
        match bar {
            Blocker::NotEligible(why) => {
                format!("You cannot decide this: {why}. Another approver must.")
            }
            Blocker::Voted(at) => {
                let given = u32::try_from(self.approvals(view).len()).unwrap_or(u32::MAX);
                let more = match needed.saturating_sub(given) {
                    0 | 1 => "One more person".to_owned(),
                    n => format!("{n} more people"),
                };
                let ago = text::relative(at, self.now);
                format!("You approved this {ago}. {more} must approve before it is sent.")
            }
            Blocker::Passkey => {
                "Approving requires a passkey, and you have none. Register one under Account, \
                             then come back."
                    .to_owned()
            }
        }
    }

    fn grant_offer(&self, view: &ApprovalView, target: Option<&Target>, needed: u32) -> GrantOffer {
        let row = &view.row;
        let Some(target) = target else {
            return GrantOffer::Unavailable("The URL cannot be parsed, so no grant can cover it.".into());
        };
        if row.kind == ApprovalKind::Sign {
            return GrantOffer::Unavailable("Each signature needs its own approval.".into());
        }
        if needed > 1 {
            return GrantOffer::Unavailable("A grant cannot replace several approvals.".into());
        }
        if row.edits > 0 {
            return GrantOffer::Unavailable("An edited request is approved alone, without a grant.".into());
        }
        if row.method.known().is_none() {
            return GrantOffer::Unavailable("No grant can cover the method of this request.".into());
        }
        if row.rule.is(Rule::Tool) || row.rule.is(Rule::ToolChanged) {
            return GrantOffer::Unavailable(
                "Grants do not cover tools. To send calls at once, set the tool to Pass.".into(),
            );
        }
        if row.rule.is(Rule::Content) {
            return GrantOffer::Unavailable(
                "A content rule paused this request, so a grant has no effect.".into(),
            );
        }
        if row.rule.is(Rule::RequireUrl) {
            return GrantOffer::Unavailable(
                "This URL always needs approval, so a grant has no effect.".into(),
            );
        }
        let seconds = match self.place {
            ReturnTo::Standalone => STANDALONE_GRANTS,
            ReturnTo::Inbox | ReturnTo::Approval if self.approver.role.is_manager() => DASHBOARD_GRANTS,
            ReturnTo::Inbox | ReturnTo::Approval => {
                return GrantOffer::Unavailable("Only owners and admins can open grants here.".into());
            }
        };
        let route = target.route();
        let covers =
            format!("every {} to {} with {}", row.method, labels::short_route(&route), row.credential_name);
        let lately = self.recent.covered_by(&row.credential_name, &row.method, &route);
        GrantOffer::Choices {
            covers,
            lately: lately.in_words(),
            choices: seconds.iter().map(|s| self.choice(*s)).collect(),
        }
    }

    fn choice(&self, seconds: u64) -> GrantChoice {
        let until = self.now.plus(std::time::Duration::from_secs(seconds));
        GrantChoice { seconds, label: text::duration(seconds), until: self.when(until) }
    }
}

/// True once nothing more can happen to the request.
fn has_receipt(row: &ApprovalRow) -> bool {
    match row.state {
        ApprovalState::Pending => false,
        ApprovalState::Denied | ApprovalState::Expired => true,
        ApprovalState::Approved => row.forward_state == ForwardState::Done,
    }
}
