//! Responses to the problems of the proxy and its admin interface.

use pyxis_http::problem::kinds as common;

use crate::error::kinds;

pyxis_http::problem_responses! {
    /// The key was sent more than once.
    BadAgentHeader = [kinds::DUPLICATE_HEADER];
    /// A control header is missing, unknown, repeated or invalid. Or the method or the target cannot be forwarded.
    /// Or the request has an `oauth_*` parameter or an encoded form, which OAuth 1.0a cannot sign. Or the body
    /// ended early, or the handshake of a WebSocket is not well-formed.
    BadForward = [kinds::MISSING_HEADER, kinds::UNKNOWN_HEADER, kinds::DUPLICATE_HEADER, kinds::INVALID_HEADER, kinds::INVALID_METHOD, kinds::INVALID_TARGET, kinds::OAUTH_PARAMETER, kinds::ENCODED_FORM, kinds::INCOMPLETE_BODY, kinds::INVALID_HANDSHAKE];
    /// A control header is missing, unknown, repeated or invalid. Or the credential is not a signing key, the body
    /// is not JSON, or the body ended early.
    BadSign = [kinds::MISSING_HEADER, kinds::UNKNOWN_HEADER, kinds::DUPLICATE_HEADER, kinds::INVALID_HEADER, common::INVALID_JSON, kinds::INCOMPLETE_BODY];
    /// The request was denied or expired while `Prefer: wait` held the connection, or something changed meanwhile.
    SignRefused = [kinds::APPROVAL_DENIED, kinds::APPROVAL_EXPIRED, kinds::NO_LONGER_ALLOWED];
    /// A member of the body is missing or unknown. Or the payload does not match `encoding`, `format`, its
    /// `digest` or the key's algorithm. Or the `Idempotency-Key` was used for another request.
    BadPayload = [common::INVALID_FIELD, kinds::IDEMPOTENCY_KEY_REUSED];
    /// There is no agent key, or it is unknown, or its agent is disabled.
    BadKey = [kinds::MISSING_KEY, kinds::INVALID_KEY];
    /// The credential is not allowed for this host, the policy denies the request, or it was denied or expired while
    /// `Prefer: wait` held the connection.
    ForwardRefused = [kinds::HOST_NOT_ALLOWED, kinds::TARGET_NOT_ALLOWED, kinds::DENIED_BY_POLICY, kinds::APPROVAL_DENIED, kinds::APPROVAL_EXPIRED, kinds::NO_LONGER_ALLOWED];
    /// There is no such credential, or this agent may not use it; the response is the same, so that names cannot be
    /// probed. `not_found`: the response stored for the `Idempotency-Key` has been deleted.
    CredentialNotFound = [kinds::CREDENTIAL_NOT_FOUND, common::NOT_FOUND];
    /// The first request with this `Idempotency-Key` is still in progress, or an identical request is being decided
    /// at this moment (`conflict`). Send it again.
    StillUnderWay = [kinds::IDEMPOTENCY_IN_PROGRESS, common::CONFLICT] with retry_after;
    /// The body is too large to be stored, which an approval and an `Idempotency-Key` need.
    PendingBodyTooLarge = [common::BODY_TOO_LARGE];
    /// The body did not arrive within 5 seconds.
    PostTooSlow = [kinds::REQUEST_TIMEOUT];
    /// The body has more than 256 KiB.
    PostTooLarge = [common::BODY_TOO_LARGE];
    /// The `Idempotency-Key` was used for another request.
    IdempotencyKeyReused = [kinds::IDEMPOTENCY_KEY_REUSED];
    /// The agent's requests of this hour are used up, or it has the maximum number of pending requests
    /// (`too_many_pending`). Windows start on the hour, UTC. Only the first case has `RateLimit` headers.
    RateLimited = [kinds::RATE_LIMITED, kinds::TOO_MANY_PENDING, kinds::QUOTA_EXCEEDED] with rate_limit with retry_after;
    /// The target could not be reached and nothing was sent. Or its response was cut off, or it cannot be checked
    /// for the secret and is withheld. Or a request that may change something got no response (`outcome_unknown`):
    /// it may have been executed, and it is not sent again.
    UpstreamFailed = [common::UPSTREAM_ERROR, kinds::UNKNOWN_CONTENT_CODING, kinds::OUTCOME_UNKNOWN, kinds::REAUTHORIZATION_REQUIRED, kinds::TOKEN_ERROR];
    /// The target could not be reached, its response cannot be checked for the secret, or no access token could be
    /// fetched. With `reauthorization_required`, `url` is the page on which to connect the account again.
    ProbeFailed = [common::UPSTREAM_ERROR, kinds::UNKNOWN_CONTENT_CODING, kinds::REAUTHORIZATION_REQUIRED, kinds::TOKEN_ERROR];
    /// Connecting to the target timed out, or a GET, HEAD or OPTIONS request did (`upstream_timeout`). A request with
    /// another method may have been executed (`outcome_unknown`).
    UpstreamTimeout = [kinds::UPSTREAM_TIMEOUT, kinds::OUTCOME_UNKNOWN_TIMEOUT];
    /// The handshake of a WebSocket is of another version than 13.
    OtherWebSocketVersion = [kinds::WEBSOCKET_VERSION];
    /// The credential goes through a sidecar, which signs single requests, and the request is the handshake of a
    /// WebSocket.
    NoWebSocket = [kinds::WEBSOCKET_UNSUPPORTED];
    /// The database or the audit trail cannot be written, so nothing was sent. Or the server has the maximum number
    /// of open WebSockets, or of request bodies that it holds whole (`busy`).
    CannotForward = [common::UNAVAILABLE, common::BUSY, kinds::TOO_MANY_WEBSOCKETS] with retry_after;
    /// The body is not JSON, or the URL is invalid.
    InvalidProbe = [common::INVALID_JSON, common::INVALID_BODY, kinds::INVALID_TARGET];
    /// The role does not allow it, or the host is not allowed.
    ProbeRefused = [common::FORBIDDEN, kinds::HOST_NOT_ALLOWED, kinds::TARGET_NOT_ALLOWED];
    /// The email address or the password is wrong.
    WrongPassword = [kinds::WRONG_PASSWORD];
    /// This person may not decide requests with this credential, or the token does not have the scope. A passkey that
    /// fails a check is reported on the page of its ceremony.
    NotEligible = [kinds::NOT_ELIGIBLE, common::INSUFFICIENT_SCOPE, kinds::PASSKEY_REFUSED];
    /// The body is not JSON. Or the list is empty or too long, names a transaction twice, or has an unknown verdict
    /// (`invalid_decisions`). Nothing was decided.
    InvalidDecisions = [common::INVALID_JSON, common::INVALID_BODY, kinds::INVALID_DECISIONS];
    /// The name is already in use, in any case.
    NameTaken = [kinds::NAME_TAKEN];
    /// The definition of the tool has changed; read it again.
    ToolChanged = [common::CONFLICT];
    /// Rights are for members only; owners and admins may do everything.
    NoMember = [common::CONFLICT];
    /// The person has already signed in, or is the last owner.
    InvitationUsed = [common::CONFLICT];
    /// A workspace needs an enabled owner.
    LastOwner = [common::CONFLICT];
    /// The task is already decided, or no one decided it in time, or it has ended.
    TaskOver = [common::CONFLICT];
    /// The agent's requests of this hour are used up, or it has the maximum number of proposed tasks
    /// (`too_many_pending`).
    TooManyTasks = [kinds::RATE_LIMITED, kinds::TOO_MANY_PENDING] with rate_limit with retry_after;
    /// The grant has already ended: it was revoked, has expired, or was ended by a change of policy or secret.
    GrantOver = [common::CONFLICT];
    /// A workspace can have at most 50 endpoints.
    TooManyEndpoints = [common::CONFLICT];
    /// Someone else replaced the secret at the same time.
    SecretJustReplaced = [common::CONFLICT];
    /// The endpoint is disabled.
    EndpointDisabled = [common::CONFLICT];
    /// Email address and password match several workspaces; use different passwords.
    SeveralWorkspaces = [common::CONFLICT];
    /// The request is not decided, is being sent, or its WebSocket is open. `Retry-After` says when to ask again, unless
    /// that depends on people.
    ReceiptNotReady = [kinds::RECEIPT_NOT_READY];
    /// Earlier audit records are being hashed, which the first receipt of a large audit trail needs.
    ReceiptBeingPrepared = [kinds::RECEIPT_BEING_PREPARED, common::UNAVAILABLE] with retry_after;
    /// Someone else rotated the key at the same time.
    KeyJustRotated = [common::CONFLICT];
    /// The transaction is decided or expired, or this person has already voted.
    AlreadyDecided = [kinds::ALREADY_DECIDED];
    /// The transaction is decided or expired, or this person has already voted. Or the request was edited after the
    /// person had read it (`request_changed`): read it again, and send its `digest`.
    NotApproved = [kinds::ALREADY_DECIDED, kinds::REQUEST_CHANGED, common::CONFLICT];
    /// A field is invalid. Or `edit` cannot be made, or leads to a request that the policy denies or the credential's
    /// hosts do not allow. Nothing was changed.
    EditRefused = [common::INVALID_FIELD];
    /// The edited request does not fit into the bytes that are kept for the agent or its workspace.
    NoRoomForEdit = [kinds::QUOTA_EXCEEDED];
    /// Only a passkey can approve this; `url` is the page of the ceremony.
    PasskeyRequired = [kinds::PASSKEY_REQUIRED] with location;
    /// The account is locked for 15 minutes after five failures.
    Locked = [kinds::LOCKED];
}
