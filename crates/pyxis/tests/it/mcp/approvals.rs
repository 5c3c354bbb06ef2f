//! Calls that wait for a person.

use std::time::Duration;

use pyxis_testkit::engines;
use pyxis_testkit::postgres::Database;
use pyxis_testkit::upstream::Reply;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::client::{Mcp, forwarded, text};
use crate::support::{Setup, Site, until};

/// A site whose calls do not wait for people.
pub(super) async fn impatient(setup: Setup) -> Site {
    Site::with(setup.env("PX_MCP_WAIT_SECS", "0")).await
}

pub(super) fn txn(result: &Value) -> String {
    result["structuredContent"]["txn_id"].as_str().unwrap_or_else(|| panic!("no txn_id: {result}")).to_owned()
}

/// The only request that waits for a person.
pub(super) async fn waiting(site: &Site) -> String {
    until("a request waits", async || {
        let listed = site.owner.client.get("/approvals").send().await.json();
        let first = listed["approvals"].as_array().and_then(|all| all.first().cloned());
        first.map(|row| row["txn_id"].as_str().unwrap().to_owned())
    })
    .await
}

engines! {
    async fn a_call_is_held_until_a_person_decides_and_gets_the_response(setup: Setup) {
        let site = Site::with(setup).await;
        let mcp = Mcp::new(&site);
        let arguments = forwarded(&site, "POST", "/things");
        let call = tokio::spawn(async move { mcp.tool("call", arguments).await });
        let txn = waiting(&site).await;
        site.owner.approve(&txn).await;
        let result = call.await.unwrap();
        assert_eq!(result["structuredContent"]["status"], 200, "{result}");
        let [request] = site.upstream.received(1).await.try_into().unwrap();
        assert_eq!(request.text(), "{\"title\":\"a body to approve\"}");
        assert_eq!(request.header("content-type"), Some("application/json"));
    }

    async fn a_call_that_a_person_edited_says_what_they_changed(setup: Setup) {
        let site = impatient(setup).await;
        let mcp = Mcp::new(&site);
        let edit = json!({"edit": {"body": "{\"title\":\"edited\"}"}});
        let told = |result: &Value| {
            let patch = &result["structuredContent"]["edited"]["difference"]["body_patch"];
            assert_eq!(patch[0]["value"], "edited", "{result}");
            assert!(text(result).contains("200"), "{result}");
            assert!(result["content"].to_string().contains("A person edited this request"), "{result}");
        };
        let first = txn(&mcp.forward(&site, "POST", "/things").await);
        site.owner.approve_with(&first, &edit).await;
        site.agent.outcome(&first).await;
        told(&mcp.tool("wait", json!({"txn_id": first})).await);
        // The same while the call is held.
        let site = Site::with(Setup::new()).await;
        let mcp = Mcp::new(&site);
        let arguments = forwarded(&site, "POST", "/held");
        let call = tokio::spawn(async move { mcp.tool("call", arguments).await });
        let txn = waiting(&site).await;
        site.owner.approve_with(&txn, &edit).await;
        told(&call.await.unwrap());
        assert_eq!(site.upstream.received(1).await[0].text(), "{\"title\":\"edited\"}");
    }

    async fn a_pending_call_says_where_people_were_asked_as_the_poll_does(setup: Setup) {
        let site = impatient(setup).await;
        let mcp = Mcp::new(&site);
        let escalation = json!([{"after_minutes": 10, "people": "eligible"}]);
        site.policy(&json!({"channel": "slack", "slack_channel": "C0OPS", "escalation": escalation})).await;
        let called = mcp.forward(&site, "POST", "/things").await;
        let txn = txn(&called);
        let polled = site.agent.poll(&txn).await;
        assert_eq!((&polled["asked"][0]["channel"], &polled["asked"][0]["kind"]), (&json!("slack"), &json!("room")));
        assert!(polled["next_step_at"].is_string(), "{polled}");
        let again = mcp.forward(&site, "POST", "/things").await;
        let waited = mcp.tool("wait", json!({"txn_id": txn})).await;
        for result in [called, again, waited] {
            let told = &result["structuredContent"];
            assert_eq!((&told["asked"], &told["next_step_at"]), (&polled["asked"], &polled["next_step_at"]), "{result}");
            let next = polled["next_step_at"].as_str().unwrap();
            let words = format!("Pyxis asked: a room on slack. It asks more people or another room at {next}.");
            assert!(text(&result).ends_with(&words), "{result}");
            assert!(!result.to_string().contains("C0OPS"), "{result}");
        }
    }

    async fn a_pending_call_that_nobody_was_asked_about_says_so_with_an_empty_list(setup: Setup) {
        let site = impatient(setup).await;
        let called = Mcp::new(&site).forward(&site, "POST", "/things").await;
        assert_eq!(called["structuredContent"]["asked"], json!([]), "{called}");
        assert!(called["structuredContent"]["next_step_at"].is_null() && !text(&called).contains("Pyxis asked"), "{called}");
    }

    async fn a_denied_call_tells_the_model_so(setup: Setup) {
        let site = impatient(setup).await;
        let mcp = Mcp::new(&site);
        let txn = txn(&mcp.forward(&site, "POST", "/things").await);
        site.owner.deny(&txn, "not today").await;
        let result = mcp.tool("wait", json!({"txn_id": txn})).await;
        assert_eq!((&result["isError"], &result["structuredContent"]["code"]), (&json!(true), &json!("approval_denied")));
        assert!(text(&result).contains("not today"), "{result}");
        assert_eq!(site.upstream.requests().len(), 0);
    }

    async fn the_same_call_joins_the_pending_request_and_gets_a_missed_response_once(setup: Setup) {
        let site = impatient(setup).await;
        let mcp = Mcp::new(&site);
        let first = mcp.forward(&site, "POST", "/things").await;
        assert_eq!(first["structuredContent"]["outcome"], "pending", "{first}");
        assert!(text(&first).contains("/approve/"), "{first}");
        let txn = txn(&first);
        // Some programs show a model only the data.
        let next = first["structuredContent"]["next"].as_str().unwrap();
        assert_eq!(next, text(&first));
        assert!(next.contains(&format!("Then call `wait` with txn_id {txn}")), "{next}");
        assert_eq!(self::txn(&mcp.forward(&site, "POST", "/things").await), txn);
        site.owner.approve(&txn).await;
        site.agent.outcome(&txn).await;
        let missed = mcp.forward(&site, "POST", "/things").await;
        assert_eq!(missed["structuredContent"]["status"], 200, "{missed}");
        let next = mcp.forward(&site, "POST", "/things").await;
        assert_ne!(self::txn(&next), txn, "a third call is a new request");
        assert_eq!(site.upstream.requests().len(), 1);
    }

    async fn a_call_survives_a_restart_between_question_and_answer(setup: Setup) {
        let mut site = impatient(setup).await;
        let mcp = Mcp::new(&site);
        let txn = txn(&mcp.forward(&site, "POST", "/things").await);
        site.app.kill().await;
        site.app.serve();
        site.owner.approve(&txn).await;
        site.agent.outcome(&txn).await;
        let result = mcp.forward(&site, "POST", "/things").await;
        assert_eq!(result["structuredContent"]["status"], 200, "{result}");
        assert_eq!(site.upstream.requests().len(), 1);
    }

    async fn a_state_that_a_client_carries_survives_a_restart(setup: Setup) {
        let mut site = impatient(setup).await;
        let mcp = Mcp::new(&site).able(json!({"elicitation": {"url": {}}}));
        let arguments = forwarded(&site, "POST", "/things");
        let asked = mcp.tool("call", arguments.clone()).await;
        let page = asked["inputRequests"]["approval"]["params"]["url"].as_str().unwrap();
        let txn = page.rsplit('/').next().unwrap().to_owned();
        site.app.kill().await;
        site.app.serve();
        site.owner.approve(&txn).await;
        site.agent.outcome(&txn).await;
        let retried = mcp.result("tools/call", &json!({
            "name": "call", "arguments": arguments, "requestState": asked["requestState"],
            "inputResponses": {"approval": {"action": "accept"}},
        })).await;
        assert_eq!(retried["structuredContent"]["status"], 200, "{retried}");
        assert_eq!(site.upstream.requests().len(), 1);
    }

    async fn a_call_whose_response_is_lost_with_the_server_is_told_so_and_is_not_sent_again(setup: Setup) {
        let mut site = impatient(setup).await;
        let (reply, _release) = Reply::ok("late").hold();
        site.upstream.reply(reply);
        let mcp = Mcp::new(&site);
        let txn = txn(&mcp.forward(&site, "POST", "/things").await);
        site.owner.approve(&txn).await;
        site.upstream.received(1).await;
        site.app.kill().await;
        site.app.serve();
        // The same call gets the outcome that nobody heard of, and so does the tool that waits for it.
        let again = mcp.forward(&site, "POST", "/things").await;
        let waited = mcp.tool("wait", json!({"txn_id": txn})).await;
        for told in [again, waited] {
            let code = &told["structuredContent"]["code"];
            assert_eq!((&told["isError"], code), (&json!(true), &json!("outcome_unknown")), "{told}");
            assert!(text(&told).contains("may have been executed"), "{told}");
        }
        assert_eq!(site.upstream.requests().len(), 1);
    }

    async fn a_call_that_is_held_when_the_server_dies_is_answered_by_the_same_call_after_a_restart(setup: Setup) {
        let mut site = Site::with(setup).await;
        let mcp = Mcp::new(&site);
        let arguments = forwarded(&site, "POST", "/things");
        let call = mcp.request("tools/call", &json!({"name": "call", "arguments": arguments}));
        let held = tokio::spawn(call.attempt());
        let txn = waiting(&site).await;
        site.app.kill().await;
        assert!(held.await.unwrap().is_none(), "it was held");
        site.app.serve();
        site.owner.approve(&txn).await;
        let result = mcp.tool("call", arguments).await;
        assert_eq!(result["structuredContent"]["status"], 200, "{result}");
        assert_eq!(site.upstream.requests().len(), 1);
    }

    async fn a_withdrawn_request_is_not_held_against_the_next_call(setup: Setup) {
        let site = impatient(setup).await;
        let mcp = Mcp::new(&site);
        let first = txn(&mcp.forward(&site, "POST", "/things").await);
        mcp.tool("withdraw", json!({"txn_id": first})).await;
        let next = mcp.forward(&site, "POST", "/things").await;
        assert_ne!(txn(&next), first, "the agent knows that it withdrew: {next}");
        site.agent.withdraw(&txn(&next)).await.expect(204);
        assert_ne!(txn(&mcp.forward(&site, "POST", "/things").await), txn(&next));
    }

    async fn what_was_delivered_by_wait_is_not_delivered_again(setup: Setup) {
        let site = impatient(setup).await;
        let mcp = Mcp::new(&site);
        let txn = txn(&mcp.forward(&site, "POST", "/things").await);
        site.owner.approve(&txn).await;
        site.agent.outcome(&txn).await;
        assert_eq!(mcp.tool("wait", json!({"txn_id": txn})).await["structuredContent"]["status"], 200);
        assert_ne!(self::txn(&mcp.forward(&site, "POST", "/things").await), txn);
    }

    async fn a_plain_forward_never_gets_what_a_call_missed(setup: Setup) {
        let site = impatient(setup).await;
        let txn = txn(&Mcp::new(&site).forward(&site, "POST", "/things").await);
        site.owner.approve(&txn).await;
        site.agent.outcome(&txn).await;
        let body = json!({"title": "a body to approve"}).to_string();
        let asked = site.forward("POST", "/things").body(body).send().await;
        assert_ne!(asked.txn(), txn);
    }
}

