//! Permissions of the tools of MCP servers, next to the policy of their credential.
//!
//! Deny rules and rules that always ask hold as everywhere. Otherwise the tool's own permission decides, because all
//! tools of a server share one URL and one method.

use pyxis_core::policy::{Decision, PolicyVerdict, Rule};
use pyxis_core::target::Target;
use pyxis_store::Store;
use pyxis_store::approvals::ApprovalRow;
use pyxis_store::mcp_tools::{self, McpToolRow, ToolMode};
use serde_json::Value;

use crate::credentials::requests::authorization::{Authorization, Matched};
use crate::credentials::requests::entry_point::EntryPoint;
use crate::credentials::requests::validated_request::ValidatedRequest;
use crate::error::{Error, Result};
use crate::runtime::resolve::ResolvedCredential;
use crate::runtime::stored::StoredRequest;

/// Refusal of a request that was approved for another server.
const MOVED: &str = "the credential now belongs to another MCP server, or to none";

/// Applies the permission of the called tool. `None` for a credential of an ordinary API.
pub(crate) async fn apply(
    store: &Store,
    asked: &ValidatedRequest<'_>,
    decision: &Decision<'_>,
) -> Result<Option<Authorization>> {
    let tool = EntryPoint::from_request(asked.head).and_then(|entry_point| entry_point.tool.as_deref());
    let row = &asked.credential.row;
    match (&asked.credential.options.mcp_url, tool) {
        (None, None) => Ok(None),
        (Some(url), Some(tool)) if is_same(url, &asked.target.to_string()) => {
            let found = mcp_tools::find(store, row.workspace_id, row.id, tool).await?;
            Ok(Some(of_tool(tool, found.as_ref(), decision)))
        }
        (_, Some(_)) => {
            Err(Error::InvalidTarget(format!("{} is no longer the credential of this MCP server", row.name)))
        }
        (Some(_), None) => Err(Error::InvalidTarget(format!(
            "{} is the credential of an MCP server; call its tools at /mcp",
            row.name
        ))),
    }
}

fn of_tool(name: &str, tool: Option<&McpToolRow>, decision: &Decision<'_>) -> Authorization {
    let always_asks = decision.verdict == PolicyVerdict::RequireApproval
        && matches!(decision.rule, Rule::RequireUrl | Rule::RequireMethod);
    let rule = |rule| Matched { rule, pattern: Some(name.to_owned()) };
    match tool {
        Some(tool) if tool.mode == ToolMode::Deny => Authorization::Deny { pattern: Some(name.to_owned()) },
        _ if always_asks => Authorization::RequireApproval(decision.into()),
        Some(tool) if tool.has_changed() => Authorization::RequireApproval(rule(Rule::ToolChanged)),
        Some(tool) if tool.mode == ToolMode::Pass => Authorization::Allow(rule(Rule::Tool)),
        _ => Authorization::RequireApproval(rule(Rule::Tool)),
    }
}

/// Checks again that an approved request may be sent. The credential is still one of this server, or still one of
/// none, and the tool is not denied.
pub(crate) async fn recheck(
    store: &Store,
    row: &ApprovalRow,
    credential: &ResolvedCredential,
    request: &StoredRequest,
) -> Result<()> {
    let was_tool = row.rule.is(Rule::Tool) || row.rule.is(Rule::ToolChanged);
    let Some(url) = &credential.options.mcp_url else {
        return if was_tool { Err(Error::NoLongerAllowed(MOVED)) } else { Ok(()) };
    };
    let Some(tool) = called(&request.body).filter(|_| is_same(url, &request.target)) else {
        return Err(Error::NoLongerAllowed(MOVED));
    };
    let found = mcp_tools::find(store, row.workspace_id, row.credential_id, &tool).await?;
    match found {
        Some(found) if found.mode == ToolMode::Deny => Err(Error::NoLongerAllowed("the tool is now denied")),
        _ => Ok(()),
    }
}

/// Name of the tool that a message calls.
fn called(body: &[u8]) -> Option<String> {
    let message: Value = serde_json::from_slice(body).ok()?;
    (message["method"] == "tools/call").then(|| message["params"]["name"].as_str().map(str::to_owned))?
}

/// True if the URL of a server and a canonical target are the same.
fn is_same(url: &str, target: &str) -> bool {
    Target::parse(url).is_ok_and(|parsed| parsed.to_string() == target)
}

#[cfg(test)]
mod tests {
    use pyxis_core::approval_mode::ApprovalMode;
    use pyxis_core::clock::UnixMillis;
    use pyxis_core::entropy::SeededEntropy;
    use pyxis_core::id::{CredentialId, WorkspaceId};
    use pyxis_core::policy::{self, Method, Policy};

    use super::*;

    fn tool(mode: ToolMode, allowed: Option<&str>) -> McpToolRow {
        let (now, entropy) = (UnixMillis(0), SeededEntropy::new(1));
        McpToolRow {
            workspace_id: WorkspaceId::new(now, &entropy),
            credential_id: CredentialId::new(now, &entropy),
            name: "search".to_owned(),
            mode,
            seen_fingerprint: "two".to_owned(),
            seen_definition: "{}".to_owned(),
            seen_at: now,
            offered: true,
            allowed_fingerprint: allowed.map(str::to_owned),
            allowed_definition: None,
        }
    }

    /// Verdict and rule for a POST under a policy.
    fn decide(tool: Option<&McpToolRow>, policy: &str) -> String {
        let target = Target::parse("https://mcp.example.com/mcp").unwrap();
        let compiled = Policy::from_json(policy.as_bytes()).unwrap().compile();
        let decision = policy::evaluate(Some(&compiled), ApprovalMode::Gated, Method::Post, &target);
        match of_tool("search", tool, &decision) {
            Authorization::Allow(matched) => format!("allow {}", matched.rule.as_str()),
            Authorization::RequireApproval(matched) => format!("ask {}", matched.rule.as_str()),
            Authorization::Deny { .. } => "deny".to_owned(),
        }
    }

    #[test]
    fn only_a_tool_that_passes_as_it_was_read_is_sent_at_once() {
        for (mode, allowed, expected) in [
            (ToolMode::Pass, Some("two"), "allow tool"),
            (ToolMode::Pass, Some("one"), "ask tool_changed"),
            (ToolMode::Ask, Some("two"), "ask tool"),
            (ToolMode::Ask, None, "ask tool"),
            (ToolMode::Ask, Some("one"), "ask tool_changed"),
            (ToolMode::Deny, Some("one"), "deny"),
        ] {
            assert_eq!(decide(Some(&tool(mode, allowed)), "{}"), expected, "{mode:?} {allowed:?}");
        }
        assert_eq!(decide(None, r#"{"auto_approve_methods": ["POST"]}"#), "ask tool");
    }

    #[test]
    fn a_rule_that_always_asks_holds_before_a_tool_that_passes() {
        let passes = tool(ToolMode::Pass, Some("two"));
        for (policy, expected) in [
            (r#"{"require_approval_methods": ["POST"]}"#, "ask require_method"),
            (r#"{"require_approval_urls": ["/mcp"]}"#, "ask require_url"),
            (r#"{"auto_approve_methods": ["POST"]}"#, "allow tool"),
        ] {
            assert_eq!(decide(Some(&passes), policy), expected, "{policy}");
        }
    }
}
