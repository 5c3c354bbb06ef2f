//! JSON bodies, with errors that name the field.

use std::fmt::Display;

use axum::extract::{FromRequest, Request};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use pyxis_core::nearest::suggestion;
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_path_to_error::Segment;

use crate::Problem;
use crate::body::{self, BodyError};
use crate::problem::kinds;

/// Maximum size of a JSON body, in bytes.
pub const MAX_JSON_BYTES: usize = 1024 * 1024;

/// Longest unknown field that is compared with the known ones, which takes time in proportion to its length.
const MAX_SUGGESTED_BYTES: usize = 64;

/// A JSON request or response body.
///
/// Unparsable JSON is refused with 400 `invalid_json`. Well-formed JSON with an unknown, missing or ill-typed field is
/// refused with 422 `invalid_field`, which names the field. A body over [`MAX_JSON_BYTES`] is refused with 413.
#[derive(Debug, Clone, Copy, Default)]
pub struct Json<T>(pub T);

/// An unparsed JSON body of at most [`MAX_JSON_BYTES`], for handlers with their own parsing rules.
#[derive(Debug, Clone, Default)]
pub struct Raw(pub Bytes);

impl<S: Send + Sync> FromRequest<S> for Raw {
    type Rejection = Problem;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Problem> {
        read(request).await.map(Self)
    }
}

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        axum::Json(self.0).into_response()
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Problem> {
        parse(&read(request).await?).map(Self)
    }
}

async fn read(request: Request) -> Result<Bytes, Problem> {
    body::read(request.into_body(), MAX_JSON_BYTES).await.map_err(|error| match error {
        BodyError::TooLarge => Problem::from_kind(
            kinds::BODY_TOO_LARGE,
            format!("the body is larger than {MAX_JSON_BYTES} bytes"),
        ),
        BodyError::Broken => Problem::from_kind(kinds::INVALID_BODY, "the body ended early"),
    })
}

/// Parses `T`, which must be a JSON object.
pub fn parse<T: DeserializeOwned>(text: &[u8]) -> Result<T, Problem> {
    let text = if text.is_empty() { b"{}" } else { text };
    // Without this check, a list of the field values in order would also be accepted.
    if text.trim_ascii_start().starts_with(b"[") {
        let detail = "the body must be a JSON object";
        return Err(Problem::from_kind(kinds::INVALID_FIELD, detail).with_member("field", "."));
    }
    let mut reader = serde_json::Deserializer::from_slice(text);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        // A syntax error later in the text takes precedence.
        match serde_json::from_slice::<IgnoredAny>(text) {
            Ok(_) => wrong_field(&error),
            Err(broken) => invalid(&broken),
        }
    })?;
    reader.end().map_err(|error| invalid(&error))?;
    Ok(value)
}

fn invalid(error: &serde_json::Error) -> Problem {
    Problem::from_kind(kinds::INVALID_JSON, format!("not valid JSON: {}", syntax(error)))
}

fn wrong_field(error: &serde_path_to_error::Error<serde_json::Error>) -> Problem {
    let place = error_path(error);
    let field = if place.is_empty() { ".".to_owned() } else { place.join(".").replace(".[", "[") };
    let said = explanation(error.inner());
    let detail = if place.is_empty() { said } else { format!("{field}: {said}") };
    Problem::from_kind(kinds::INVALID_FIELD, detail).with_member("field", field)
}

/// Place of a syntax error, without words of the parser.
pub fn syntax(error: &serde_json::Error) -> String {
    if error.is_eof() {
        return format!("it ends early, at line {} column {}", error.line(), error.column());
    }
    format!("look at line {} column {}", error.line(), error.column())
}

/// Names the expected and the given type in plain words; `None` if the error is about something else.
fn wrong_type(said: &str) -> Option<String> {
    let rest = said.strip_prefix("invalid type: ").or_else(|| said.strip_prefix("invalid value: "))?;
    let (found, expected) = rest.rsplit_once(", expected ")?;
    let expected = match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" | "i8" | "i16" | "i32" | "i64" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a string" | "str" | "a borrowed string" => "text",
        "a sequence" => "a list",
        "a map" => "an object",
        other if other.starts_with("struct ") => "an object",
        other => other,
    };
    let found = match found {
        "map" => "an object".to_owned(),
        "sequence" => "a list".to_owned(),
        other => match other.split_once(' ') {
            Some(("string", text)) => format!("the text {text}"),
            _ => other.split('`').nth(1).unwrap_or(other).to_owned(),
        },
    };
    Some(format!("must be {expected}, not {found}"))
}

