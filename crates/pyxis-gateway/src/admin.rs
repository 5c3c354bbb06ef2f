//! Administration of the proxy. The admin API, the dashboard and the command line all call these functions.

pub mod agents;
pub mod api;
pub mod approval_load;
pub mod approver_count;
pub mod audit;
pub mod callers;
pub mod channels;
pub mod connections;
pub mod credentials;
pub mod deny_all;
mod description;
pub mod dotenv;
pub mod grants;
pub mod mcp_tools;
pub mod passkeys;
pub mod people;
pub mod policies;
pub mod push;
pub mod quiet_hours;
pub mod readiness;
pub mod rights;
pub mod satisfiability;
pub mod sessions;
pub mod staged;
pub mod tokens;
pub mod webhooks;
pub mod workspaces;
