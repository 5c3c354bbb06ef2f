//! Limits of a message before it is read. Once read, a value takes up to a hundred times its bytes.

use axum::body::{self, Body, HttpBody};
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http_body_util::LengthLimitError;
use pyxis_gateway as gateway;

use crate::MAX_MESSAGE;
use crate::message_form::MessageForm;

/// Largest number of JSON values in a message.
const MAX_VALUES: usize = 100_000;
/// Refusal of a message with more.
const TOO_MANY_VALUES: &str = "at most 100000 JSON values; send a large body as text, in one string";

/// A message within the limits and its form, or its refusal. A message that is too long goes on to the SDK, which
/// refuses it.
pub(crate) async fn checked(request: Request) -> Result<(Request, MessageForm), Response> {
    if request.body().size_hint().lower() > MAX_MESSAGE as u64 {
        return Ok((request, MessageForm::default()));
    }
    let (mut head, body) = request.into_parts();
    // One byte more than allowed, so that the SDK refuses that one, too.
    let bytes =
        body::to_bytes(body, MAX_MESSAGE + 1).await.map_err(|error| unreadable(error).into_response())?;
    if has_too_many_values(&bytes) {
        return Err(gateway::Error::field("message", TOO_MANY_VALUES).into_response().map(Body::new));
    }
    let form = if bytes.len() > MAX_MESSAGE {
        MessageForm::default()
    } else {
        MessageForm::read(&mut head, &bytes).map_err(IntoResponse::into_response)?
    };
    Ok((Request::from_parts(head, Body::from(bytes)), form))
}

/// Status of a message that cannot be read.
fn unreadable(error: axum::Error) -> StatusCode {
    let is_too_long = error.into_inner().is::<LengthLimitError>();
    if is_too_long { StatusCode::PAYLOAD_TOO_LARGE } else { StatusCode::BAD_REQUEST }
}

/// True if a message has more values than may be read. Outside of texts, each value but the first follows one of four
/// characters.
pub(crate) fn has_too_many_values(message: &[u8]) -> bool {
    let (mut is_text, mut is_escaped, mut count) = (false, false, 0);
    for byte in message {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            b'{' | b'[' | b',' | b':' if !is_text => count += 1,
            _ => {}
        }
    }
    count > MAX_VALUES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_count_and_what_texts_hold_does_not() {
        let list = |number: usize| format!("[{}0]", "0,".repeat(number));
        assert!(!has_too_many_values(list(MAX_VALUES - 1).as_bytes()));
        assert!(has_too_many_values(list(MAX_VALUES).as_bytes()));
        let objects = r#"{"":0},"#.repeat(MAX_VALUES / 3 + 1);
        assert!(has_too_many_values(objects.as_bytes()));
        let text = format!(r#"{{"body":"{}\"{}\\"}}"#, ",".repeat(MAX_VALUES), "[".repeat(MAX_VALUES));
        assert!(!has_too_many_values(text.as_bytes()));
        let after = format!(r#"{{"body":"\\",{}"#, "[".repeat(MAX_VALUES));
        assert!(has_too_many_values(after.as_bytes()));
    }
}
