//! The approval page in clients of 2025-11-25, which open it while their call is held.

use pyxis_testkit::engines;
use serde_json::{Value, json};

use super::approvals::{impatient, txn, waiting};
use super::client::{Mcp, forwarded, text};
use super::session_client::{Events, begin};
use crate::support::{Setup, Site};

/// A client of 2025-11-25 that opens pages.
async fn page_opener(site: &Site) -> Mcp {
    begin(&Mcp::new(site), "2025-11-25", json!({"elicitation": {"url": {}}})).await
}

/// The stream of a call that waits for a person.
async fn called(site: &Site, mcp: &Mcp) -> Events {
    let arguments = forwarded(site, "POST", "/things");
    Events::open(mcp.request("tools/call", &json!({"name": "call", "arguments": arguments}))).await
}

/// The request to open a page, and its transaction.
async fn page_request(events: &mut Events) -> (Value, String) {
    let request = events.next().await.expect("a request");
    assert_eq!(request["method"], "elicitation/create", "{request}");
    let params = &request["params"];
    assert_eq!(params["mode"], "url", "{request}");
    let page = params["url"].as_str().unwrap();
    let txn = page.rsplit('/').next().unwrap().to_owned();
    assert!(page.contains("/approve/"), "{request}");
    assert_eq!(params["elicitationId"], json!(txn));
    (request, txn)
}

async fn respond(mcp: &Mcp, request: &Value, action: &str) {
    let response = json!({"jsonrpc": "2.0", "id": request["id"], "result": {"action": action}});
    mcp.request_with(&response).send().await.expect(202);
}

engines! {
    async fn a_client_opens_the_page_while_its_call_is_held_and_saying_so_decides_nothing(setup: Setup) {
        let site = Site::with(setup).await;
        let mcp = page_opener(&site).await;
        let mut events = called(&site, &mcp).await;
        let (request, txn) = page_request(&mut events).await;
        respond(&mcp, &request, "accept").await;
        assert_eq!(site.agent.poll(&txn).await["status"], "pending", "only the page decides");
        assert_eq!(site.upstream.requests().len(), 0);
        site.owner.approve(&txn).await;
        let result = events.next().await.expect("a result");
        assert_eq!(result["result"]["structuredContent"]["status"], 200, "{result}");
        assert_eq!(events.next().await, None);
        assert_eq!(site.upstream.requests().len(), 1);
        // It was delivered, so the same call is a new request.
        let (_, next) = page_request(&mut called(&site, &mcp).await).await;
        assert_ne!(next, txn);
    }

    async fn a_client_that_leaves_its_call_or_ends_its_session_gets_the_outcome_with_the_same_call(setup: Setup) {
        let site = Site::with(setup).await;
        for ends_session in [false, true] {
            let mcp = page_opener(&site).await;
            let mut events = called(&site, &mcp).await;
            let (_, txn) = page_request(&mut events).await;
            if ends_session {
                mcp.bare("DELETE").send().await.expect(202);
                assert_eq!(events.next().await, None);
            }
            drop(events);
            site.owner.approve(&txn).await;
            site.agent.outcome(&txn).await;
            let result = called(&site, &page_opener(&site).await).await.next().await.expect("a result");
            assert_eq!(result["result"]["structuredContent"]["status"], 200, "{result}");
        }
        assert_eq!(site.upstream.requests().len(), 2);
    }

    async fn a_call_that_its_client_cancels_leaves_its_outcome_for_the_same_call(setup: Setup) {
        let site = Site::with(setup).await;
        let mcp = page_opener(&site).await;
        let mut events = called(&site, &mcp).await;
        let (_, txn) = page_request(&mut events).await;
        let canceled = json!({
            "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7},
        });
        mcp.request_with(&canceled).send().await.expect(202);
        assert_eq!(events.next().await, None);
        site.owner.approve(&txn).await;
        site.agent.outcome(&txn).await;
        let result = called(&site, &mcp).await.next().await.expect("a result");
        assert_eq!(result["result"]["structuredContent"]["status"], 200, "{result}");
        assert_eq!(site.upstream.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_client_that_declines_the_page_is_held_until_a_person_decides() {
    let site = Site::new().await;
    let mcp = page_opener(&site).await;
    for action in ["decline", "cancel"] {
        let mut events = called(&site, &mcp).await;
        let (request, txn) = page_request(&mut events).await;
        respond(&mcp, &request, action).await;
        assert_eq!(site.agent.poll(&txn).await["status"], "pending");
        site.owner.approve(&txn).await;
        let result = events.next().await.expect("a result");
        assert_eq!(result["result"]["structuredContent"]["status"], 200, "{action}: {result}");
    }
}

#[tokio::test]
async fn a_client_that_opens_pages_gets_the_text_when_the_wait_is_over() {
    let site = Site::with(Setup::new().env("PX_MCP_WAIT_SECS", "1")).await;
    let mut events = called(&site, &page_opener(&site).await).await;
    let (_, txn) = page_request(&mut events).await;
    let result = events.next().await.expect("a result");
    assert!(text(&result["result"]).contains(&txn), "{result}");
}

#[tokio::test]
async fn a_client_that_does_not_declare_it_is_not_asked_to_open_a_page() {
    let site = impatient(Setup::new()).await;
    for (version, capabilities) in [
        ("2025-11-25", json!({})),
        ("2025-11-25", json!({"elicitation": {}})),
        ("2025-11-25", json!({"elicitation": {"form": {}}})),
        ("2025-06-18", json!({"elicitation": {"url": {}}})),
        ("2025-11-25", json!({"extensions": {"io.modelcontextprotocol/tasks": {}}})),
    ] {
        let mcp = begin(&Mcp::new(&site), version, capabilities.clone()).await;
        let mut events = called(&site, &mcp).await;
        let result = events.next().await.expect("a result");
        assert_eq!(result["result"]["structuredContent"]["outcome"], "pending", "{capabilities}: {result}");
    }
}

#[tokio::test]
async fn a_client_without_a_session_gets_the_text() {
    let site = impatient(Setup::new()).await;
    let mcp = page_opener(&site).await;
    // A node that does not know the session knows no capabilities either.
    let elsewhere = mcp.in_session("0f5c8a40-5e3b-4f6c-9a57-2d9d3c2c1b11");
    let result = elsewhere.forward(&site, "POST", "/things").await;
    assert_eq!(result["structuredContent"]["outcome"], "pending", "{result}");
    txn(&result);
}

#[tokio::test]
async fn a_held_call_of_a_client_that_opens_pages_is_one_request_to_people() {
    let site = Site::new().await;
    let mcp = page_opener(&site).await;
    let mut events = called(&site, &mcp).await;
    let (_, txn) = page_request(&mut events).await;
    assert_eq!(waiting(&site).await, txn);
    site.owner.deny(&txn, "not today").await;
    let result = events.next().await.expect("a result");
    assert_eq!(result["result"]["structuredContent"]["code"], "approval_denied", "{result}");
}
