//! `POST /session`, `DELETE /session`.

use axum::extract::State as Extract;
use http::StatusCode;
use pyxis_core::secret::SecretString;
use pyxis_http::Json;
use serde::{Deserialize, Serialize};

use super::SignedIn;
use crate::admin::sessions::{self, LinkHolder};
use crate::error::Result;
use crate::runtime::state::State;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SignIn {
    email: String,
    password: SecretString,
}

#[derive(Serialize)]
pub(super) struct SessionResponse {
    token: String,
    expires_at: String,
}

pub(super) async fn sign_in(
    Extract(state): Extract<State>,
    Json(input): Json<SignIn>,
) -> Result<Json<SessionResponse>> {
    let opened = sessions::sign_in(&state, &input.email, &input.password, LinkHolder::Bearer).await?;
    Ok(Json(SessionResponse {
        token: opened.token.expose().clone(),
        expires_at: opened.session.expires_at.to_rfc3339(),
    }))
}

pub(super) async fn sign_out(
    Extract(state): Extract<State>,
    SignedIn(person): SignedIn,
) -> Result<StatusCode> {
    sessions::sign_out(&state, &person).await?;
    Ok(StatusCode::NO_CONTENT)
}
