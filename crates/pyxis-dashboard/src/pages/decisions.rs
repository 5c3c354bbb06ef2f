//! Approving and denying a request.

use axum::response::{IntoResponse, Response};
use http::header::{LOCATION, SET_COOKIE};
use pyxis_core::approval_mode::ApprovalState;
use pyxis_gateway::Error as Service;
use pyxis_gateway::approvals::ceremony as by_passkey;
use pyxis_gateway::approvals::decide::{self, AuthMethod, Decision, DecisionOutcome, GrantRequest};
use pyxis_gateway::approvals::edit::Reviewed;
use serde_json::json;

use super::cards::surface;
use super::inbox::txn;
use super::inbox_query::{INBOX, InboxQuery};
use super::{ceremony, edit};
use crate::Error;
use crate::cookies::Cookies;
use crate::form::{Fields, PathId, SubmittedForm};
use crate::notice::Notice;
use crate::session::SignedIn;
use crate::view::approvals::ReturnTo;

/// Field of a form that a script sends to stay on the page.
const IN_PLACE: &str = "in_place";

pub(crate) async fn approve(
    PathId(id): PathId,
    SubmittedForm { state, who, fields }: SubmittedForm<SignedIn>,
) -> Result<Response, Error> {
    let Ok(wish) = wish(&fields) else {
        return Ok(redirect_back(state.cookies, &fields, &id, Notice::BadGrant));
    };
    let is_edit = edit::is_edit(&fields);
    let decided = match edit::reviewed(&state.gateway, &who, &id, &fields).await {
        Ok(reviewed) => decide_on(&state.gateway, &who, &fields, (&id, wish), &reviewed).await?,
        Err(Error::Service(error)) => Err(error),
        Err(error) => return Err(error),
    };
    match decided {
        Err(error) if is_edit && let Some(problem) = refusal(&error) => {
            edit::refused(&state, &who, &id, (&fields, return_to(&fields)), &problem).await
        }
        Ok(decided) if is_edit && decided.state == ApprovalState::Approved => {
            Ok(redirect_back(state.cookies, &fields, &id, Notice::ApprovedEdited))
        }
        decided => respond(state.cookies, &fields, &id, decided, false),
    }
}

/// Approves a request as it was read and edited, with the passkey in the form if there is one.
async fn decide_on(
    gateway: &pyxis_gateway::State,
    who: &SignedIn,
    fields: &Fields,
    (id, wish): (&str, Option<GrantRequest>),
    reviewed: &Reviewed,
) -> Result<Result<DecisionOutcome, Service>, Error> {
    let approver = who.person.approver(surface(return_to(fields)));
    let txn = txn(id)?;
    if let Some(given) = ceremony::answer(fields) {
        return Ok(by_passkey::approve(gateway, &approver, txn, wish, &given, reviewed).await);
    }
    let (word, method) = (Decision::Approve(wish), AuthMethod::Session);
    Ok(decide::decide_reviewed(gateway, &approver, txn, word, &method, None, reviewed).await)
}

/// Reason that an edit was refused, as a sentence.
fn refusal(error: &Service) -> Option<String> {
    match error {
        Service::InvalidField { field, detail } if field.starts_with("edit") => {
            let part = field.strip_prefix("edit.").map(|part| format!("{part}: ")).unwrap_or_default();
            Some(super::sentence(&format!("{part}{detail}")))
        }
        Service::QuotaExceeded(_) => Some(super::sentence(&error.to_string())),
        _ => None,
    }
}

