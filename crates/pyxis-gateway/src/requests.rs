//! An agent request before it is sent: control headers, limits, idempotency and authorization.

pub(crate) mod authorize;
pub(crate) mod body;
pub(crate) mod content;
pub(crate) mod control;
pub(crate) mod entry_point;
pub(crate) mod idempotency;
pub(crate) mod limits;
pub(crate) mod validated_request;
