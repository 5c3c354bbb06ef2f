//! Errors of the proxy and their HTTP responses.

pub(crate) mod kinds;
pub(crate) mod lost_answer;
mod quotas;
pub(crate) mod receipt_wait;

use std::borrow::Cow;
use std::time::Duration;

use axum::response::{IntoResponse, Response};
use http::header::{ALLOW, HeaderName, LOCATION, RETRY_AFTER, SEC_WEBSOCKET_VERSION, UPGRADE};
use http::{HeaderValue, StatusCode};
use pyxis_core::admin_error::{AdminError, Missing};
use pyxis_core::approval_mode::ApprovalState;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::TxnId;
use pyxis_core::policy::Method;
use pyxis_http::Problem;
use pyxis_http::problem::Causes;
use pyxis_http::problem::kinds as common;
pub(crate) use pyxis_store::NO_NUL;
use pyxis_store::StoreError;
use pyxis_store::approvals::NoRoom;

use crate::error::lost_answer::LostAnswer;
pub use crate::error::receipt_wait::ReceiptWait;
pub use pyxis_core::BoxError;

/// Any failure of the proxy and its admin interface. Each variant is something that the caller can act on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// `X-PX-Key` is missing.
    #[error("no agent key")]
    MissingKey,
    /// The key is unknown, or its agent is disabled.
    #[error("unknown or disabled agent key")]
    InvalidKey,
    /// A required control header is missing.
    #[error("missing header: {0}")]
    MissingHeader(&'static str),
    /// An unknown `X-PX-*` header.
    #[error("unknown header: {0}")]
    UnknownHeader(String),
    /// A control header occurs more than once.
    #[error("header sent twice: {0}")]
    DuplicateHeader(&'static str),
    /// A control header has an invalid value.
    #[error("bad value in header {name}: {detail}")]
    InvalidHeader {
        /// Name of the header.
        name: &'static str,
        /// The problem and how to fix it.
        detail: &'static str,
    },
    /// `X-PX-Method` is not a supported method.
    #[error("invalid method")]
    InvalidMethod,
    /// The handshake of a WebSocket is not well-formed.
    #[error("bad WebSocket handshake: {0}")]
    InvalidHandshake(&'static str),
    /// The handshake is of another version of the protocol.
    #[error("unsupported WebSocket version; supported: 13")]
    WebSocketVersion,
    /// The credential cannot be used with a WebSocket.
    #[error("no WebSocket with this credential: {0}")]
    WebSocketUnsupported(&'static str),
    /// The server has the maximum number of open WebSockets.
    #[error("too many WebSockets: this server has {max} open ones, its maximum")]
    TooManyWebSockets {
        /// Maximum open WebSockets.
        max: u32,
    },
    /// The agent has the maximum number of open WebSockets.
    #[error("quota exceeded: this agent has {max} open WebSockets on this server, its maximum")]
    TooManyAgentWebSockets {
        /// Maximum open WebSockets of one agent.
        max: u32,
    },
    /// `X-PX-Target` is not a supported URL.
    #[error("invalid target: {0}")]
    InvalidTarget(String),
    /// The request contains a parameter that only its signature may have.
    #[error("{0}")]
    OauthParameter(String),
    /// A form that cannot be signed because its parameters cannot be read.
    #[error("a form body with a Content-Encoding cannot be signed: its parameters are part of the signature")]
    EncodedForm,
    /// Denied while `Prefer: wait` held the connection.
    #[error("a person denied the request")]
    ApprovalDenied {
        /// Transaction id.
        txn: TxnId,
        /// Reason given by the approver.
        reason: Option<String>,
    },
    /// Not decided in time while `Prefer: wait` held the connection.
    #[error("the request expired before it was decided")]
    ApprovalExpired {
        /// Transaction id.
        txn: TxnId,
    },
    /// The first request with this `Idempotency-Key` is still in progress.
    #[error("the first request with this idempotency key is still in progress")]
    IdempotencyInProgress,
    /// The `Idempotency-Key` was used for a different request.
    #[error("the idempotency key was used for another request")]
    IdempotencyKeyReused,
    /// The upstream responded in a content coding that cannot be scrubbed.
    #[error("the response's content coding cannot be scrubbed")]
    UnknownContentCoding {
        /// Status of the response.
        status: StatusCode,
    },
    /// This agent has no credential with this name.
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
        /// Matching pattern or method.
        pattern: Option<String>,
    },
    /// The agent's hourly limit is used up.
    #[error("rate limited")]
    RateLimited {
        /// Requests per hour.
        limit: u32,
        /// Time until the next window.
        reset: Duration,
    },
    /// The agent has the maximum number of pending requests.
    #[error("too many pending requests: {limit} requests of this agent already wait for approval")]
    TooManyPending {
        /// Maximum pending requests.
        limit: i64,
    },
    /// The agent has the maximum number of proposed tasks.
    #[error("too many proposed tasks: {limit} tasks of this agent already wait for approval")]
    TooManyTasks {
        /// Maximum proposed tasks.
        limit: i64,
    },
    /// The workspace has the maximum number of pending requests, or too many bytes are kept.
    #[error("quota exceeded: {0}")]
    QuotaExceeded(NoRoom),
    /// The body is too large to be stored for an approval.
    #[error("body too large")]
    BodyTooLarge {
        /// Maximum size, in bytes.
        max: usize,
    },
    /// The bodies of other requests take the memory for bodies that are held whole.
    #[error("the server holds as many request bodies as it may; send the request again")]
    NoRoomForBody,
    /// The body ended early.
    #[error("the body ended early")]
    IncompleteBody,
    /// A chat platform posted too large a body.
    #[error("a post of a chat platform may have at most {max} bytes")]
    PostTooLarge {
        /// Maximum size, in bytes.
        max: usize,
    },
    /// The body of a post of a chat platform did not arrive in time.
    #[error("the body did not arrive within {seconds} seconds; send the request again")]
    SlowPost {
        /// Time for the body, in seconds.
        seconds: u64,
    },
    /// The upstream is unreachable; nothing was sent.
    #[error("{0}; nothing was sent")]
    Unreachable(&'static str),
    /// Connecting to the upstream timed out; nothing was sent.
    #[error("no connection to the host in time; nothing was sent")]
    ConnectTimeout,
    /// The upstream, or the sidecar in front of it, failed.
    #[error("upstream error: {0}")]
    Upstream(Cow<'static, str>),
    /// The upstream did not answer in time.
    #[error("upstream timeout")]
    UpstreamTimeout,
    /// The upstream responded, but its response cannot be passed on.
    #[error("the host answered {}, but {why}", status.as_u16())]
    BrokenAnswer {
        /// Status of the response.
        status: StatusCode,
        /// Problem with the rest of the response.
        why: Cow<'static, str>,
    },
    /// A person must connect the credential's account (again).
    #[error("{detail}")]
    ReauthorizationRequired {
        /// URL at which a manager does that.
        url: String,
        /// Reason, safe to show.
        detail: String,
    },
    /// No access token could be fetched. Contains a reason that is safe to show.
    #[error("no access token: {0}")]
    TokenEndpoint(String),
    /// A request without a response that may have been executed.
    #[error("the outcome of the request is unknown")]
    OutcomeUnknown(LostAnswer),
    /// An approved call that is no longer allowed.
    #[error("no longer allowed: {0}")]
    NoLongerAllowed(&'static str),
    /// The receipt cannot be issued yet.
    #[error("no receipt yet: {0}")]
    ReceiptNotReady(ReceiptWait),
    /// Writing to the store or the audit trail failed.
    #[error("unavailable")]
    Unavailable(#[source] StoreError),

    /// The session is missing or expired.
    #[error("not signed in")]
    Unauthenticated,
    /// Email or password is wrong.
    #[error("wrong e-mail or password")]
    WrongPassword,
    /// Too many failures.
    #[error("locked after too many failed sign-ins; try again later")]
    Locked {
        /// End of the lock.
        until: UnixMillis,
        /// Remaining time of the lock.
        wait: std::time::Duration,
    },
    /// The person may not do this.
    #[error("forbidden: {0}")]
    Forbidden(&'static str),
    /// The token lacks the scope.
    #[error("the token does not have the scope {0}")]
    InsufficientScope(&'static str),
    /// No such item in this workspace.
    #[error("not found: {0}")]
    NotFound(Missing),
    /// `/forward` or `/sign` was called with another method, perhaps the one that was meant for the target.
    #[error("method not allowed: send POST; on /forward, the method for the target goes into X-PX-Method")]
    MethodNotAllowed(&'static str),
    /// The name is already in use.
    #[error("name is taken: {0}")]
    NameTaken(String),
    /// The item's state does not allow this.
    #[error("conflict: {0}")]
    Conflict(&'static str),
    /// The body is not JSON.
    #[error("not valid JSON: {0}")]
    InvalidJson(String),
    /// A well-formed body with an invalid value.
    #[error("invalid field {field}: {detail}")]
    InvalidField {
        /// Name of the field.
        field: String,
        /// The problem and how to fix it.
        detail: String,
    },
    /// A list of decisions that is refused as a whole.
    #[error("nothing was decided: {0}")]
    InvalidDecisions(String),
    /// The transaction is already decided, or this person has already voted.
    #[error("the request was already decided, or this person has already voted")]
    AlreadyDecided(ApprovalState),
    /// The request was edited after this person had read it.
    #[error(
        "the request was edited after you had read it; read it again and send its `digest` with the approval"
    )]
    RequestChanged,
    /// The person may not decide this transaction.
    #[error("not eligible: {0}")]
    NotEligible(&'static str),
    /// Only a passkey can decide this.
    #[error("passkey required")]
    PasskeyRequired {
        /// URL of the passkey confirmation.
        url: String,
    },
    /// A passkey ceremony failed a check.
    #[error("the passkey was refused: {0}")]
    PasskeyRefused(&'static str),
    #[error("internal error")]
    Internal(#[source] BoxError),
}

/// The result of most functions here.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// No item of this kind has the id that the caller sent.
    pub fn not_found(kind: &'static str) -> Self {
        Self::NotFound(Missing::new(kind))
    }

    /// Creates a 422 that names a field.
    pub fn field(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::InvalidField { field: field.into(), detail: detail.into() }
    }

    /// Converts the failure of a request with `method` that was given to a connection.
    pub(crate) fn unanswered(error: pyxis_net::Error, method: Method) -> Self {
        LostAnswer::from_error(&error, method).map_or_else(|| error.into(), Self::OutcomeUnknown)
    }

    /// Status of an upstream response that could not be passed on.
    pub(crate) const fn upstream_status(&self) -> Option<StatusCode> {
        match self {
            Self::BrokenAnswer { status, .. } | Self::UnknownContentCoding { status } => Some(*status),
            _ => None,
        }
    }

    /// Stable code, as in `PX-Error`.
    pub fn code(&self) -> &'static str {
        Problem::from(self).code()
    }
}

impl From<StoreError> for Error {
    /// Nothing can be sent while the store fails, whatever the reason. Callers first handle errors that they can act
    /// on, such as conflicts.
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
            // These refusals may arrive after the request was sent, but the host did not process it.
            error if error.was_sent() || matches!(error, E::Refused(_) | E::Unprocessed(_)) => {
                Self::Upstream(error.public_message().into())
            }
            error => Self::Unreachable(error.public_message()),
        }
    }
}

const SUPPORTED: &str = "X-PX-Key, X-PX-Credential, X-PX-Target, X-PX-Method, X-PX-Reason, \
    Idempotency-Key, Prefer: wait=N; the body of this request is forwarded";

impl From<&Error> for Problem {
    #[expect(clippy::too_many_lines, reason = "one table, one row an error, no wildcard")]
    fn from(error: &Error) -> Self {
        let said = || error.to_string();
        match error {
            Error::MissingKey => Self::from_kind(kinds::MISSING_KEY, "send the agent key as Authorization: Bearer to /mcp and /p/, and in X-PX-Key everywhere else")
                .with_member("agent_action", "ask the person who runs this proxy for an agent key"),
            Error::InvalidKey => Self::from_kind(kinds::INVALID_KEY, said())
                .with_member("agent_action", "ask the person who runs this proxy for a new agent key"),
            Error::MissingHeader(_) => {
                Self::from_kind(kinds::MISSING_HEADER, said()).with_member("supported", SUPPORTED)
            }
            Error::UnknownHeader(_) => {
                Self::from_kind(kinds::UNKNOWN_HEADER, said()).with_member("supported", SUPPORTED)
            }
            Error::DuplicateHeader(_) => {
                Self::from_kind(kinds::DUPLICATE_HEADER, said()).with_member("supported", SUPPORTED)
            }
            Error::InvalidHeader { .. } => Self::from_kind(kinds::INVALID_HEADER, said()),
            Error::InvalidMethod => Self::from_kind(kinds::INVALID_METHOD,
                "X-PX-Method must be GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS",
            ),
            Error::InvalidHandshake(_) => Self::from_kind(kinds::INVALID_HANDSHAKE, said()),
            Error::WebSocketVersion => Self::from_kind(kinds::WEBSOCKET_VERSION, said())
                .with_header(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"))
                .with_header(UPGRADE, HeaderValue::from_static("websocket")),
            Error::WebSocketUnsupported(_) => Self::from_kind(kinds::WEBSOCKET_UNSUPPORTED, said()),
            Error::TooManyWebSockets { .. } => Self::from_kind(kinds::TOO_MANY_WEBSOCKETS, said())
                .with_header(RETRY_AFTER, HeaderValue::from_static("30")),
            Error::TooManyAgentWebSockets { max } => quotas::websockets(*max, said()),
            Error::InvalidTarget(_) => Self::from_kind(kinds::INVALID_TARGET, said()),
            Error::OauthParameter(_) => Self::from_kind(kinds::OAUTH_PARAMETER, said()),
            Error::EncodedForm => Self::from_kind(kinds::ENCODED_FORM, said()),
            Error::ApprovalDenied { txn, reason } => {
                Self::from_kind(kinds::APPROVAL_DENIED, "a person denied this request")
                    .with_member("txn_id", txn.to_string())
                    .with_member("reason", reason.clone())
                    .with_member("agent_action", "do not send the same request again; tell the person")
            }
            Error::ApprovalExpired { txn } => {
                Self::from_kind(kinds::APPROVAL_EXPIRED, "the request expired before it was decided")
                    .with_member("txn_id", txn.to_string())
                    .with_member("agent_action", "ask the person whether to send the request again")
            }
            Error::IdempotencyInProgress => Self::from_kind(kinds::IDEMPOTENCY_IN_PROGRESS, said())
                .with_header(RETRY_AFTER, HeaderValue::from_static("2"))
                .with_member("agent_action", "wait, then send the same request again"),
            Error::IdempotencyKeyReused => {
                Self::from_kind(kinds::IDEMPOTENCY_KEY_REUSED, said())
                    .with_member("agent_action", "use a new Idempotency-Key for a new request")
            }
            Error::UnknownContentCoding { status } => Self::from_kind(kinds::UNKNOWN_CONTENT_CODING,
                format!(
                    "the host answered {}, but the response is withheld: its Content-Encoding cannot be \
                     searched for secrets",
                    status.as_u16()
                ),
            )
            .with_member("upstream_status", status.as_u16()),
            Error::CredentialNotFound => Self::from_kind(kinds::CREDENTIAL_NOT_FOUND,
                "there is no such credential, or this agent may not use it",
            )
            .with_member("agent_action", "GET /agent/services lists the credentials of this key"),
            Error::HostNotAllowed(_) => Self::from_kind(kinds::HOST_NOT_ALLOWED, said())
                .with_member("agent_action", "ask a manager to add the host to the credential's allowed_hosts"),
            Error::TargetNotAllowed(_) => Self::from_kind(kinds::TARGET_NOT_ALLOWED, said())
                .with_member("agent_action", "ask the operator to add the address to PX_EGRESS_ALLOW"),
            Error::DeniedByPolicy { pattern } => {
                Self::from_kind(kinds::DENIED_BY_POLICY, "the credential's policy denies this request")
                    .with_member("pattern", pattern.clone())
            }
            Error::RateLimited { limit, reset } => rate_limited(*limit, *reset),
            Error::QuotaExceeded(full) => quotas::problem(*full, said()),
            Error::TooManyTasks { limit } => Self::from_kind(kinds::TOO_MANY_PENDING, said())
                .with_member("max_pending", *limit)
                .with_header(RETRY_AFTER, HeaderValue::from_static("30"))
                .with_member("agent_action", "ask your person to decide proposed tasks, or withdraw some"),
            Error::TooManyPending { limit } => {
                Self::from_kind(kinds::TOO_MANY_PENDING, said())
                    .with_member("max_pending", *limit)
                    .with_header(RETRY_AFTER, HeaderValue::from_static("30"))
                    .with_member(
                        "agent_action",
                        "ask your person to decide pending requests, or withdraw some with DELETE on their poll_url",
                    )
            }
            Error::BodyTooLarge { max } => Self::from_kind(common::BODY_TOO_LARGE,
                format!(
                    "a request that waits for approval or has an Idempotency-Key may carry at most {max} bytes"
                ),
            ),
            Error::NoRoomForBody => {
                Self::from_kind(common::BUSY, said()).with_header(RETRY_AFTER, HeaderValue::from_static("5"))
            }
            Error::IncompleteBody => Self::from_kind(kinds::INCOMPLETE_BODY, said()),
            Error::PostTooLarge { .. } => Self::from_kind(common::BODY_TOO_LARGE, said()),
            Error::SlowPost { .. } => Self::from_kind(kinds::REQUEST_TIMEOUT, said()),
            Error::Unreachable(_) => Self::from_kind(common::UPSTREAM_ERROR, said()),
            Error::ConnectTimeout => Self::from_kind(kinds::UPSTREAM_TIMEOUT, said()),
            Error::Upstream(why) => Self::from_kind(common::UPSTREAM_ERROR, why.to_string()),
            Error::UpstreamTimeout => {
                Self::from_kind(kinds::UPSTREAM_TIMEOUT, "the target did not respond in time")
            }
            Error::BrokenAnswer { status, .. } => Self::from_kind(common::UPSTREAM_ERROR, said())
                .with_member("upstream_status", status.as_u16()),
            Error::ReauthorizationRequired { url, .. } => {
                Self::from_kind(kinds::REAUTHORIZATION_REQUIRED, said())
                    .with_member("url", url.as_str())
                    .with_member("agent_action", "ask a manager to open the url and connect the account again")
            }
            Error::TokenEndpoint(_) => Self::from_kind(kinds::TOKEN_ERROR, said()),
            Error::OutcomeUnknown(lost) => outcome_unknown(*lost),
            Error::NoLongerAllowed(_) => Self::from_kind(kinds::NO_LONGER_ALLOWED, said()),
            Error::ReceiptNotReady(wait) => receipt_not_ready(*wait),
            Error::Unavailable(_) => Self::from_kind(common::UNAVAILABLE,
                "the database is unavailable, so nothing was sent",
            )
            .with_header(RETRY_AFTER, HeaderValue::from_static("5")),
            Error::Unauthenticated => Self::from_kind(common::UNAUTHENTICATED,
                "send a valid session token: Authorization: Bearer <token>",
            ),
            Error::WrongPassword => Self::from_kind(kinds::WRONG_PASSWORD, said()),
            Error::Locked { until, wait } => Self::from_kind(kinds::LOCKED, said())
                .with_member("locked_until", until.to_rfc3339())
                .with_header(RETRY_AFTER, HeaderValue::from(wait.as_secs() + 1)),
            Error::Forbidden(why) => Self::from(&AdminError::Forbidden(why)),
            Error::InsufficientScope(scope) => {
                Self::from_kind(common::INSUFFICIENT_SCOPE, said()).with_member("scope", *scope)
            }
            Error::NotFound(missing) => Self::from(&AdminError::NotFound(missing.clone())),
            Error::MethodNotAllowed(allow) => Self::from_kind(common::METHOD_NOT_ALLOWED, said())
                .with_header(ALLOW, HeaderValue::from_static(allow)),
            Error::NameTaken(_) => Self::from_kind(kinds::NAME_TAKEN, said()),
            Error::Conflict(why) => Self::from(&AdminError::Conflict(why)),
            Error::InvalidJson(_) => Self::from_kind(common::INVALID_JSON, said()),
            Error::InvalidField { field, detail } => {
                Self::from(&AdminError::field(field.as_str(), detail.as_str()))
            }
            Error::InvalidDecisions(_) => Self::from_kind(kinds::INVALID_DECISIONS, said()),
            Error::AlreadyDecided(state) => {
                Self::from_kind(kinds::ALREADY_DECIDED, said()).with_member("state", state.as_str())
            }
            Error::RequestChanged => Self::from_kind(kinds::REQUEST_CHANGED, said()),
            Error::NotEligible(_) => Self::from_kind(kinds::NOT_ELIGIBLE, said()),
            Error::PasskeyRequired { url } => {
                let problem =
                    Self::from_kind(kinds::PASSKEY_REQUIRED, said()).with_member("url", url.as_str());
                match HeaderValue::try_from(url) {
                    Ok(location) => problem.with_header(LOCATION, location),
                    Err(_) => problem,
                }
            }
            Error::PasskeyRefused(_) => Self::from_kind(kinds::PASSKEY_REFUSED, said()),
            Error::Internal(_) => Self::from_kind(common::INTERNAL, said()),
        }
    }
}

fn outcome_unknown(lost: LostAnswer) -> Problem {
    let problem = match lost {
        LostAnswer::Timeout => Problem::from_kind(kinds::OUTCOME_UNKNOWN_TIMEOUT, lost.detail()),
        LostAnswer::NotStored
        | LostAnswer::Closed
        | LostAnswer::ClosedAfterCertificate
        | LostAnswer::Unreadable
        | LostAnswer::Missing => Problem::from_kind(kinds::OUTCOME_UNKNOWN, lost.detail()),
    };
    problem.with_member(
        "agent_action",
        "the request may have been executed: check at the target before you send it again",
    )
}

fn receipt_not_ready(wait: ReceiptWait) -> Problem {
    let kind = match wait {
        ReceiptWait::Pending | ReceiptWait::Sending | ReceiptWait::SocketOpen => kinds::RECEIPT_NOT_READY,
        ReceiptWait::Preparing { .. } => kinds::RECEIPT_BEING_PREPARED,
    };
    let problem = Problem::from_kind(kind, wait.to_string());
    match wait.retry_after() {
        Some(seconds) => problem.with_header(RETRY_AFTER, seconds.into()),
        None => problem,
    }
}

fn rate_limited(limit: u32, reset: Duration) -> Problem {
    let seconds = reset.as_secs().max(1);
    let header = HeaderName::from_static;
    Problem::from_kind(
        kinds::RATE_LIMITED,
        format!("rate limit reached: this agent may send {limit} requests per hour"),
    )
    .with_header(RETRY_AFTER, seconds.into())
    .with_header(header("ratelimit-limit"), limit.into())
    .with_header(header("ratelimit-remaining"), HeaderValue::from_static("0"))
    .with_header(header("ratelimit-reset"), seconds.into())
    .with_member("agent_action", "wait until the next full hour (UTC), see Retry-After")
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        if let Self::Internal(_) | Self::Unavailable(_) = self {
            tracing::error!(error = %Causes(&self), "cannot serve a request");
        }
        Problem::from(&self).into_response()
    }
}
