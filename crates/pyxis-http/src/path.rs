//! Path parameters, with errors as [`Problem`](crate::problem::Problem) responses.

use axum::extract::FromRequestParts;
use http::request::Parts;
use serde::de::DeserializeOwned;

use crate::Problem;
use crate::problem::kinds;

/// Path parameters as `T`. A path that cannot be parsed is 404 `not_found`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Path<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let path = axum::extract::Path::<T>::from_request_parts(parts, state).await;
        path.map(|path| Self(path.0)).map_err(|_| Problem::from_kind(kinds::NOT_FOUND, "unknown path"))
    }
}
