//! Readable form of a call to a tool of an MCP server.

use pyxis_core::policy::Rule;
use pyxis_gateway::approvals::view::ApprovalView;
use serde_json::Value;

use crate::text;
use crate::view::approvals::ToolCall;

/// `None` for any other request, and if the body is not available.
pub(super) fn of(view: &ApprovalView) -> Option<ToolCall> {
    let row = &view.row;
    if !row.rule.is(Rule::Tool) && !row.rule.is(Rule::ToolChanged) {
        return None;
    }
    let message: Value = serde_json::from_slice(view.body.as_ref()?).ok()?;
    let arguments = message["params"]["arguments"].as_object().into_iter().flatten();
    let shown = arguments.map(|(name, value)| {
        let value = match value {
            Value::String(text) => text::visible(text),
            other => text::visible(&other.to_string()),
        };
        (text::visible(name), value)
    });
    Some(ToolCall {
        tool: text::visible(message["params"]["name"].as_str()?),
        arguments: shown.collect(),
        changed: row.rule.is(Rule::ToolChanged),
    })
}
