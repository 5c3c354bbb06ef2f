//! Problems that only the proxy and its admin interface have.

use http::StatusCode as S;

pyxis_http::problem_kinds! {
    MISSING_KEY = (S::UNAUTHORIZED, "missing_key");
    INVALID_KEY = (S::UNAUTHORIZED, "invalid_key");
    MISSING_HEADER = (S::BAD_REQUEST, "missing_header");
    UNKNOWN_HEADER = (S::BAD_REQUEST, "unknown_header");
    DUPLICATE_HEADER = (S::BAD_REQUEST, "duplicate_header");
    INVALID_HEADER = (S::BAD_REQUEST, "invalid_header");
    INVALID_METHOD = (S::BAD_REQUEST, "invalid_method");
    INVALID_HANDSHAKE = (S::BAD_REQUEST, "invalid_handshake");
    WEBSOCKET_VERSION = (S::UPGRADE_REQUIRED, "websocket_version");
    WEBSOCKET_UNSUPPORTED = (S::NOT_IMPLEMENTED, "websocket_unsupported");
    TOO_MANY_WEBSOCKETS = (S::SERVICE_UNAVAILABLE, "too_many_websockets");
    INVALID_TARGET = (S::BAD_REQUEST, "invalid_target");
    OAUTH_PARAMETER = (S::BAD_REQUEST, "oauth_parameter");
    ENCODED_FORM = (S::BAD_REQUEST, "encoded_form");
    APPROVAL_DENIED = (S::FORBIDDEN, "approval_denied");
    APPROVAL_EXPIRED = (S::FORBIDDEN, "approval_expired");
    IDEMPOTENCY_IN_PROGRESS = (S::CONFLICT, "idempotency_in_progress");
    IDEMPOTENCY_KEY_REUSED = (S::UNPROCESSABLE_ENTITY, "idempotency_key_reused");
    UNKNOWN_CONTENT_CODING = (S::BAD_GATEWAY, "unknown_content_coding");
    CREDENTIAL_NOT_FOUND = (S::NOT_FOUND, "credential_not_found");
    HOST_NOT_ALLOWED = (S::FORBIDDEN, "host_not_allowed");
    TARGET_NOT_ALLOWED = (S::FORBIDDEN, "target_not_allowed");
    DENIED_BY_POLICY = (S::FORBIDDEN, "denied_by_policy");
    TOO_MANY_PENDING = (S::TOO_MANY_REQUESTS, "too_many_pending");
    QUOTA_EXCEEDED = (S::TOO_MANY_REQUESTS, "quota_exceeded");
    REQUEST_TIMEOUT = (S::REQUEST_TIMEOUT, "request_timeout");
    INCOMPLETE_BODY = (S::BAD_REQUEST, "incomplete_body");
    UPSTREAM_TIMEOUT = (S::GATEWAY_TIMEOUT, "upstream_timeout");
    REAUTHORIZATION_REQUIRED = (S::BAD_GATEWAY, "reauthorization_required");
    TOKEN_ERROR = (S::BAD_GATEWAY, "token_error");
    NO_LONGER_ALLOWED = (S::FORBIDDEN, "no_longer_allowed");
    WRONG_PASSWORD = (S::UNAUTHORIZED, "wrong_password");
    LOCKED = (S::TOO_MANY_REQUESTS, "locked");
    NAME_TAKEN = (S::CONFLICT, "name_taken");
    INVALID_DECISIONS = (S::BAD_REQUEST, "invalid_decisions");
    ALREADY_DECIDED = (S::CONFLICT, "already_decided");
    REQUEST_CHANGED = (S::CONFLICT, "request_changed");
    NOT_ELIGIBLE = (S::FORBIDDEN, "not_eligible");
    PASSKEY_REQUIRED = (S::PRECONDITION_FAILED, "passkey_required");
    PASSKEY_REFUSED = (S::FORBIDDEN, "passkey_refused");
    OUTCOME_UNKNOWN_TIMEOUT = (S::GATEWAY_TIMEOUT, "outcome_unknown");
    OUTCOME_UNKNOWN = (S::BAD_GATEWAY, "outcome_unknown");
    RECEIPT_NOT_READY = (S::CONFLICT, "receipt_not_ready");
    RECEIPT_BEING_PREPARED = (S::SERVICE_UNAVAILABLE, "receipt_not_ready");
    RATE_LIMITED = (S::TOO_MANY_REQUESTS, "rate_limited");
}