/// The challenge for approving with a passkey, with the requested grant and edit.
pub(crate) async fn begin(
    PathId(id): PathId,
    SubmittedForm { state, who, fields }: SubmittedForm<SignedIn>,
) -> Result<Response, Error> {
    let wish = wish(&fields).map_err(|()| Service::field("grant_seconds", "choose one of the listed values"));
    let approver = who.person.approver(surface(return_to(&fields)));
    let reviewed = match edit::reviewed(&state.gateway, &who, &id, &fields).await {
        Ok(reviewed) => Ok(reviewed),
        Err(Error::Service(error)) => Err(error),
        Err(error) => return Err(error),
    };
    let begun = match (wish, reviewed) {
        (Ok(wish), Ok(reviewed)) => {
            by_passkey::begin(&state.gateway, &approver, txn(&id)?, wish, &reviewed).await
        }
        (Err(error), _) | (_, Err(error)) => Err(error),
    };
    ceremony::challenge(begun)
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
    answer(state.cookies, &state.gateway, &who, &fields, &id, Decision::Deny(reason)).await
}

async fn answer(
    cookies: Cookies,
    gateway: &pyxis_gateway::State,
    who: &SignedIn,
    fields: &Fields,
    id: &str,
    word: Decision,
) -> Result<Response, Error> {
    let approver = who.person.approver(surface(return_to(fields)));
    let denies = matches!(word, Decision::Deny(_));
    let decided = decide::decide(gateway, &approver, txn(id)?, word).await;
    respond(cookies, fields, id, decided, denies)
}

fn respond(
    cookies: Cookies,
    fields: &Fields,
    id: &str,
    decided: Result<DecisionOutcome, Service>,
    denies: bool,
) -> Result<Response, Error> {
    let settles = matches!(&decided, Ok(decided) if decided.state != ApprovalState::Pending);
    let notice = match decided {
        Ok(_) if denies => Notice::Denied,
        Ok(decided) if decided.grant.is_some() => Notice::ApprovedWithGrant,
        Ok(decided) if decided.state == ApprovalState::Pending => Notice::OneApproval,
        Ok(_) => Notice::Approved,
        Err(Service::AlreadyDecided(_)) => Notice::TooLate,
        Err(Service::RequestChanged) => Notice::RequestChanged,
        Err(Service::NotEligible(_)) => Notice::NotEligible,
        Err(Service::PasskeyRequired { .. }) => Notice::PasskeyNeeded,
        Err(Service::PasskeyRefused(_)) => Notice::PasskeyFailed,
        Err(Service::InvalidField { field, .. }) if field == "reason" => Notice::ReasonTooLong,
        Err(Service::InvalidField { .. }) => Notice::BadGrant,
        Err(error) => return Err(error.into()),
    };
    let response = redirect_back(cookies, fields, id, notice);
    Ok(if fields.is_checked(IN_PLACE) { in_place(&response, notice, settles) } else { response })
}

/// The same response for a script that keeps the page. It removes a settled request itself, or follows `location`.
fn in_place(redirect: &Response, notice: Notice, settles: bool) -> Response {
    let location = redirect.headers().get(LOCATION).and_then(|value| value.to_str().ok()).unwrap_or(INBOX);
    let body = json!({ "settled": settles, "text": notice.flash().text, "location": location });
    let mut response = axum::Json(body).into_response();
    if !settles && let Some(cookie) = redirect.headers().get(SET_COOKIE) {
        response.headers_mut().insert(SET_COOKIE, cookie.clone());
    }
    response
}

fn return_to(fields: &Fields) -> ReturnTo {
    match fields.get("from") {
        "inbox" => ReturnTo::Inbox,
        "standalone" => ReturnTo::Standalone,
        _ => ReturnTo::Approval,
    }
}

/// Returns to the page with the form. A refusal leads to the request itself, which shows why.
fn redirect_back(cookies: Cookies, fields: &Fields, id: &str, notice: Notice) -> Response {
    let Ok(id) = txn(id) else { return notice.redirect(cookies, INBOX) };
    match return_to(fields) {
        ReturnTo::Inbox if notice.flash().good => {
            notice.redirect(cookies, &InboxQuery::from_form(fields).start())
        }
        ReturnTo::Inbox | ReturnTo::Approval => notice.redirect(cookies, &format!("/app/approvals/{id}")),
        ReturnTo::Standalone => notice.redirect(cookies, &format!("/approve/{id}")),
    }
}
