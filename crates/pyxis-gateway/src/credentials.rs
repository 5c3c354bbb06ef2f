//! Use of stored credentials: the requests that name them and what their policies say, tokens, signatures, the outbound request, redaction and audit records.

pub(crate) mod kinds;
pub(crate) mod mcp_servers;
pub(crate) mod outbound;
pub(crate) mod outcome;
pub(crate) mod records;
pub(crate) mod redaction;
pub(crate) mod requests;
pub mod signing;
pub(crate) mod signing_keys;
pub(crate) mod sought;
pub(crate) mod token_endpoint;
pub(crate) mod tokens;
