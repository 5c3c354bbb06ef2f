//! Errors of the OAuth endpoints, in the words of their RFCs.

use std::borrow::Cow;

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use pyxis_http::problem::PX_ERROR;
use pyxis_store::StoreError;
use serde_json::json;

use crate::error::Error;

/// Code of an error (RFC 6749, RFC 7591, RFC 8707).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OauthErrorCode {
    InvalidRequest,
    InvalidClient,
    InvalidGrant,
    UnsupportedGrantType,
    UnsupportedResponseType,
    InvalidTarget,
    InvalidRedirectUri,
    InvalidClientMetadata,
    /// Too many requests from one address.
    TemporarilyUnavailable,
    ServerError,
}

impl OauthErrorCode {
    /// The code on the wire, also in `PX-Error`.
    pub(crate) const fn code(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid_request",
            Self::InvalidClient => "invalid_client",
            Self::InvalidGrant => "invalid_grant",
            Self::UnsupportedGrantType => "unsupported_grant_type",
            Self::UnsupportedResponseType => "unsupported_response_type",
            Self::InvalidTarget => "invalid_target",
            Self::InvalidRedirectUri => "invalid_redirect_uri",
            Self::InvalidClientMetadata => "invalid_client_metadata",
            Self::TemporarilyUnavailable => "temporarily_unavailable",
            Self::ServerError => "server_error",
        }
    }

    const fn status(self) -> StatusCode {
        match self {
            Self::InvalidClient => StatusCode::UNAUTHORIZED,
            Self::TemporarilyUnavailable => StatusCode::TOO_MANY_REQUESTS,
            Self::ServerError => StatusCode::INTERNAL_SERVER_ERROR,
            Self::InvalidRequest
            | Self::InvalidGrant
            | Self::UnsupportedGrantType
            | Self::UnsupportedResponseType
            | Self::InvalidTarget
            | Self::InvalidRedirectUri
            | Self::InvalidClientMetadata => StatusCode::BAD_REQUEST,
        }
    }
}

/// A refusal of an OAuth endpoint. Everything in it is safe to show to the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OauthError {
    pub(crate) code: OauthErrorCode,
    /// One sentence for the client's developer.
    pub(crate) description: Cow<'static, str>,
}

impl OauthError {
    pub(crate) fn new(code: OauthErrorCode, description: impl Into<Cow<'static, str>>) -> Self {
        Self { code, description: description.into() }
    }
}

impl From<Error> for OauthError {
    /// The cause is logged, not told.
    fn from(error: Error) -> Self {
        tracing::error!(error = &error as &dyn std::error::Error, "an OAuth endpoint failed");
        Self::new(OauthErrorCode::ServerError, "the server failed; try again")
    }
}

impl From<StoreError> for OauthError {
    fn from(error: StoreError) -> Self {
        Error::from(error).into()
    }
}

impl IntoResponse for OauthError {
    fn into_response(self) -> Response {
        let code = self.code.code();
        let body = Json(json!({ "error": code, "error_description": self.description }));
        let mut response = (self.code.status(), body).into_response();
        let headers = response.headers_mut();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(PX_ERROR, HeaderValue::from_static(code));
        if self.code == OauthErrorCode::TemporarilyUnavailable {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("60"));
        }
        if self.code == OauthErrorCode::InvalidClient {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"Pyxis\""));
        }
        response
    }
}
