//! Approving and denying a request.

use axum::response::Response;
use pyxis_core::approval_mode::ApprovalState;
use pyxis_gateway::Error as Service;
use pyxis_gateway::approvals::ceremony as by_passkey;
use pyxis_gateway::approvals::decide::{self, Decision, DecisionOutcome, GrantRequest};

use super::cards::surface;
use super::ceremony;
use super::inbox::txn;
use crate::form::{Fields, PathId, SubmittedForm};
use crate::notice::Notice;
use crate::session::SignedIn;
use crate::view::approvals::ReturnTo;
use crate::{Error, State};

pub(crate) async fn approve(
    PathId(id): PathId,
    SubmittedForm { state, who, fields }: SubmittedForm<SignedIn>,
) -> Result<Response, Error> {
    let Ok(wish) = wish(&fields) else { return Ok(redirect_back(&state, &fields, &id, Notice::BadGrant)) };
    let Some(given) = ceremony::answer(&fields) else {
        return answer(&state, &who, &fields, &id, Decision::Approve(wish)).await;
    };
    let approver = who.person.approver(surface(return_to(&fields)));
    let decided = by_passkey::approve(&state.gateway, &approver, txn(&id)?, wish, &given).await;
    respond(&state, &fields, &id, decided, false)
}

/// The challenge for approving with a passkey, with the requested grant.
pub(crate) async fn begin(
    PathId(id): PathId,
    SubmittedForm { state, who, fields }: SubmittedForm<SignedIn>,
) -> Result<Response, Error> {
    let wish = wish(&fields).map_err(|()| Service::field("grant_seconds", "choose one of the listed values"));
    let approver = who.person.approver(surface(return_to(&fields)));
    ceremony::challenge(match wish {
        Ok(wish) => by_passkey::begin(&state.gateway, &approver, txn(&id)?, wish).await,
        Err(error) => Err(error),
    })
}

/// The requested grant; an error if its length is not a number.
fn wish(fields: &Fields) -> Result<Option<GrantRequest>, ()> {
    match fields.get("grant_seconds") {
        "" => Ok(None),
        text => {
            let seconds = text.parse().map_err(|_| ())?;
            Ok(Some(GrantRequest { seconds, agent_only: fields.is_checked("agent_only"), max_uses: None }))
        }
    }
}

pub(crate) async fn deny(
    PathId(id): PathId,
    SubmittedForm { state, who, fields }: SubmittedForm<SignedIn>,
) -> Result<Response, Error> {
    let reason = Some(fields.text("reason")).filter(|reason| !reason.trim().is_empty());
    answer(&state, &who, &fields, &id, Decision::Deny(reason)).await
}

async fn answer(
    state: &State,
    who: &SignedIn,
    fields: &Fields,
    id: &str,
    word: Decision,
) -> Result<Response, Error> {
    let approver = who.person.approver(surface(return_to(fields)));
    let denies = matches!(word, Decision::Deny(_));
    let decided = decide::decide(&state.gateway, &approver, txn(id)?, word).await;
    respond(state, fields, id, decided, denies)
}

fn respond(
    state: &State,
    fields: &Fields,
    id: &str,
    decided: Result<DecisionOutcome, Service>,
    denies: bool,
) -> Result<Response, Error> {
    let notice = match decided {
        Ok(_) if denies => Notice::Denied,
        Ok(decided) if decided.grant.is_some() => Notice::ApprovedWithGrant,
        Ok(decided) if decided.state == ApprovalState::Pending => Notice::OneApproval,
        Ok(_) => Notice::Approved,
        Err(Service::AlreadyDecided(_)) => Notice::TooLate,
        Err(Service::NotEligible(_)) => Notice::NotEligible,
        Err(Service::PasskeyRequired { .. }) => Notice::PasskeyNeeded,
        Err(Service::PasskeyRefused(_)) => Notice::PasskeyFailed,
        Err(Service::InvalidField { field, .. }) if field == "reason" => Notice::ReasonTooLong,
        Err(Service::InvalidField { .. }) => Notice::BadGrant,
        Err(error) => return Err(error.into()),
    };
    Ok(redirect_back(state, fields, id, notice))
}

fn return_to(fields: &Fields) -> ReturnTo {
    match fields.get("from") {
        "inbox" => ReturnTo::Inbox,
        "standalone" => ReturnTo::Standalone,
        _ => ReturnTo::Approval,
    }
}

/// Returns to the page with the form. A refusal leads to the request itself, which shows why.
fn redirect_back(state: &State, fields: &Fields, id: &str, notice: Notice) -> Response {
    let Ok(id) = txn(id) else { return notice.redirect(state, "/app/inbox") };
    match return_to(fields) {
        ReturnTo::Inbox if notice.flash().good => notice.redirect(state, "/app/inbox"),
        ReturnTo::Inbox | ReturnTo::Approval => notice.redirect(state, &format!("/app/approvals/{id}")),
        ReturnTo::Standalone => notice.redirect(state, &format!("/approve/{id}")),
    }
}
