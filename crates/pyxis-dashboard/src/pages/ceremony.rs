//! Parts shared by all passkey ceremonies: a challenge as JSON, and a response in a form.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use pyxis_core::id::CeremonyId;
use pyxis_gateway::Error as Service;
use pyxis_gateway::admin::passkeys::{CeremonyResponse, Challenge};
use serde::Serialize;

use crate::Error;
use crate::form::Fields;

#[derive(Serialize)]
struct Begun {
    ceremony: String,
    /// For `PublicKeyCredential.parseRequestOptionsFromJSON` and its counterpart.
    options: serde_json::Value,
}

#[derive(Serialize)]
struct ErrorBody {
    detail: String,
}

/// The challenge as the script expects it. An error that the person can fix is reported there, not as a page.
pub(super) fn challenge(begun: Result<Challenge, Service>) -> Result<Response, Error> {
    match begun {
        Ok(Challenge { ceremony, options }) => {
            Ok(Json(Begun { ceremony: ceremony.to_string(), options }).into_response())
        }
        Err(
            error @ (Service::NotEligible(_)
            | Service::AlreadyDecided(_)
            | Service::RequestChanged
            | Service::QuotaExceeded(_)
            | Service::NoLongerAllowed(_)
            | Service::Conflict(_)
            | Service::PasskeyRefused(_)
            | Service::InvalidField { .. }),
        ) => {
            let detail = super::sentence(&error.to_string());
            Ok((StatusCode::CONFLICT, Json(ErrorBody { detail })).into_response())
        }
        Err(error) => Err(error.into()),
    }
}

/// The authenticator's response; `None` if the form has none, for example without script.
pub(super) fn answer(fields: &Fields) -> Option<CeremonyResponse> {
    let ceremony: CeremonyId = fields.get("ceremony").parse().ok()?;
    let credential = fields.get("credential");
    (!credential.is_empty()).then(|| CeremonyResponse { ceremony, credential: credential.to_owned() })
}
