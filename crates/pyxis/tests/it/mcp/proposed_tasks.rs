//! Tasks that an agent proposes by the tool `propose_task`.

use pyxis_testkit::engines;
use serde_json::{Value, json};

use super::approvals::impatient;
use super::client::{Mcp, text};
use crate::support::Setup;

engines! {
    async fn a_proposed_task_says_where_people_were_asked_while_it_is_pending(setup: Setup) {
        let site = impatient(setup).await;
        let mcp = Mcp::new(&site);
        site.policy(&json!({"channel": "slack", "slack_channel": "C0OPS"})).await;
        let action = json!({"credential": "api", "method": "POST", "url": site.upstream.url("/things"), "max_uses": 2});
        let proposal = json!({"purpose": "Tidy the things", "actions": [action], "minutes": 5});
        let proposed = mcp.tool("propose_task", proposal).await;
        let task = proposed["structuredContent"]["task_id"].as_str().unwrap().to_owned();
        let waited = mcp.tool("wait", json!({"txn_id": task})).await;
        for result in [&proposed, &waited] {
            let asked = &result["structuredContent"]["asked"];
            assert_eq!((&asked[0]["channel"], &asked[0]["kind"]), (&json!("slack"), &json!("room")), "{result}");
            assert!(text(result).ends_with("Pyxis asked: a room on slack."), "{result}");
            assert!(!result.to_string().contains("C0OPS"), "{result}");
        }
        site.owner.client.post(&format!("/tasks/{task}/approve"), &json!({})).send().await.expect(200);
        let approved = mcp.tool("wait", json!({"txn_id": task})).await;
        assert!(!text(&approved).contains("Pyxis asked"), "{approved}");
    }

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
        assert_eq!(proposed["structuredContent"]["next"], text(&proposed), "{proposed}");
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
