//! Approving a request with an edit, and the page after an edit that was refused.

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use pyxis_gateway::Error as Service;
use pyxis_gateway::approvals::edit::Reviewed;
use pyxis_gateway::approvals::view;

use super::edit_form::{pairs, read};
use super::inbox;
use crate::form::Fields;
use crate::session::SignedIn;
use crate::view::approvals::ReturnTo;
use crate::view::edit::BodyInput;
use crate::{Error, State};

/// True if the form asks for an edit.
pub(super) fn is_edit(fields: &Fields) -> bool {
    fields.is_checked("edited")
}

/// The request as it was read, with the edit that the form asks for.
///
/// # Errors
/// `RequestChanged`, and `InvalidField` for an input that does not fit.
pub(super) async fn reviewed(
    gateway: &pyxis_gateway::State,
    who: &SignedIn,
    id: &str,
    fields: &Fields,
) -> Result<Reviewed, Error> {
    let digest = Some(fields.get("digest").to_owned()).filter(|digest| !digest.is_empty());
    if !is_edit(fields) {
        return Ok(Reviewed { digest, edit: None });
    }
    let row = view::row(gateway, who.person.workspace(), inbox::txn(id)?).await?;
    who.require_approve(row.credential_id)?;
    let seen = view::load_view(gateway, who.person.workspace(), row.txn_id).await?;
    // The inputs stand for places in the request that was read.
    if digest.as_ref() != Some(&seen.row.digest) {
        return Err(Service::RequestChanged.into());
    }
    let edit = read(fields, &seen).map_err(|problem| Service::field("edit", problem))?;
    Ok(Reviewed { digest, edit: Some(edit) })
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
