//! Responses that every interface with problem bodies can give.

use crate::problem::kinds::{
    BODY_TOO_LARGE, FORBIDDEN, INSUFFICIENT_SCOPE, INTERNAL, INVALID_BODY, INVALID_FIELD, INVALID_JSON,
    METHOD_NOT_ALLOWED, NOT_FOUND, UNAUTHENTICATED, UNAVAILABLE,
};

crate::problem_responses! {
    /// The body is not JSON, or ended early.
    InvalidBody = [INVALID_JSON, INVALID_BODY];
    /// There is no session token, or it is unknown or has ended.
    SignInNeeded = [UNAUTHENTICATED];
    /// The role does not allow it, or the token does not have the scope.
    Forbidden = [FORBIDDEN, INSUFFICIENT_SCOPE];
    /// There is no such thing, or it belongs to another workspace.
    NotFound = [NOT_FOUND];
    /// The path does not take this method; `Allow` lists those that it does.
    MethodNotAllowed = [METHOD_NOT_ALLOWED];
    /// A JSON body is larger than 1 MiB.
    BodyTooLarge = [BODY_TOO_LARGE];
    /// Well formed, but a value is missing, unknown or invalid; `field` names it.
    InvalidField = [INVALID_FIELD];
    /// A fault of the server. The log line has the same `request_id`.
    Internal = [INTERNAL];
    /// The database or the audit trail cannot be reached, or was busy for five seconds. Nothing was sent upstream.
    Unavailable = [UNAVAILABLE] with retry_after;
}
