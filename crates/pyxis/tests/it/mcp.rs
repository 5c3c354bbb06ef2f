//! The MCP server (`docs/reference/mcp.md`), spoken to as clients of three protocol versions do.

mod approvals;
mod authorization;
mod browser_clients;
mod certificates;
mod client;
mod client_documents;
mod command_line;
mod direct;
mod hostile;
mod long_responses;
mod oauth_attacks;
mod oauth_client;
mod proposed_tasks;
mod protocol;
mod proxied;
mod request_state;
mod session_client;
mod session_pages;
mod sessions;
mod stdio;
mod tasks;
mod tools;
