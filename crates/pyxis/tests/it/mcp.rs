//! The MCP server (`docs/reference/mcp.md`), spoken to as clients of three protocol versions do.

mod approvals;
mod client;
mod hostile;
mod long_responses;
mod protocol;
mod proxied;
mod stdio;
mod tools;
