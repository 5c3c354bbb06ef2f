//! Refusal of requests beyond the quotas of an agent or workspace.

use http::HeaderValue;
use http::header::RETRY_AFTER;
use pyxis_http::Problem;
use pyxis_store::approvals::NoRoom;

use super::kinds;

/// The problem with the name of the quota, its limit and the agent's next step.
pub(super) fn problem(full: NoRoom, said: String) -> Problem {
    const DECIDE: &str = "ask your person to decide pending requests";
    const WAIT: &str = "try again later: kept requests and responses are deleted a day after their decision; your \
         person can also raise the quota";
    let (quota, limit, action) = match full {
        NoRoom::AgentPending(limit) => ("agent_pending", limit, DECIDE),
        NoRoom::WorkspacePending(limit) => ("workspace_pending", limit, DECIDE),
        NoRoom::AgentBytes(limit) => ("agent_kept_bytes", limit, WAIT),
        NoRoom::WorkspaceBytes(limit) => ("workspace_kept_bytes", limit, WAIT),
    };
    refusal(quota, limit, said, action)
}

/// The problem of an agent that has all the open WebSockets it may have.
pub(super) fn websockets(max: u32, said: String) -> Problem {
    const CLOSE: &str = "close a WebSocket that you no longer need, then try again";
    refusal("agent_websockets", max.into(), said, CLOSE)
}

fn refusal(quota: &'static str, limit: i64, said: String, action: &'static str) -> Problem {
    Problem::from_kind(kinds::QUOTA_EXCEEDED, said)
        .with_member("quota", quota)
        .with_member("limit", limit)
        .with_header(RETRY_AFTER, HeaderValue::from_static("60"))
        .with_member("agent_action", action)
}