#[tokio::test]
async fn a_call_that_comes_while_its_twin_is_decided_gets_that_outcome_in_postgres() {
    let site = impatient(Setup::on(Database::migrated("a twin is decided").await)).await;
    let mcp = Mcp::new(&site);
    let txn = txn(&mcp.forward(&site, "POST", "/things").await);
    site.owner.approve(&txn).await;
    site.agent.outcome(&txn).await;
    let database = site.app.postgres();
    // The call finds neither a pending twin nor an outcome, and waits before it is stored. Then the outcome is there.
    let [dedupe] = database.run("SELECT dedupe FROM undelivered_outcomes").await.try_into().unwrap();
    database.run("UPDATE undelivered_outcomes SET dedupe = 'other'").await;
    let held = database.hold("SELECT 1 FROM agents FOR UPDATE").await;
    let (arguments, caller) = (forwarded(&site, "POST", "/things"), Mcp::new(&site));
    let call = tokio::spawn(async move { caller.tool("call", arguments).await });
    database.until_one_waits().await;
    database.run(&format!("UPDATE undelivered_outcomes SET dedupe = '{dedupe}'")).await;
    held.release().await;
    let result = call.await.unwrap();
    assert_eq!(result["structuredContent"]["status"], 200, "{result}");
    let listed = site.owner.client.get("/approvals").send().await.json();
    assert_eq!(listed["approvals"].as_array().map(Vec::len), Some(1), "nobody is asked again: {listed}");
    assert_eq!(site.upstream.requests().len(), 1);
}

