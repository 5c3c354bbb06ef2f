//! Failures of a page, and the pages that report them.

use askama::Template;
use axum::response::{Html, IntoResponse, Response};
use http::header::RETRY_AFTER;
use http::{HeaderValue, StatusCode};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use pyxis_core::admin_error::AdminError;
use pyxis_core::approval_mode::ApprovalState;
use pyxis_core::id::RequestId;
use pyxis_gateway as gateway;

use crate::notice::see_other;
use crate::view::error::ErrorPage;

/// Failure of a page.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not signed in: the person is sent to sign in, and then on to `next`.
    #[error("not signed in")]
    SignedOut {
        /// Path of one of our pages.
        next: Option<String>,
    },
    /// The session ended before the form was sent.
    #[error("the session has ended")]
    Ended,
    /// The form does not come from our own page of this session.
    #[error("the form is stale or from another site")]
    StaleForm,
    /// The form cannot be read.
    #[error("the form cannot be read")]
    BadForm(StatusCode),
    /// The one-time link is unknown, used or expired.
    #[error("the link has been used or has expired")]
    LinkUsed,
    /// There is no such page or thing.
    #[error("not found")]
    NotFound,
    /// The path exists, but not for this method.
    #[error("method not allowed")]
    MethodNotAllowed,
    /// Too many event streams are open.
    #[error("too many open event streams")]
    TooManyStreams,
    /// A gateway service refused.
    #[error(transparent)]
    Service(#[from] gateway::Error),
    /// A scoring or verification service refused.
    #[error(transparent)]
    Operation(#[from] AdminError),
    /// A template failed.
    #[error("the page cannot be rendered")]
    Render(#[from] askama::Error),
}

/// A failure on its way to [`crate::headers::dress`], which knows the request id.
#[derive(Clone)]
pub(crate) struct FailurePage(ErrorPage);

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        match self {
            Self::SignedOut { next: Some(next) } => {
                let next = utf8_percent_encode(&next, NON_ALPHANUMERIC);
                see_other(&format!("/sign-in?next={next}"))
            }
            Self::SignedOut { next: None } => see_other("/sign-in"),
            Self::Ended | Self::Service(gateway::Error::Unauthenticated) => see_other("/sign-in?ended=1"),
            error => {
                let page = page_of(&error);
                if page.status >= 500 {
                    tracing::error!(error = &error as &dyn std::error::Error, "a page failed");
                }
                let mut response = StatusCode::INTERNAL_SERVER_ERROR.into_response();
                response.extensions_mut().insert(FailurePage(page));
                response
            }
        }
    }
}

/// The page of a failure.
pub(crate) fn render(FailurePage(mut page): FailurePage, id: Option<RequestId>) -> Response {
    page.request_id = id.map(|id| id.to_string());
    let status = StatusCode::from_u16(page.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = match page.render() {
        Ok(html) => (status, Html(html)).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    };
    if status == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("5"));
    }
    response
}

/// Renders a page.
pub(crate) fn html(page: &impl Template) -> Result<Response, Error> {
    Ok(Html(page.render()?).into_response())
}

fn page_of(error: &Error) -> ErrorPage {
    match error {
        Error::StaleForm => ErrorPage::stale_form(None),
        Error::BadForm(status) => ErrorPage::refused(
            status.as_u16(),
            "The form could not be read: it is too large or was damaged in transit. Nothing was changed.",
        ),
        Error::LinkUsed => ErrorPage::link_used(None),
        Error::NotFound => ErrorPage::not_found(None),
        Error::MethodNotAllowed => ErrorPage::refused(405, "This URL does not support that method."),
        Error::TooManyStreams => {
            ErrorPage::refused(503, "Too many inboxes are open. Close one and reload this page.")
        }
        Error::Service(error) => page_of_service(error),
        Error::Operation(error) => page_of_operation(error),
        Error::Render(_) | Error::SignedOut { .. } | Error::Ended => ErrorPage::internal(None),
    }
}

fn page_of_service(error: &gateway::Error) -> ErrorPage {
    use gateway::Error as E;
    match error {
        E::NotFound(_) => ErrorPage::not_found(None),
        E::Forbidden(_) => ErrorPage::forbidden(None),
        E::NotEligible(why) => ErrorPage::refused(403, &format!("You cannot decide this request: {why}.")),
        E::AlreadyDecided(state) => ErrorPage::conflict(decision_error(*state), None),
        E::NameTaken(name) => ErrorPage::refused(409, &format!("The name {name} is taken. Choose another.")),
        E::Conflict(why) => ErrorPage::refused(409, &format!("Not possible now: {why}.")),
        E::ReceiptNotReady(wait) => ErrorPage::refused(409, &format!("No receipt yet: {wait}.")),
        E::Unavailable(_) => ErrorPage { status: 503, ..ErrorPage::internal(None) },
        E::Internal(_) => ErrorPage::internal(None),
        other => ErrorPage::refused(422, &format!("Refused: {other}.")),
    }
}

fn page_of_operation(error: &AdminError) -> ErrorPage {
    use AdminError as E;
    match error {
        E::NotFound(_) => ErrorPage::not_found(None),
        E::Forbidden(_) => ErrorPage::forbidden(None),
        E::Conflict(why) => ErrorPage::refused(409, &format!("Not possible now: {why}.")),
        E::Changed { .. } => {
            ErrorPage::refused(409, "Not saved: someone else changed it in the meantime. Go back and reload.")
        }
        E::InvalidField { field, detail } => ErrorPage::refused(422, &format!("Refused: {field}: {detail}.")),
        E::Busy => {
            ErrorPage::refused(503, "Someone else is changing this now. Nothing was changed. Try again.")
        }
        E::Source(chain) => {
            ErrorPage::refused(502, &format!("The indexer of {chain} does not respond. Try again later."))
        }
        E::Unavailable { .. } => ErrorPage { status: 503, ..ErrorPage::internal(None) },
        E::Internal(_) => ErrorPage::internal(None),
    }
}

const fn decision_error(state: ApprovalState) -> &'static str {
    match state {
        ApprovalState::Pending => "You have already voted on this request.",
        ApprovalState::Approved => "This request is already approved.",
        ApprovalState::Denied => "This request is already denied. Nothing was sent.",
        ApprovalState::Expired => "This request has expired or was withdrawn. Nothing was sent.",
    }
}
