//! Readable form of a call to a tool of an MCP server.

use pyxis_core::policy::Rule;
use pyxis_gateway::agent_tools::message;
use pyxis_gateway::approvals::view::ApprovalView;
use serde_json::Value;

use crate::text;
use crate::view::approvals::ToolCall;

/// `None` for any other request, and if the body is not available. A request that only looks like a call is shown as
/// what it says; the whole body stands below.
pub(super) fn from_view(view: &ApprovalView) -> Option<ToolCall> {
    let called: Value = serde_json::from_slice(view.body.as_ref()?).ok()?;
    if called["id"] != message::ID || called["method"] != "tools/call" {
        return None;
    }
    let arguments = called["params"]["arguments"].as_object().into_iter().flatten();
    let shown = arguments.map(|(name, value)| {
        let value = match value {
            Value::String(text) => text::visible(text),
            other => text::visible(&other.to_string()),
        };
        (text::visible(name), value)
    });
    Some(ToolCall {
        tool: text::visible(called["params"]["name"].as_str()?),
        arguments: shown.collect(),
        changed: view.row.rule.is(Rule::ToolChanged),
        is_certain: view.row.rule.is(Rule::Tool) || view.row.rule.is(Rule::ToolChanged),
    })
}
