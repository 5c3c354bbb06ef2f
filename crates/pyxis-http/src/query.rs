//! Query strings, with errors as [`Problem`](crate::problem::Problem) responses.

use std::error::Error;

use axum::extract::FromRequestParts;
use axum::extract::rejection::QueryRejection;
use http::request::Parts;
use serde::de::{DeserializeOwned, value};

use crate::Problem;
use crate::json::{error_path, unknown_value};
use crate::problem::kinds;

/// The query string as `T`. Invalid values are 422 `invalid_field`, which names the parameter. Every interface ignores
/// unknown parameters, so `T` must not refuse them, unless a misspelled one would delete more than intended.
#[derive(Debug, Clone, Copy, Default)]
pub struct Query<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        let query = axum::extract::Query::<T>::try_from_uri(&parts.uri);
        query.map(|query| Self(query.0)).map_err(|error| wrong_parameter(&error))
    }
}

fn wrong_parameter(error: &QueryRejection) -> Problem {
    let problem =
        |detail, field| Problem::from_kind(kinds::INVALID_FIELD, detail).with_member("field", field);
    let found = parameter_and_message(error).filter(|(path, _)| !path.is_empty());
    let Some((path, said)) = found else { return problem(error.body_text(), "query".to_owned()) };
    let parameter = path.join(".");
    let said = unknown_value(&said).unwrap_or_else(|| in_words(said));
    problem(format!("{parameter}: {said}"), parameter)
}

/// The words for people in place of serde's.
fn in_words(said: String) -> String {
    if said.starts_with("missing field") {
        "required".to_owned()
    } else if said.starts_with("duplicate field") {
        "given more than once".to_owned()
    } else if said.contains("digit found in string") || said.contains("integer from empty string") {
        "must be a whole number".to_owned()
    } else if said.starts_with("number too ") {
        "is out of range".to_owned()
    } else {
        said
    }
}

/// Parameter and message of an error; `None` if it names no parameter.
fn parameter_and_message(error: &QueryRejection) -> Option<(Vec<String>, String)> {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(this) = cause {
        if let Some(found) = this.downcast_ref::<serde_path_to_error::Error<value::Error>>() {
            return Some((error_path(found), found.inner().to_string()));
        }
        cause = this.source();
    }
    None
}

#[cfg(test)]
mod tests {
    use http::Request;
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize, Debug)]
    #[serde(rename_all = "lowercase")]
    enum Color {
        Red,
        Green,
        Blue,
    }

    #[derive(Deserialize, Debug)]
    struct Sample {
        color: Option<Color>,
        #[expect(dead_code, reason = "only its type matters here")]
        count: u32,
    }

    async fn read(query: &str) -> Result<Sample, Problem> {
        let (mut parts, ()) = Request::get(format!("/list?{query}")).body(()).unwrap().into_parts();
        Query::from_request_parts(&mut parts, &()).await.map(|Query(sample)| sample)
    }

    #[tokio::test]
    async fn a_bad_value_is_422_that_names_the_parameter_and_the_known_values() {
        for (query, detail) in [
            (
                "count=1&color=gren",
                "color: unknown value (did you mean green?); known values: red, green, blue",
            ),
            ("count=x", "count: must be a whole number"),
            ("count=4294967296", "count: is out of range"),
            ("color=red", "count: required"),
            ("count=1&color=red&color=blue", "color: given more than once"),
        ] {
            let problem = read(query).await.unwrap_err();
            assert_eq!((problem.status().as_u16(), problem.detail()), (422, detail), "{query}");
            let field = problem.member("field").and_then(|field| field.as_str());
            assert_eq!(field, detail.split(':').next(), "{query}");
        }
        assert!(matches!(read("count=1&color=red&other=x").await.unwrap().color, Some(Color::Red)));
    }
}
