//! Deciding the selected requests of the inbox.

use axum::response::Response;
use pyxis_core::approval_mode::ApprovalState;
use pyxis_core::target::Target;
use pyxis_gateway::Error as Service;
use pyxis_gateway::approvals::batch::{self, BatchItem};
use pyxis_gateway::approvals::decide::{AuthMethod, DecisionOutcome};
use pyxis_gateway::approvals::{batch_ceremony, view};
use pyxis_store::approvals::ApprovalRow;
use pyxis_store::votes::Verdict;

use super::cards::{PATH, surface};
use super::ceremony;
use super::inbox_query::InboxQuery;
use crate::Error;
use crate::error::html;
use crate::form::{Fields, SubmittedForm};
use crate::notice::Notice;
use crate::session::SignedIn;
use crate::text::{self, Middle};
use crate::view::DecisionBadge;
use crate::view::approvals::ReturnTo;
use crate::view::batch::{BatchPage, BatchResult, RequestLine};

pub(crate) async fn decide(
    SubmittedForm { state, who, fields }: SubmittedForm<SignedIn>,
) -> Result<Response, Error> {
    let items = items(&fields)?;
    let inbox = InboxQuery::from_form(&fields).start();
    if items.is_empty() {
        return Ok(Notice::NothingSelected.redirect(state.cookies, &inbox));
    }
    let approver = who.person.approver(surface(ReturnTo::Inbox));
    let decided = match ceremony::answer(&fields) {
        Some(given) => batch_ceremony::decide(&state.gateway, &approver, &items, &given).await,
        None => batch::decide_each(&state.gateway, &approver, &items, &AuthMethod::Session).await,
    };
    let decided = match decided {
        Err(Service::PasskeyRefused(_)) => return Ok(Notice::PasskeyFailed.redirect(state.cookies, &inbox)),
        other => other?,
    };
    let count = decided.iter().filter(|result| result.is_ok()).count();
    let mut results = Vec::with_capacity(items.len());
    for (item, result) in items.iter().zip(decided) {
        results.push(result_line(&state.gateway, &who, item, result).await?);
    }
    let noun = text::count_noun(items.len() as u64, "request");
    html(&BatchPage {
        shell: who.shell(&state).await?,
        summary: format!("{count} of {noun} decided"),
        results,
        inbox,
    })
}

/// The challenge for deciding the selected requests with a passkey.
pub(crate) async fn begin(
    SubmittedForm { state, who, fields }: SubmittedForm<SignedIn>,
) -> Result<Response, Error> {
    let approver = who.person.approver(surface(ReturnTo::Inbox));
    ceremony::challenge(batch_ceremony::begin(&state.gateway, &approver, &items(&fields)?).await)
}

/// The selected requests, all with the verdict of the pressed button. Only a denial has a reason here.
fn items(fields: &Fields) -> Result<Vec<BatchItem>, Error> {
    let (verdict, reason) = match fields.get("verdict") {
        "approve" => (Verdict::Approve, None),
        "deny" => (Verdict::Deny, Some(fields.text("reason"))),
        _ if fields.all("txn").next().is_none() => return Ok(Vec::new()),
        _ => {
            let detail = "choose Approve or Deny".to_owned();
            return Err(Service::InvalidDecisions(detail).into());
        }
    };
    let item = |id: &str| BatchItem { id: id.to_owned(), verdict, reason: reason.clone(), digest: None };
    Ok(fields.all("txn").map(item).collect())
}

async fn result_line(
    gateway: &pyxis_gateway::State,
    who: &SignedIn,
    item: &BatchItem,
    result: Result<DecisionOutcome, Service>,
) -> Result<BatchResult, Error> {
    let shown = match item.id.parse() {
        Ok(txn) => match view::load_view(gateway, who.person.workspace(), txn).await {
            Ok(shown) => Some(shown).filter(|shown| who.rights.may_approve(shown.row.credential_id)),
            Err(Service::NotFound(_)) => None,
            Err(error) => return Err(error.into()),
        },
        Err(_) => None,
    };
    let outcome = match result {
        Ok(decided) => decision_text(&decided),
        Err(error) => error_text(&error, shown.as_ref().map(|shown| &shown.row)),
    };
    let request = shown.map(|shown| {
        let target = Target::parse(&shown.target).ok().filter(|_| !shown.target_redacted);
        let path = target.as_ref().map_or(shown.target.as_str(), Target::wire);
        RequestLine {
            path: Middle::new(path, PATH),
            host: target.as_ref().map_or(&*shown.row.target_host, Target::authority).to_owned(),
            badge: badge(shown.row.state),
            method: shown.row.method.to_string(),
            agent: shown.row.agent_name,
            credential: shown.row.credential_name,
        }
    });
    Ok(BatchResult { txn_id: item.id.clone(), request, outcome })
}

const fn badge(state: ApprovalState) -> DecisionBadge {
    match state {
        ApprovalState::Pending => DecisionBadge::Pending,
        ApprovalState::Approved => DecisionBadge::Approved,
        ApprovalState::Denied => DecisionBadge::Denied,
        ApprovalState::Expired => DecisionBadge::Expired,
    }
}

fn decision_text(decided: &DecisionOutcome) -> String {
    match decided.state {
        ApprovalState::Approved => "Approved.".to_owned(),
        ApprovalState::Denied => "Denied. Nothing was sent.".to_owned(),
        ApprovalState::Expired => "Expired. Nothing was sent.".to_owned(),
        ApprovalState::Pending => {
            let missing = decided.min_approvals.saturating_sub(decided.approvals).max(1);
            format!("Your approval counts. Needs {}.", text::count_noun(missing.into(), "more approval"))
        }
    }
}

fn error_text(error: &Service, row: Option<&ApprovalRow>) -> String {
    let by = row.and_then(|row| row.decided_by_email.as_deref()).unwrap_or("someone else");
    match error {
        Service::AlreadyDecided(ApprovalState::Pending) => {
            "You have already voted. Needs more people.".to_owned()
        }
        Service::AlreadyDecided(ApprovalState::Approved) => format!("Already approved by {by}."),
        Service::AlreadyDecided(ApprovalState::Denied) => {
            format!("Already denied by {by}. Nothing was sent.")
        }
        Service::AlreadyDecided(ApprovalState::Expired) => {
            "Expired or withdrawn. Nothing was sent.".to_owned()
        }
        Service::NotEligible(why) => format!("You cannot decide this: {why}."),
        Service::PasskeyRequired { .. } => "Needs a passkey. Open it to approve.".to_owned(),
        Service::PasskeyRefused(why) => format!("Not decided: the passkey was refused ({why})."),
        Service::InvalidField { field, detail } => format!("Not decided: {field} {detail}."),
        Service::RequestChanged => "Not decided: it was edited. Open it to see the difference.".to_owned(),
        Service::NotFound(_) => "There is no such request.".to_owned(),
        _ => "Not decided: the server could not store it. Try again.".to_owned(),
    }
}
