//! An agent request before it is sent: control headers, limits, idempotency and authorization.

pub(crate) mod authorization;
pub(crate) mod authorize;
pub(crate) mod body;
pub(crate) mod caller;
pub(crate) mod content;
pub(crate) mod control;
pub(crate) mod entry_point;
pub(crate) mod handshake;
pub(crate) mod idempotency;
pub(crate) mod limits;
pub(crate) mod presence;
pub(crate) mod task_use;
pub(crate) mod tool_key;
pub(crate) mod tool_rules;
pub(crate) mod validated_request;
