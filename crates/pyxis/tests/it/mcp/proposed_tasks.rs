//! Tasks that an agent proposes by the tool `propose_task`.

use pyxis_testkit::engines;
use serde_json::{Value, json};

use super::approvals::impatient;
use super::client::{Mcp, text};
use crate::support::Setup;

engines! {
    async fn a_proposed_task_is_waited_for_and_then_covers_calls_that_meet_its_conditions(setup: Setup) {
        let site = impatient(setup).await;
        let mcp = Mcp::new(&site);
        let action = json!({
            "credential": "api", "method": "POST", "url": site.upstream.url("/things"),
            "content": ["json /title = \"a body to approve\""], "max_uses": 2,
        });
        let proposal = json!({"purpose": "Tidy the things", "actions": [action], "minutes": 5});
        let proposed = mcp.tool("propose_task", proposal.clone()).await;
        let task = proposed["structuredContent"]["task_id"].as_str().unwrap().to_owned();
        assert!(text(&proposed).contains("Show your user this page"), "{proposed}");
        let approve = site.owner.client.post(&format!("/tasks/{task}/approve"), &json!({}));
        approve.send().await.expect(200);
        let approved = mcp.tool("wait", json!({"txn_id": task})).await;
        let line = format!("POST {} with `api`: 2 of 2 left", site.upstream.url("/things"));
        assert!(text(&approved).contains(&line), "{approved}");
        assert!(text(&approved).contains("only with `json /title = \"a body to approve\"`"), "{approved}");
        let sent = mcp.forward(&site, "POST", "/things").await;
        assert_eq!(sent["structuredContent"]["status"], 200, "{sent}");
        let call = json!({
            "credential": "api", "method": "POST", "url": site.upstream.url("/things"), "body": {"title": "another"},
        });
        mcp.tool("call", call).await;
        assert_eq!(site.upstream.requests().len(), 1, "another body needs approval");
        let mut wrong = proposal;
        wrong["actions"][0]["content"] = json!(["json title"]);
        let refused = mcp.tool("propose_task", wrong).await;
        assert_eq!(refused["isError"], Value::Bool(true), "{refused}");
        assert!(refused.to_string().contains("actions[0].content"), "{refused}");
    }
}
