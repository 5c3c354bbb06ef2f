//! The MCP server (`docs/reference/mcp.md`), spoken to as clients of three protocol versions do.

mod approvals;
mod client;
mod protocol;
mod stdio;
mod tools;
