//! What can go wrong, and how each of it is told.

pub(crate) mod lost_answer;

use std::borrow::Cow;
use std::time::Duration;

use axum::response::{IntoResponse, Response};
use http::header::{ALLOW, HeaderName, LOCATION, RETRY_AFTER};
use http::{HeaderValue, StatusCode};
use pyxis_core::approval_mode::ApprovalState;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::TxnId;
use pyxis_core::policy::Method;
use pyxis_http::Problem;
use pyxis_store::StoreError;

use crate::error::lost_answer::LostAnswer;
pub use pyxis_core::BoxError;

/// Every failure of the proxy and its admin interface. Variants are what the caller can act on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No `X-PX-Key`.
    #[error("no agent key")]
    MissingKey,
    /// The key is unknown, or its agent is disabled.
    #[error("unknown or disabled agent key")]
    InvalidKey,
    /// A required control header is absent.
    #[error("missing header: {0}")]
    MissingHeader(&'static str),
    /// An `X-PX-*` header that does not exist.
    #[error("unknown header: {0}")]
    UnknownHeader(String),
    /// A control header that stands twice.
    #[error("header sent twice: {0}")]
    DuplicateHeader(&'static str),
    /// A control header with a value that cannot be used.
    #[error("bad value in header {name}: {detail}")]
    InvalidHeader {
        /// The header.
        name: &'static str,
        /// What is wrong and what to do.
        detail: &'static str,
    },
    /// `X-PX-Method` is not a method that can be forwarded.
    #[error("invalid method")]
    InvalidMethod,
    /// `X-PX-Target` is not a URL that can be forwarded to.
    #[error("invalid target: {0}")]
    InvalidTarget(String),
    /// The request brings a parameter that only its signature may have.
    #[error("{0}")]
    OauthParameter(String),
    /// A form whose parameters cannot be read to sign them.
    #[error("a form body with a Content-Encoding cannot be signed: its parameters are part of the signature")]
    EncodedForm,
    /// Decided against while `Prefer: wait` held the connection.
    #[error("a person denied the request")]
    ApprovalDenied {
        /// The transaction.
        txn: TxnId,
        /// The decider's words.
        reason: Option<String>,
    },
    /// Nobody decided in time while `Prefer: wait` held the connection.
    #[error("nobody decided in time")]
    ApprovalExpired {
        /// The transaction.
        txn: TxnId,
    },
    /// The first request with this `Idempotency-Key` is still under way.
    #[error("the first request with this idempotency key is still under way")]
    IdempotencyInProgress,
    /// The `Idempotency-Key` was used for another request.
    #[error("the idempotency key was used for another request")]
    IdempotencyKeyReused,
    /// The upstream answered in a content coding that cannot be scrubbed.
    #[error("content coding that cannot be scrubbed")]
    UnknownContentCoding {
        /// Status of the answer.
        status: StatusCode,
    },
    /// No such credential for this agent.
    #[error("no such credential")]
    CredentialNotFound,
    /// The target's host is not among the credential's allowed hosts.
    #[error("host is not allowed: {0}")]
    HostNotAllowed(String),
    /// The egress guard refuses the target.
    #[error("target is not allowed: {0}")]
    TargetNotAllowed(String),
    /// A deny rule matched.
    #[error("denied by policy")]
    DeniedByPolicy {
        /// The pattern or method that matched.
        pattern: Option<String>,
    },
    /// The agent's hourly budget is used up.
    #[error("rate limited")]
    RateLimited {
        /// Requests an hour.
        limit: u32,
        /// Until the next window.
        reset: Duration,
    },
    /// As many requests of the agent wait as may wait.
    #[error("too many pending requests: {limit} of this agent already wait for a person")]
    TooManyPending {
        /// Requests that may wait at once.
        limit: i64,
    },
    /// The body is larger than what can be kept for an approval.
    #[error("body too large")]
    BodyTooLarge {
        /// The most that is kept, in bytes.
        max: usize,
    },
    /// The body ended early.
    #[error("the body ended early")]
    IncompleteBody,
    /// The upstream could not be reached: nothing was sent.
    #[error("{0}; nothing was sent")]
    Unreachable(&'static str),
    /// No connection to the upstream in time: nothing was sent.
    #[error("no connection to the host in time; nothing was sent")]
    ConnectTimeout,
    /// The upstream or the sidecar before it failed.
    #[error("upstream error: {0}")]
    Upstream(Cow<'static, str>),
    /// The upstream did not answer in time.
    #[error("upstream timeout")]
    UpstreamTimeout,
    /// The upstream answered, and its answer cannot be given.
    #[error("the host answered {}, but {why}", status.as_u16())]
    BrokenAnswer {
        /// Status of the answer.
        status: StatusCode,
        /// What is wrong with the rest.
        why: Cow<'static, str>,
    },
    /// The account behind a credential must be connected (again) by a person.
    #[error("{detail}")]
    ReauthorizationRequired {
        /// Where a manager does that.
        url: String,
        /// Why, in safe words.
        detail: String,
    },
    /// No access token could be fetched; says why in safe words.
    #[error("no access token: {0}")]
    TokenEndpoint(String),
    /// A request without an answer that may have been carried out.
    #[error("the outcome of the request is unknown")]
    OutcomeUnknown(LostAnswer),
    /// An approved call that may no longer be made.
    #[error("no longer allowed: {0}")]
    NoLongerAllowed(&'static str),
    /// The store or the audit trail cannot be written.
    #[error("unavailable")]
    Unavailable(#[source] StoreError),

    /// No session, or an expired one.
    #[error("not signed in")]
    Unauthenticated,
    /// E-mail and password do not fit.
    #[error("wrong e-mail or password")]
    WrongPassword,
    /// Too many failures.
    #[error("locked after too many failures")]
    Locked {
        /// Until when.
        until: UnixMillis,
        /// From now.
        wait: std::time::Duration,
    },
    /// The person may not do this.
    #[error("forbidden: {0}")]
    Forbidden(&'static str),
    /// The token is not for this.
    #[error("the token does not have the scope {0}")]
    InsufficientScope(&'static str),
    /// There is no such thing in this workspace.
    #[error("not found: {0}")]
    NotFound(&'static str),
    /// The method is not served here.
    #[error("method not allowed")]
    MethodNotAllowed(&'static str),
    /// A name that is taken.
    #[error("name is taken: {0}")]
    NameTaken(String),
    /// The thing is in a state that does not allow this.
    #[error("conflict: {0}")]
    Conflict(&'static str),
    /// A body that is not JSON.
    #[error("not valid JSON: {0}")]
    InvalidJson(String),
    /// A well-formed body with a bad value.
    #[error("invalid field {field}: {detail}")]
    InvalidField {
        /// The field.
        field: String,
        /// What is wrong and what to do.
        detail: String,
    },
    /// The transaction is decided, or this person has voted.
    #[error("already decided")]
    AlreadyDecided(ApprovalState),
    /// The person may not decide this transaction.
    #[error("not eligible: {0}")]
    NotEligible(&'static str),
    /// Only a passkey ceremony can decide this.
    #[error("passkey required")]
    PasskeyRequired {
        /// Where the ceremony takes place.
        url: String,
    },
    /// A passkey ceremony failed a check.
    #[error("the passkey was refused: {0}")]
    PasskeyRefused(&'static str),
    /// Anything that is a fault of this program.
    #[error("internal error")]
    Internal(#[source] BoxError),
}

/// What a text field that cannot be stored is told.
pub(crate) const NO_NUL: &str = "must not hold the NUL character";

/// The result of most functions here.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// A 422 that names a field.
    pub fn field(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::InvalidField { field: field.into(), detail: detail.into() }
    }

    /// The failure of a request with `method` that was given to a connection.
    pub(crate) fn unanswered(error: pyxis_net::Error, method: Method) -> Self {
        LostAnswer::of(&error, method).map_or_else(|| error.into(), Self::OutcomeUnknown)
    }

    /// Status of the upstream's answer, where there was one that cannot be given.
    pub(crate) const fn answered(&self) -> Option<StatusCode> {
        match self {
            Self::BrokenAnswer { status, .. } | Self::UnknownContentCoding { status } => Some(*status),
            _ => None,
        }
    }

    /// The stable code, as in `PX-Error`.
    pub fn code(&self) -> &'static str {
        Problem::from(self).code()
    }
}

impl From<StoreError> for Error {
    /// Whatever the store's trouble is, nothing can be sent. What callers can act on (a conflict) they
    /// look at before.
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Text => Self::field("text", NO_NUL),
            error => Self::Unavailable(error),
        }
    }
}

impl From<pyxis_net::Error> for Error {
    fn from(error: pyxis_net::Error) -> Self {
        use pyxis_net::{Error as E, Wait};
        match error {
            E::Blocked(blocked) => Self::TargetNotAllowed(blocked.to_string()),
            E::Timeout(Wait::Connect) => Self::ConnectTimeout,
            E::Timeout(_) => Self::UpstreamTimeout,
            E::RequestBody(_) => Self::IncompleteBody,
            E::Invalid(invalid) => Self::InvalidTarget(invalid.to_string()),
            // These refusals may come after the request, which such a host does not look at.
            error if error.was_sent() || matches!(error, E::Refused(_) | E::Unprocessed(_)) => {
                Self::Upstream(error.public_message().into())
            }
            error => Self::Unreachable(error.public_message()),
        }
    }
}

const SUPPORTED: &str = "supported: X-PX-Key, X-PX-Credential, X-PX-Target, X-PX-Method, X-PX-Reason, \
                         Idempotency-Key, Prefer: wait=N; the body goes in the body";

impl From<&Error> for Problem {
    #[expect(clippy::too_many_lines, reason = "one table, one row an error, no wildcard")]
    fn from(error: &Error) -> Self {
        use StatusCode as S;
        let said = || error.to_string();
        match error {
            Error::MissingKey => Self::new(S::UNAUTHORIZED, "missing_key", "send the agent key in X-PX-Key")
                .with("agent_action", "ask the person who runs this proxy for an agent key"),
            Error::InvalidKey => Self::new(S::UNAUTHORIZED, "invalid_key", said())
                .with("agent_action", "ask the person who runs this proxy for a new agent key"),
            Error::MissingHeader(_) => {
                Self::new(S::BAD_REQUEST, "missing_header", said()).with("supported", SUPPORTED)
            }
            Error::UnknownHeader(_) => {
                Self::new(S::BAD_REQUEST, "unknown_header", said()).with("supported", SUPPORTED)
            }
            Error::DuplicateHeader(_) => {
                Self::new(S::BAD_REQUEST, "duplicate_header", said()).with("supported", SUPPORTED)
            }
            Error::InvalidHeader { .. } => Self::new(S::BAD_REQUEST, "invalid_header", said()),
            Error::InvalidMethod => Self::new(
                S::BAD_REQUEST,
                "invalid_method",
                "X-PX-Method must be GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS",
            ),
            Error::InvalidTarget(_) => Self::new(S::BAD_REQUEST, "invalid_target", said()),
            Error::OauthParameter(_) => Self::new(S::BAD_REQUEST, "oauth_parameter", said()),
            Error::EncodedForm => Self::new(S::BAD_REQUEST, "encoded_form", said()),
            Error::ApprovalDenied { txn, reason } => {
                Self::new(S::FORBIDDEN, "approval_denied", "a person denied this request")
                    .with("txn_id", txn.to_string())
                    .with("reason", reason.clone())
                    .with("agent_action", "do not send the same request again; tell the person")
            }
            Error::ApprovalExpired { txn } => {
                Self::new(S::FORBIDDEN, "approval_expired", "nobody decided in time")
                    .with("txn_id", txn.to_string())
                    .with("agent_action", "ask the person whether to send the request again")
            }
            Error::IdempotencyInProgress => Self::new(S::CONFLICT, "idempotency_in_progress", said())
                .with_header(RETRY_AFTER, HeaderValue::from_static("2"))
                .with("agent_action", "wait, then send the same request again"),
            Error::IdempotencyKeyReused => {
                Self::new(S::UNPROCESSABLE_ENTITY, "idempotency_key_reused", said())
                    .with("agent_action", "use a new Idempotency-Key for a new request")
            }
            Error::UnknownContentCoding { status } => Self::new(
                S::BAD_GATEWAY,
                "unknown_content_coding",
                format!(
                    "the host answered {}, but the answer's Content-Encoding cannot be checked for secrets, so it is withheld",
                    status.as_u16()
                ),
            )
            .with("upstream_status", status.as_u16()),
            Error::CredentialNotFound => Self::new(
                S::NOT_FOUND,
                "credential_not_found",
                "there is no such credential, or this agent may not use it",
            )
            .with("agent_action", "GET /agent/services lists the credentials of this key"),
            Error::HostNotAllowed(_) => Self::new(S::FORBIDDEN, "host_not_allowed", said())
                .with("agent_action", "ask a manager to add the host to the credential's allowed_hosts"),
            Error::TargetNotAllowed(_) => Self::new(S::FORBIDDEN, "target_not_allowed", said()),
            Error::DeniedByPolicy { pattern } => {
                Self::new(S::FORBIDDEN, "denied_by_policy", "the credential's policy denies this request")
                    .with("pattern", pattern.clone())
            }
            Error::RateLimited { limit, reset } => rate_limited(*limit, *reset),
            Error::TooManyPending { limit } => {
                Self::new(S::TOO_MANY_REQUESTS, "too_many_pending", said())
                    .with("max_pending", *limit)
                    .with_header(RETRY_AFTER, HeaderValue::from_static("30"))
                    .with(
                        "agent_action",
                        "ask your person to decide the requests that wait, or withdraw some: DELETE their poll_url",
                    )
            }
            Error::BodyTooLarge { max } => Self::new(
                S::PAYLOAD_TOO_LARGE,
                "body_too_large",
                format!(
                    "a request that waits for approval or has an Idempotency-Key may carry at most {max} bytes"
                ),
            ),
            Error::IncompleteBody => Self::new(S::BAD_REQUEST, "incomplete_body", said()),
            Error::Unreachable(_) => Self::new(S::BAD_GATEWAY, "upstream_error", said()),
            Error::ConnectTimeout => Self::new(S::GATEWAY_TIMEOUT, "upstream_timeout", said()),
            Error::Upstream(why) => Self::new(S::BAD_GATEWAY, "upstream_error", why.to_string()),
            Error::UpstreamTimeout => {
                Self::new(S::GATEWAY_TIMEOUT, "upstream_timeout", "the target did not answer in time")
            }
            Error::BrokenAnswer { status, .. } => Self::new(S::BAD_GATEWAY, "upstream_error", said())
                .with("upstream_status", status.as_u16()),
            Error::ReauthorizationRequired { url, .. } => {
                Self::new(S::BAD_GATEWAY, "reauthorization_required", said())
                    .with("url", url.as_str())
                    .with("agent_action", "ask a manager to open the url and connect the account again")
            }
            Error::TokenEndpoint(_) => Self::new(S::BAD_GATEWAY, "token_error", said()),
            Error::OutcomeUnknown(lost) => outcome_unknown(*lost),
            Error::NoLongerAllowed(_) => Self::new(S::FORBIDDEN, "no_longer_allowed", said()),
            Error::Unavailable(_) => Self::new(
                S::SERVICE_UNAVAILABLE,
                "unavailable",
                "the store cannot be reached, so nothing was sent",
            )
            .with_header(RETRY_AFTER, HeaderValue::from_static("5")),
            Error::Unauthenticated => Self::new(
                S::UNAUTHORIZED,
                "unauthenticated",
                "send a live session token: Authorization: Bearer <token>",
            ),
            Error::WrongPassword => Self::new(S::UNAUTHORIZED, "wrong_password", said()),
            Error::Locked { until, wait } => Self::new(S::TOO_MANY_REQUESTS, "locked", said())
                .with("locked_until", until.to_rfc3339())
                .with_header(RETRY_AFTER, HeaderValue::from(wait.as_secs() + 1)),
            Error::Forbidden(_) => Self::new(S::FORBIDDEN, "forbidden", said()),
            Error::InsufficientScope(scope) => {
                Self::new(S::FORBIDDEN, "insufficient_scope", said()).with("scope", *scope)
            }
            Error::NotFound(_) => Self::new(S::NOT_FOUND, "not_found", said()),
            Error::MethodNotAllowed(allow) => Self::new(S::METHOD_NOT_ALLOWED, "method_not_allowed", said())
                .with_header(ALLOW, HeaderValue::from_static(allow)),
            Error::NameTaken(_) => Self::new(S::CONFLICT, "name_taken", said()),
            Error::Conflict(_) => Self::new(S::CONFLICT, "conflict", said()),
            Error::InvalidJson(_) => Self::new(S::BAD_REQUEST, "invalid_json", said()),
            Error::InvalidField { field, detail } => {
                Self::new(S::UNPROCESSABLE_ENTITY, "invalid_field", format!("{field}: {detail}"))
                    .with("field", field.as_str())
            }
            Error::AlreadyDecided(state) => {
                Self::new(S::CONFLICT, "already_decided", said()).with("state", state.as_str())
            }
            Error::NotEligible(_) => Self::new(S::FORBIDDEN, "not_eligible", said()),
            Error::PasskeyRequired { url } => {
                let problem =
                    Self::new(S::PRECONDITION_FAILED, "passkey_required", said()).with("url", url.as_str());
                match HeaderValue::try_from(url) {
                    Ok(location) => problem.with_header(LOCATION, location),
                    Err(_) => problem,
                }
            }
            Error::PasskeyRefused(_) => Self::new(S::FORBIDDEN, "passkey_refused", said()),
            Error::Internal(_) => Self::new(S::INTERNAL_SERVER_ERROR, "internal", said()),
        }
    }
}

fn outcome_unknown(lost: LostAnswer) -> Problem {
    let problem = match lost {
        LostAnswer::Timeout => Problem::new(StatusCode::GATEWAY_TIMEOUT, "outcome_unknown", lost.detail()),
        LostAnswer::NotStored
        | LostAnswer::Closed
        | LostAnswer::ClosedAfterCertificate
        | LostAnswer::Unreadable
        | LostAnswer::Missing => Problem::new(StatusCode::BAD_GATEWAY, "outcome_unknown", lost.detail()),
    };
    problem.with(
        "agent_action",
        "it may or may not have happened: check at the target before you send the same request again",
    )
}

fn rate_limited(limit: u32, reset: Duration) -> Problem {
    let seconds = reset.as_secs().max(1);
    let header = HeaderName::from_static;
    Problem::new(
        StatusCode::TOO_MANY_REQUESTS,
        "rate_limited",
        format!("this agent may send {limit} requests an hour"),
    )
    .with_header(RETRY_AFTER, seconds.into())
    .with_header(header("ratelimit-limit"), limit.into())
    .with_header(header("ratelimit-remaining"), HeaderValue::from_static("0"))
    .with_header(header("ratelimit-reset"), seconds.into())
    .with("agent_action", "wait until the next full hour (UTC), see Retry-After")
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        if let Self::Internal(_) | Self::Unavailable(_) = self {
            tracing::error!(error = %Chain(&self), "request could not be served");
        }
        Problem::from(&self).into_response()
    }
}

/// An error with all its causes on one line.
struct Chain<'a>(&'a dyn std::error::Error);

impl std::fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}
