//! Query strings, with errors as [`Problem`](crate::problem::Problem) responses.

use axum::extract::FromRequestParts;
use http::request::Parts;
use serde::de::DeserializeOwned;

use crate::Problem;
use crate::problem::kinds;

/// The query string as `T`. Invalid values are 422 `invalid_field`. Every interface ignores unknown parameters, so `T`
/// must not refuse them, unless a misspelled one would delete more than intended.
#[derive(Debug, Clone, Copy, Default)]
pub struct Query<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        let query = axum::extract::Query::<T>::try_from_uri(&parts.uri);
        query.map(|query| Self(query.0)).map_err(|error| {
            Problem::from_kind(kinds::INVALID_FIELD, error.body_text()).with_member("field", "query")
        })
    }
}
