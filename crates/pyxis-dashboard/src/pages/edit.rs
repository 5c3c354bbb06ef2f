//! Editing a request before approving it: the form, its answer, and the difference afterwards.

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use pyxis_core::clock::UnixMillis;
use pyxis_gateway::Error as Service;
use pyxis_gateway::approvals::edit::{RequestEdit, Reviewed};
use pyxis_gateway::approvals::edited::ValueChange;
use pyxis_gateway::approvals::view::{self, ApprovalView};

use super::{edit_body, inbox};
use crate::form::Fields;
use crate::session::SignedIn;
use crate::text;
use crate::view::Timestamp;
use crate::view::approvals::ReturnTo;
use crate::view::edit::{BodyInput, ChangedValue, EditCard, EditForm, diff_lines};
use crate::{Error, State};

/// The form for a pending request. `None` if nothing of it can be edited.
pub(super) fn form(view: &ApprovalView) -> Option<EditForm> {
    if !view.is_editable() {
        return None;
    }
    Some(EditForm {
        body: body_input(view),
        query: view.parameters().filter(|query| query.iter().all(is_visible)),
        headers: view.editable_headers().into_iter().filter(is_visible).collect(),
        problem: None,
    })
}

/// True if an input sends the pair back as it is.
fn is_visible((name, value): &(String, String)) -> bool {
    text::visible(name) == *name && text::visible(value) == *value && !value.contains('\n')
}

fn body_input(view: &ApprovalView) -> BodyInput {
    match view.editable_body() {
        Ok(body) => edit_body::inputs(view.row.content_type.as_deref(), body),
        Err(why) => BodyInput::Fixed(why),
    }
}

/// True if the form asks for an edit.
pub(super) fn is_edit(fields: &Fields) -> bool {
    fields.is_checked("edited")
}

/// The request as it was read, with the edit that the form asks for.
///
/// # Errors
/// `RequestChanged`, and `InvalidField` for an input that does not fit.
pub(super) async fn reviewed(
    state: &State,
    who: &SignedIn,
    id: &str,
    fields: &Fields,
) -> Result<Reviewed, Error> {
    let digest = Some(fields.get("digest").to_owned()).filter(|digest| !digest.is_empty());
    if !is_edit(fields) {
        return Ok(Reviewed { digest, edit: None });
    }
    let row = view::row(&state.gateway, who.person.workspace(), inbox::txn(id)?).await?;
    who.require_approve(row.credential_id)?;
    let seen = view::load_view(&state.gateway, who.person.workspace(), row.txn_id).await?;
    // The inputs stand for places in the request that was read.
    if digest.as_ref() != Some(&seen.row.digest) {
        return Err(Service::RequestChanged.into());
    }
    let edit = read(fields, &seen).map_err(|problem| Service::field("edit", problem))?;
    Ok(Reviewed { digest, edit: Some(edit) })
}

/// The edit that the form asks for.
fn read(fields: &Fields, seen: &ApprovalView) -> Result<RequestEdit, String> {
    let Some(form) = form(seen) else { return Err("this request cannot be edited".to_owned()) };
    let content_type = seen.row.content_type.as_deref();
    let body = match (&form.body, seen.editable_body()) {
        (BodyInput::Values(_), Ok(body)) => {
            Some(edit_body::with_values(content_type, body, |index| {
                let name = format!("body:{index}");
                fields.all(&name).next().map(|value| value.replace("\r\n", "\n"))
            })?)
        }
        (BodyInput::Text(_), Ok(_)) => fields.all("body").next().map(|_| fields.text("body")),
        _ => None,
    };
    let query = form.query.as_ref().filter(|_| fields.all("query_name").next().is_some());
    let query = query.map(|_| pairs(fields, "query_name", "query_value"));
    Ok(RequestEdit {
        body: body.filter(|text| seen.body.as_deref() != Some(text.as_bytes())),
        query: query.filter(|pairs| form.query.as_ref() != Some(pairs)),
        headers: header_changes(&form.headers, &pairs(fields, "header_name", "header_value")),
    })
}