#[tokio::test]
async fn a_call_is_held_for_as_long_as_configured_and_is_then_pending() {
    let site = Site::new_with_env("PX_MCP_WAIT_SECS", "1").await;
    let mcp = Mcp::new(&site);
    let began = Instant::now();
    let result = mcp.forward(&site, "POST", "/things").await;
    let held = began.elapsed();
    assert_eq!(result["structuredContent"]["outcome"], "pending", "{result}");
    assert!((Duration::from_secs(1)..Duration::from_secs(30)).contains(&held), "{held:?}");
    let began = Instant::now();
    let waited = mcp.tool("wait", json!({"txn_id": txn(&result)})).await;
    assert_eq!(waited["structuredContent"]["outcome"], "pending", "{waited}");
    assert!(began.elapsed() >= Duration::from_secs(1));
}

#[tokio::test]
async fn a_withdrawn_request_expires_and_is_not_sent() {
    let site = impatient(Setup::new()).await;
    let mcp = Mcp::new(&site);
    let txn = txn(&mcp.forward(&site, "POST", "/things").await);
    let result = mcp.tool("withdraw", json!({"txn_id": txn})).await;
    assert_eq!(result["isError"], false, "{result}");
    assert_eq!(site.agent.poll(&txn).await["status"], "expired");
    let waited = mcp.tool("wait", json!({"txn_id": txn})).await;
    assert_eq!(
        waited["structuredContent"]["detail"], "You withdrew this request. Nothing was sent.",
        "{waited}"
    );
    let again = mcp.tool("withdraw", json!({"txn_id": txn})).await;
    assert_eq!(again["isError"], true, "{again}");
}

