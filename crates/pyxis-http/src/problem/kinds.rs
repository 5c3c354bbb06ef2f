//! Problems that every interface can have.

use http::StatusCode as S;

crate::problem_kinds! {
    NOT_FOUND = (S::NOT_FOUND, "not_found");
    METHOD_NOT_ALLOWED = (S::METHOD_NOT_ALLOWED, "method_not_allowed");
    INVALID_JSON = (S::BAD_REQUEST, "invalid_json");
    INVALID_BODY = (S::BAD_REQUEST, "invalid_body");
    INVALID_FIELD = (S::UNPROCESSABLE_ENTITY, "invalid_field");
    BODY_TOO_LARGE = (S::PAYLOAD_TOO_LARGE, "body_too_large");
    UNAUTHENTICATED = (S::UNAUTHORIZED, "unauthenticated");
    FORBIDDEN = (S::FORBIDDEN, "forbidden");
    INSUFFICIENT_SCOPE = (S::FORBIDDEN, "insufficient_scope");
    CONFLICT = (S::CONFLICT, "conflict");
    CHANGED = (S::CONFLICT, "changed");
    UPSTREAM_ERROR = (S::BAD_GATEWAY, "upstream_error");
    INTERNAL = (S::INTERNAL_SERVER_ERROR, "internal");
    BUSY = (S::SERVICE_UNAVAILABLE, "busy");
    UNAVAILABLE = (S::SERVICE_UNAVAILABLE, "unavailable");
}
