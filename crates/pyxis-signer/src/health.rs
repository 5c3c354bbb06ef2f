//! `GET /health`: lists the loaded credentials. Needs no token and reveals no secret.

use axum::response::{IntoResponse, Response};
use http::Method;
use serde_json::json;

use crate::{Error, State};

pub(crate) fn health(state: &State, method: &Method) -> Result<Response, Error> {
    if !matches!(*method, Method::GET | Method::HEAD) {
        return Err(Error::MethodNotAllowed);
    }
    let body = json!({ "status": "ok", "credentials": state.credentials.names() });
    Ok(axum::Json(body).into_response())
}
