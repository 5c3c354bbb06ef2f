//! Use of stored credentials: requests before they are sent, tokens, signatures, MCP servers, the outbound request,
//! redaction and audit records.
//!
//! Requests are here because this is below [`crate::approvals`], which sends approved ones through the same functions.

pub(crate) mod kinds;
pub(crate) mod mcp_servers;
pub(crate) mod outbound;
pub(crate) mod outcome;
pub(crate) mod records;
pub(crate) mod redaction;
pub(crate) mod requests;
pub(crate) mod search_strings;
pub mod signing;
pub(crate) mod signing_keys;
pub(crate) mod token_endpoint;
pub(crate) mod tokens;
