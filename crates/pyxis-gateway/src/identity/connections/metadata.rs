//! Documents by which a client finds the authorization endpoints. Every URL comes from the configured base URL, never
//! from the request: a spoofed `Host` must not send a client to another server.

use serde_json::{Value, json};

use crate::config::Config;

/// The one scope: use of the MCP server as an agent.
pub const SCOPE: &str = "mcp";

/// The URL of the MCP server, which is the audience of every token.
pub(crate) fn resource(config: &Config) -> String {
    format!("{}/mcp", config.base_url)
}

/// The URL of the protected resource's metadata (RFC 9728).
pub fn resource_metadata_url(config: &Config) -> String {
    format!("{}/.well-known/oauth-protected-resource/mcp", config.base_url)
}

/// Metadata of the MCP server (RFC 9728).
pub(super) fn protected_resource(config: &Config) -> Value {
    json!({
        "resource": resource(config),
        "resource_name": "Pyxis",
        "authorization_servers": [config.base_url],
        "scopes_supported": [SCOPE],
        "bearer_methods_supported": ["header"],
    })
}

/// Metadata of the authorization server (RFC 8414).
pub(super) fn authorization_server(config: &Config) -> Value {
    let base = &config.base_url;
    let methods = json!(["none", "client_secret_post", "client_secret_basic"]);
    json!({
        "issuer": base,
        "authorization_endpoint": format!("{base}/oauth/authorize"),
        "token_endpoint": format!("{base}/oauth/token"),
        "revocation_endpoint": format!("{base}/oauth/revoke"),
        "registration_endpoint": format!("{base}/oauth/register"),
        "scopes_supported": [SCOPE],
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": methods,
        "revocation_endpoint_auth_methods_supported": methods,
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": true,
        "client_id_metadata_document_supported": true,
        "protected_resources": [resource(config)],
    })
}
