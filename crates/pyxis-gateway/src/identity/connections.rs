//! Programs that act as an agent with OAuth tokens of their own (`docs/reference/mcp.md#authorization`).
//!
//! For connectors that cannot send an agent key. The program sends a person to the consent page, the person chooses an
//! agent, and the program exchanges the code that it gets for tokens. An access token is good at the MCP server only,
//! and there it is the agent: its limits, its credentials, its audit trail.

mod client;
mod client_authentication;
mod client_document;
mod client_refusal;
mod consent;
mod endpoints;
mod metadata;
mod protocol_error;
mod registration;
mod request_body;
pub mod run_tokens;
mod token_form;
mod tokens;

pub use client::OauthClient;
pub use consent::{AuthorizationQuery, AuthorizationRequest, RefusedAuthorization, allow, validate};
pub use endpoints::router;
pub use metadata::{SCOPE, resource_metadata_url};
pub use tokens::is_access_token;
