//! The form that edits a request, and the edit that it asks for.

use pyxis_gateway::approvals::edit::RequestEdit;
use pyxis_gateway::approvals::view::ApprovalView;

use super::edit_body;
use crate::form::Fields;
use crate::text;
use crate::view::edit::{BodyInput, EditForm};

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

/// The edit that the form asks for.
pub(super) fn read(fields: &Fields, seen: &ApprovalView) -> Result<RequestEdit, String> {
    let Some(form) = form(seen) else { return Err("this request cannot be edited".to_owned()) };
    let content_type = seen.row.content_type.as_deref();
    let body = match (&form.body, seen.editable_body()) {
        (BodyInput::Values(_), Ok(body)) => Some(edit_body::with_values(content_type, body, |index| {
            let name = format!("body:{index}");
            fields.all(&name).next().map(|value| value.replace("\r\n", "\n"))
        })?),
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
pub(super) fn pairs(fields: &Fields, name: &str, value: &str) -> Vec<(String, String)> {
    let named = fields.all(name).zip(fields.all(value)).filter(|(name, _)| !name.trim().is_empty());
    named.map(|(name, value)| (name.trim().to_owned(), value.to_owned())).collect()
}

/// Headers to set or to remove; `None` if there are none.
fn header_changes(
    shown: &[(String, String)],
    wanted: &[(String, String)],
) -> Option<Vec<(String, Option<String>)>> {
    let of = |list: &[(String, String)], name: &str| -> Vec<String> {
        list.iter()
            .filter(|(own, _)| own.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.clone())
            .collect()
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