/// Pairs of inputs that have a name.
fn pairs(fields: &Fields, name: &str, value: &str) -> Vec<(String, String)> {
    let named = fields.all(name).zip(fields.all(value)).filter(|(name, _)| !name.trim().is_empty());
    named.map(|(name, value)| (name.trim().to_owned(), value.to_owned())).collect()
}

/// Headers to set or to remove; `None` if there are none.
fn header_changes(
    shown: &[(String, String)],
    wanted: &[(String, String)],
) -> Option<Vec<(String, Option<String>)>> {
    let of = |list: &[(String, String)], name: &str| -> Vec<String> {
        list.iter().filter(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.clone()).collect()
    };
    let mut changes = Vec::new();
    let mut done: Vec<String> = Vec::new();
    for (name, _) in shown.iter().chain(wanted) {
        let (before, after) = (of(shown, name), of(wanted, name));
        if before == after || done.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            continue;
        }
        done.push(name.clone());
        if after.is_empty() {
            changes.push((name.clone(), None));
        }
        changes.extend(after.into_iter().map(|value| (name.clone(), Some(value))));
    }
    (!changes.is_empty()).then_some(changes)
}

/// The page with the form as the person filled it in, and the reason that it was refused.
pub(super) async fn refused(
    state: &State,
    who: &SignedIn,
    id: &str,
    (fields, place): (&Fields, ReturnTo),
    problem: &str,
) -> Result<Response, Error> {
    let place = if place == ReturnTo::Inbox { ReturnTo::Approval } else { place };
    let mut card = inbox::load_card(state, who, id, place).await?;
    if let Some(form) = &mut card.edit {
        form.problem = Some(problem.to_owned());
        match &mut form.body {
            BodyInput::Values(inputs) => {
                for (index, input) in inputs.iter_mut().enumerate() {
                    let sent = fields.all(&format!("body:{index}")).next();
                    input.value = sent.map_or_else(|| input.value.clone(), str::to_owned);
                }
            }
            BodyInput::Text(body) => *body = fields.text("body"),
            BodyInput::Fixed(_) => {}
        }
        form.query = form.query.as_ref().map(|_| pairs(fields, "query_name", "query_value"));
        form.headers = pairs(fields, "header_name", "header_value");
    }
    let page = inbox::show(state, who, card).await?;
    Ok((StatusCode::UNPROCESSABLE_ENTITY, page).into_response())
}

/// Changes that people made to a request. `None` if no one edited it.
pub(super) fn card(view: &ApprovalView, now: UnixMillis) -> Option<EditCard> {
    let record = view.edited()?;
    let digests = [
        ("Asked", Some(record.asked_digest)),
        ("Decided", record.decided_digest),
        ("Sent", record.sent_digest),
    ];
    let values = view.asked.as_ref().map(|asked| {
        let query = asked.difference.query().iter().map(|change| changed("Query", change));
        query.chain(asked.difference.headers().iter().map(|change| changed("Header", change))).collect()
    });
    let lines = view.asked.as_ref().zip(view.body.as_ref()).map(|(asked, body)| {
        diff_lines(view.row.content_type.as_deref(), &asked.body, body)
    });
    Some(EditCard {
        by: view.row.edited_by_email.clone().unwrap_or_else(|| "someone".to_owned()),
        at: Timestamp::new(view.row.edited_at.unwrap_or(view.row.created_at), now),
        records: digests.into_iter().filter_map(|(name, digest)| Some((name, digest?))).collect(),
        is_erased: view.asked.is_none(),
        lines: lines.unwrap_or_default(),
        values: values.unwrap_or_default(),
    })
}

fn changed(part: &'static str, change: &ValueChange) -> ChangedValue {
    let joined =
        |values: &[String]| if values.is_empty() { "none".to_owned() } else { values.join(", ") };
    ChangedValue {
        part,
        name: change.name.clone(),
        before: joined(&change.before),
        after: joined(&change.after),
    }
}
