//! `POST /session`, `DELETE /session`.

use axum::extract::State as Extract;
use http::StatusCode;
use pyxis_core::secret::SecretString;
use pyxis_http::Json;
use pyxis_http::openapi::Time;
use pyxis_http::openapi::responses::{Internal, Unavailable};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::SignedIn;
use crate::admin::sessions::{self, LinkHolder};
use crate::error::Result;
use crate::problems::{Locked, SeveralWorkspaces, WrongPassword};
use crate::runtime::state::State;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = SignInInput)]
pub(super) struct SignIn {
    #[schema(example = "ada@example.org")]
    email: String,
    #[schema(value_type = String, write_only, format = "password", example = "<SECRET>")]
    password: SecretString,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Session)]
pub(super) struct SessionResponse {
    /// For `Authorization: Bearer`.
    #[schema(example = "px_session_<SECRET>")]
    token: String,
    #[schema(value_type = Time)]
    expires_at: String,
}

/// Sign in and get a session token.
#[utoipa::path(
    post,
    path = "/session",
    tag = "Session",
    operation_id = "signIn",
    request_body = SignIn,
    responses(
        (status = 200, description = "The token, shown once. Valid for 24 hours.", body = SessionResponse),
        (status = 401, response = WrongPassword),
        (status = 409, response = SeveralWorkspaces),
        (status = 429, response = Locked),
        (status = 500, response = Internal),
        (status = 503, response = Unavailable),
    ),
)]
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

/// End this session.
#[utoipa::path(
    delete,
    path = "/session",
    tag = "Session",
    operation_id = "signOut",
    security(("session" = [])),
    responses((status = 204, description = "The token is no longer valid.")),
)]
pub(super) async fn sign_out(
    Extract(state): Extract<State>,
    SignedIn(person): SignedIn,
) -> Result<StatusCode> {
    sessions::sign_out(&state, &person).await?;
    Ok(StatusCode::NO_CONTENT)
}