#[tokio::test]
async fn a_client_that_opens_pages_is_asked_to_and_carries_a_state_that_is_not_trusted() {
    let site = impatient(Setup::new()).await;
    let mcp = Mcp::new(&site).able(json!({"elicitation": {"url": {}}}));
    let arguments = forwarded(&site, "POST", "/things");
    let asked = mcp.tool("call", arguments.clone()).await;
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let page = asked["inputRequests"]["approval"]["params"]["url"].as_str().unwrap();
    let txn = page.rsplit('/').next().unwrap().to_owned();
    let state = asked["requestState"].as_str().unwrap();
    let answered = json!({"approval": {"action": "accept"}});
    let retried = async |mcp: &Mcp, arguments: &Value, state: &str| {
        let params = json!({
            "name": "call", "arguments": arguments, "inputResponses": answered, "requestState": state,
        });
        super::client::message_of(&mcp.request("tools/call", &params).send().await)
    };
    // Saying that the page was opened decides nothing.
    let early = retried(&mcp, &arguments, state).await;
    assert_eq!(early["result"]["structuredContent"]["outcome"], "pending", "{early}");
    assert_eq!(site.upstream.requests().len(), 0);

    let mut other = arguments.clone();
    other["body"] = json!({"title": "another body"});
    let added = site.owner.add_agent(&json!({"name": "second"})).await;
    let stranger =
        Mcp::for_key(&site.app, added["key"].as_str().unwrap()).able(json!({"elicitation": {"url": {}}}));
    // In the middle: the last character may hold bits that nobody reads.
    let (before, after) = state.split_at(state.len() / 2);
    let other_letter = if after.starts_with('A') { "B" } else { "A" };
    let tampered = format!("{before}{other_letter}{}", &after[1..]);
    for (mcp, arguments, state) in [
        (&mcp, &other, state),
        (&stranger, &arguments, state),
        (&mcp, &arguments, tampered.as_str()),
        (&mcp, &arguments, "x"),
    ] {
        let refused = retried(mcp, arguments, state).await;
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
    site.owner.approve(&txn).await;
    site.agent.outcome(&txn).await;
    let done = retried(&mcp, &arguments, state).await;
    assert_eq!(done["result"]["structuredContent"]["status"], 200, "{done}");
    assert_eq!(site.upstream.requests().len(), 1);
}

#[tokio::test]
async fn the_transaction_of_another_agent_is_unknown() {
    let site = impatient(Setup::new()).await;
    let txn = txn(&Mcp::new(&site).forward(&site, "POST", "/things").await);
    let added = site.owner.add_agent(&json!({"name": "second"})).await;
    let stranger = Mcp::for_key(&site.app, added["key"].as_str().unwrap());
    for tool in ["wait", "withdraw"] {
        let result = stranger.tool(tool, json!({"txn_id": txn})).await;
        assert_eq!(
            (&result["isError"], &result["structuredContent"]["code"]),
            (&json!(true), &json!("not_found")),
            "{result}"
        );
    }
    assert_eq!(site.agent.poll(&txn).await["status"], "pending");
    site.owner.approve(&txn).await;
    site.agent.outcome(&txn).await;
    stranger.tool("wait", json!({"txn_id": txn})).await;
    let missed = Mcp::new(&site).forward(&site, "POST", "/things").await;
    assert_eq!(missed["structuredContent"]["status"], 200, "a stranger takes nothing away: {missed}");
}