/// The error of serde without its position, which says nothing about a program's body, and without names of its types.
/// For an unknown field it names the known ones.
pub fn explanation(error: &serde_json::Error) -> String {
    let said = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    let said = said.strip_suffix(position.as_str()).unwrap_or(&said);
    if let Some(plain) = unknown_value(said).or_else(|| wrong_type(said)) {
        return plain;
    }
    let Some((name, expected)) = said.strip_prefix("unknown field `").and_then(|rest| rest.split_once("`, "))
    else {
        return said.to_owned();
    };
    let known = known_names(expected);
    if known.is_empty() {
        return "unknown field; there are no known fields".to_owned();
    }
    format!("unknown field{}; known fields: {}", nearest(name, &known), known.join(", "))
}

/// The error of serde about a word that is none of the known ones, with these; `None` if it is about something else.
pub(crate) fn unknown_value(said: &str) -> Option<String> {
    let (name, expected) = said.strip_prefix("unknown variant `")?.split_once("`, ")?;
    let known = known_names(expected);
    Some(format!("unknown value{}; known values: {}", nearest(name, &known), known.join(", ")))
}

/// Names between backticks, as in "expected one of `one`, `two`, `three`".
fn known_names(expected: &str) -> Vec<&str> {
    expected.split('`').skip(1).step_by(2).collect()
}

fn nearest(name: &str, known: &[&str]) -> String {
    if name.len() > MAX_SUGGESTED_BYTES { String::new() } else { suggestion(name, known.iter().copied()) }
}

/// Path of the error, outermost field first. For missing, unknown and duplicate fields, serde gives the name only
/// within its message.
pub fn error_path<E: Display>(error: &serde_path_to_error::Error<E>) -> Vec<String> {
    let mut place: Vec<String> = error
        .path()
        .iter()
        .filter(|segment| !matches!(segment, Segment::Unknown))
        .map(ToString::to_string)
        .collect();
    let said = error.inner().to_string();
    let named = ["missing field `", "unknown field `", "duplicate field `"]
        .iter()
        .find_map(|start| said.strip_prefix(start)?.split_once('`'));
    if let Some((name, _)) = named
        && place.last().is_none_or(|last| last != name)
    {
        place.push(name.to_owned());
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize, Debug)]
    #[serde(deny_unknown_fields)]
    struct Sample {
        #[expect(dead_code, reason = "only its type matters here")]
        count: u32,
    }

    #[test]
    fn unparsable_text_is_400_and_a_bad_field_is_422_that_names_it() {
        let status = |text: &str| parse::<Sample>(text.as_bytes()).unwrap_err();
        assert_eq!(status("{").status(), 400);
        assert_eq!(status("{\"count\":1} x").status(), 400);
        let wrong = status("{\"count\":\"x\"}");
        assert_eq!(wrong.status(), 422);
        assert!(wrong.detail().contains("count"), "{}", wrong.detail());
        assert_eq!(status(" [1]").status(), 422);
        let unknown = status("{\"count\":1,\"color\":2}");
        assert_eq!(unknown.status(), 422);
        assert_eq!(unknown.detail(), "color: unknown field; known fields: count");
        let near = status("{\"cuont\":1}");
        assert_eq!(near.detail(), "cuont: unknown field (did you mean count?); known fields: count");
        for value in ["true", "null", "-1", "1.5"] {
            let wrong = status(&format!("{{\"count\":{value}}}"));
            assert_eq!(wrong.detail(), format!("count: must be a whole number, not {value}"));
        }
        for text in ["{}", "", "{\"count\":1,\"count\":2}"] {
            let wrong = status(text);
            assert_eq!(
                (wrong.status().as_u16(), wrong.detail().starts_with("count: ")),
                (422, true),
                "{text}"
            );
        }
        assert_eq!(status("{\"count\":\"x\",").status(), 400);
    }
}
