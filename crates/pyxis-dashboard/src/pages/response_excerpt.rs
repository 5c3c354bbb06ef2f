//! The beginning of the response to an approved request.

use pyxis_core::approval_mode::ApprovalState;
use pyxis_gateway::approvals::stored_response::{self, OutcomeView};
use pyxis_gateway::approvals::view::ApprovalView;
use pyxis_store::Store;
use pyxis_store::cipher::Keyring;

use super::cards::surface;
use super::secret_fields::mask_json;
use crate::Error;
use crate::session::SignedIn;
use crate::text::{grouped, size};
use crate::view::approvals::{ResponseExcerpt, ReturnTo};
use crate::view::body::{BodyContent, BodyView};

/// Maximum number of bytes shown.
const SHOWN: usize = 4096;
/// Note about masked values.
const MASKED: &str = "Values that look like secrets are masked.";

/// The beginning of the response, if there is one and the person may read it.
pub(super) async fn load(
    store: &Store,
    keyring: &Keyring,
    who: &SignedIn,
    place: ReturnTo,
    view: &ApprovalView,
) -> Result<Option<ResponseExcerpt>, Error> {
    if view.row.state != ApprovalState::Approved {
        return Ok(None);
    }
    let approver = who.person.approver(surface(place));
    let assigned = who.rights.may_approve(view.row.credential_id);
    let outcome = stored_response::load(store, keyring, &approver, assigned, view).await?;
    Ok(outcome.map(excerpt))
}

fn excerpt(outcome: OutcomeView) -> ResponseExcerpt {
    match outcome {
        OutcomeView::Response { status, content_type, body, truncated } => {
            let masked = masked(content_type.as_deref(), &body);
            let shown = masked.as_ref().map_or(&body[..], |masked| masked.as_bytes());
            let (text, rest) = beginning(content_type.as_deref(), shown);
            let notes =
                [explanation(&body, text.is_some(), truncated), masked.is_some().then(|| MASKED.to_owned())];
            ResponseExcerpt {
                status: status.map(|status| status.to_string()),
                is_error: status.is_some_and(|status| status >= 400),
                content_type,
                size: Some(size(body.len() as u64)),
                note: joined(&notes.into_iter().flatten().collect::<Vec<_>>()),
                text,
                more: (rest > 0).then(|| format!("… {} bytes more", grouped(rest as u64))),
            }
        }
        OutcomeView::Failure(detail) => ResponseExcerpt {
            is_error: true,
            note: Some(super::sentence(&detail)),
            ..ResponseExcerpt::default()
        },
        OutcomeView::Erased => {
            let note = "The response was erased after the retention period.".to_owned();
            ResponseExcerpt { note: Some(note), ..ResponseExcerpt::default() }
        }
    }
}

fn joined(notes: &[String]) -> Option<String> {
    (!notes.is_empty()).then(|| notes.join(" "))
}

/// The body with masked values, if it is JSON that has any.
fn masked(content_type: Option<&str>, body: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(body).ok()?;
    let is_named = content_type.is_some_and(|name| name.to_ascii_lowercase().contains("json"));
    if is_named || text.trim_start().starts_with(['{', '[']) { mask_json(text) } else { None }
}

fn explanation(body: &[u8], is_text: bool, truncated: bool) -> Option<String> {
    if truncated {
        return Some("Pyxis stored only the beginning of the response.".to_owned());
    }
    match (body.is_empty(), is_text) {
        (true, _) => Some("The response has no body.".to_owned()),
        (false, true) => None,
        (false, false) => Some("The response is binary and is not shown.".to_owned()),
    }
}

/// The beginning as text, and the number of bytes after it. `None` for a binary body.
fn beginning(content_type: Option<&str>, body: &[u8]) -> (Option<String>, usize) {
    let text = match std::str::from_utf8(body) {
        Ok(text) if !text.is_empty() && !text.contains('\0') => text,
        _ => return (None, 0),
    };
    if text.len() > SHOWN {
        let head = &text[..text.floor_char_boundary(SHOWN)];
        return (Some(head.to_owned()), text.len() - head.len());
    }
    let shown = match BodyView::new(content_type, body, SHOWN).shown {
        BodyContent::Json { pretty, .. } => pretty,
        _ => text.to_owned(),
    };
    (Some(shown), 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_characters_and_what_is_left_out_is_counted() {
        let body = "ä".repeat(3000);
        let (text, rest) = beginning(None, body.as_bytes());
        assert_eq!((text.map(|text| text.len()), rest), (Some(4096), 1904));
        let body = format!("a{body}");
        let (text, rest) = beginning(None, body.as_bytes());
        assert_eq!((text.map(|text| text.len()), rest), (Some(4095), 1906));
    }

    #[test]
    fn secrets_in_json_are_masked_before_it_is_cut() {
        let long = format!("{{\"access_token\":\"{}\",\"a\":\"{}\"}}", "t".repeat(5000), "x".repeat(5000));
        for content_type in [Some("application/vnd.api+json"), Some("text/plain"), None] {
            let masked = masked(content_type, long.as_bytes()).unwrap();
            let (text, rest) = beginning(content_type, masked.as_bytes());
            assert!(text.unwrap().starts_with("{\"access_token\":\"•••\",\"a\":\"xxx") && rest > 0);
        }
        assert_eq!(masked(Some("text/plain"), b"\"token\": \"x\""), None);
    }

    #[test]
    fn json_is_indented_and_bytes_are_not_shown() {
        assert_eq!(beginning(Some("application/json"), b"{\"a\":1}").0.as_deref(), Some("{\n  \"a\": 1\n}"));
        for binary in [&b"\xff\xfe"[..], b"a\0b", b""] {
            assert_eq!(beginning(Some("text/plain"), binary), (None, 0));
        }
    }
}
