//! Signing in with a passkey: no address, no password.

use axum::response::Response;
use http::{HeaderMap, StatusCode};
use pyxis_gateway::Error as Service;
use pyxis_gateway::admin::passkeys;
use pyxis_gateway::admin::sessions::LinkHolder;

use super::ceremony::{answer, challenge};
use super::sign_in::{self, HOME};
use crate::Error;
use crate::error::html;
use crate::form::SubmittedForm;
use crate::notice::see_other;
use crate::session::{self, AnonymousVisit, local_path};
use crate::view::sign_in::SignInState;

pub(crate) async fn begin(
    SubmittedForm { state, .. }: SubmittedForm<AnonymousVisit>,
) -> Result<Response, Error> {
    challenge(passkeys::begin_sign_in(&state.gateway).await)
}

pub(crate) async fn sign_in(
    headers: HeaderMap,
    SubmittedForm { state, who: visit, fields }: SubmittedForm<AnonymousVisit>,
) -> Result<Response, Error> {
    let next = local_path(fields.get("next")).unwrap_or_default();
    let tried = match answer(&fields) {
        Some(given) => passkeys::sign_in(&state.gateway, &given, LinkHolder::Browser).await,
        None => Err(Service::PasskeyRefused("there was none")),
    };
    match tried {
        Ok(opened) => {
            sign_in::leave_old_session(&state, &headers).await?;
            Ok(session::begin(state.cookies, &opened, see_other(if next.is_empty() { HOME } else { next })))
        }
        // Does not reveal whose passkey it was or that the account is disabled.
        Err(Service::PasskeyRefused(_) | Service::Unauthenticated) => {
            let mut response = html(&sign_in::page(&visit, "", next, SignInState::PasskeyRefused))?;
            *response.status_mut() = StatusCode::UNAUTHORIZED;
            Ok(visit.set_cookie(state.cookies, response))
        }
        Err(error) => Err(error.into()),
    }
}
