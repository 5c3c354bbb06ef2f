//! Sessions of older clients: a convenience that any node may lose.

use std::time::Duration;

use pyxis_testkit::engines;
use pyxis_testkit::postgres::Database;
use pyxis_testkit::upstream::Reply;
use serde_json::json;
use tokio::time::timeout;

use super::approvals::waiting;
use super::client::{Mcp, NEWEST, forwarded};
use super::session_client::{Events, begin, begin_plain, handshake};
use crate::support::{PATIENCE, Setup, Site, until};

/// Sessions of one agent.
const PER_AGENT: usize = 32;

#[tokio::test]
async fn a_client_of_an_older_version_begins_a_session_and_one_of_the_newest_never_does() {
    let site = Site::new().await;
    let mcp = Mcp::new(&site);
    for version in ["2025-06-18", "2025-11-25"] {
        let older = begin(&mcp, version, json!({})).await;
        let read = older.forward(&site, "GET", "/things").await;
        assert_eq!(read["structuredContent"]["status"], 200, "{read}");
        let sent = site.forwards().await.pop().unwrap();
        assert_eq!(sent["detail"]["client"], "older 3", "a session says it once: {sent}");
    }
    for version in [NEWEST, "2099-01-01"] {
        let params = json!({
            "protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "newer", "version": "4"},
        });
        let begun = mcp.speaking("2025-11-25").request("initialize", &params).without("mcp-protocol-version");
        assert_eq!(begun.send().await.header("mcp-session-id"), None, "{version}");
    }
    let newest = begin_plain(&mcp).await.speaking(NEWEST);
    let listed = newest.request("tools/list", &json!({})).send().await.expect(200);
    assert_eq!(listed.header("content-type"), Some("application/json"), "{listed:?}");
}

/// A client whose session is not known is served without one.
async fn goes_on(site: &Site, mcp: &Mcp) {
    let read = mcp.forward(site, "GET", "/things").await;
    assert_eq!(read["structuredContent"]["status"], 200, "{read}");
    for method in ["GET", "DELETE"] {
        mcp.bare(method).send().await.expect(404);
    }
}

#[tokio::test]
async fn a_session_of_another_node_ends_no_client_on_postgres() {
    let site = Site::with(Setup::on(Database::migrated("mcp_sessions").await)).await;
    let begun = handshake(&Mcp::new(&site).speaking("2025-11-25"), "2025-11-25", json!({})).await;
    let id = begun.header("mcp-session-id").unwrap();
    let node = site.app.another_node();
    goes_on(&site, &Mcp::at(node.anonymous(), &site.agent.key).speaking("2025-11-25").in_session(id)).await;
}

engines! {
    async fn a_session_that_a_restart_forgets_ends_no_client(setup: Setup) {
        let mut site = Site::with(setup).await;
        let begun = handshake(&Mcp::new(&site).speaking("2025-11-25"), "2025-11-25", json!({})).await;
        let id = begun.header("mcp-session-id").unwrap();
        site.app.kill().await;
        site.app.serve();
        let restarted = Mcp::new(&site).speaking("2025-11-25").in_session(id);
        goes_on(&site, &restarted).await;
        // A handshake with a session that is gone begins the next one.
        let begun = handshake(&restarted, "2025-11-25", json!({})).await;
        assert!(begun.header("mcp-session-id").is_some(), "{begun:?}");
    }

    async fn the_stream_of_an_agent_whose_key_is_replaced_ends(setup: Setup) {
        let site = Site::with(setup).await;
        let older = begin_plain(&Mcp::new(&site)).await;
        let mut events = Events::open(older.bare("GET")).await;
        let agents = site.owner.client.get("/admin/agents").send().await.expect(200).json();
        let path = format!("/admin/agents/{}/rotate", agents["agents"][0]["id"].as_str().unwrap());
        site.owner.client.post(&path, &json!({})).send().await.expect(200);
        assert_eq!(timeout(PATIENCE, events.next()).await.expect("an end in time"), None);
        older.request("tools/list", &json!({})).send().await.expect(401);
    }
}

#[tokio::test]
async fn the_session_of_another_agent_is_unknown() {
    let site = Site::new().await;
    let older = begin(&Mcp::new(&site), "2025-11-25", json!({})).await;
    let added = site.owner.add_agent(&json!({"name": "second"})).await;
    let stranger = older.with_key(added["key"].as_str().unwrap());
    stranger.request("tools/list", &json!({})).send().await.expect(404);
    for method in ["GET", "DELETE"] {
        stranger.bare(method).send().await.problem(404, "not_found");
    }
    older.request("tools/list", &json!({})).send().await.expect(200);
}

#[tokio::test]
async fn a_session_that_its_client_ends_takes_its_stream_with_it() {
    let site = Site::new().await;
    let older = begin_plain(&Mcp::new(&site)).await;
    let mut events = Events::open(older.bare("GET")).await;
    older.bare("DELETE").send().await.expect(202);
    assert_eq!(timeout(PATIENCE, events.next()).await.expect("an end in time"), None);
    older.request("tools/list", &json!({})).send().await.expect(404);
    older.bare("GET").send().await.expect(404);
}

#[tokio::test]
async fn a_client_beyond_the_limit_is_served_without_a_session_until_another_ends() {
    let site = Site::new().await;
    let mcp = Mcp::new(&site).speaking("2025-11-25");
    let mut sessions = Vec::new();
    for _ in 0..PER_AGENT {
        sessions.push(begin_plain(&mcp).await);
    }
    let begun = handshake(&mcp, "2025-11-25", json!({})).await;
    assert_eq!(begun.header("mcp-session-id"), None, "{begun:?}");
    assert_eq!(begun.header("content-type"), Some("application/json"));
    let read = mcp.forward(&site, "GET", "/things").await;
    assert_eq!(read["structuredContent"]["status"], 200, "{read}");
    let added = site.owner.add_agent(&json!({"name": "second"})).await;
    begin_plain(&Mcp::for_key(&site.app, added["key"].as_str().unwrap())).await;
    sessions[0].bare("DELETE").send().await.expect(202);
    begin_plain(&mcp).await;
}

#[tokio::test]
async fn an_open_stream_does_not_hold_up_a_stop() {
    let mut site = Site::new().await;
    let older = begin_plain(&Mcp::new(&site)).await;
    let mut events = Events::open(older.bare("GET")).await;
    let ended = timeout(Duration::from_secs(20), site.app.stop()).await.expect("an end in time");
    assert!(ended.success());
    assert_eq!(events.next().await, None);
}

#[tokio::test]
async fn a_session_has_four_streams_at_once_and_a_closed_one_makes_room() {
    let site = Site::new().await;
    let older = begin_plain(&Mcp::new(&site)).await;
    let mut streams = Vec::new();
    for _ in 0..4 {
        streams.push(Events::open(older.bare("GET")).await);
    }
    older.bare("GET").send().await.problem(409, "conflict");
    drop(streams.pop());
    until("room for a stream", async || {
        let opened = older.bare("GET").open().await;
        (opened.status == 200).then_some(())
    })
    .await;
    older.request("tools/list", &json!({})).send().await.expect(200);
}

#[tokio::test]
async fn the_stream_of_a_call_whose_id_its_client_used_again_ends_too() {
    let site = Site::new().await;
    let older = begin_plain(&Mcp::new(&site)).await;
    let call = json!({"name": "call", "arguments": forwarded(&site, "POST", "/things")});
    let mut events = Events::open(older.request("tools/call", &call)).await;
    let txn = waiting(&site).await;
    older.request("tools/list", &json!({})).send().await.expect(200);
    site.owner.deny(&txn, "not today").await;
    timeout(PATIENCE, async { while events.next().await.is_some() {} }).await.expect("an end in time");
}

#[tokio::test]
async fn a_request_that_needs_no_person_is_sent_to_its_end_although_its_client_leaves() {
    let site = Site::new().await;
    let older = begin_plain(&Mcp::new(&site)).await;
    let (reply, release) = Reply::json("{}").hold();
    site.upstream.reply(reply);
    let call = json!({"name": "call", "arguments": forwarded(&site, "GET", "/things")});
    let events = Events::open(older.request("tools/call", &call)).await;
    site.upstream.received(1).await;
    drop(events);
    older.request("tools/list", &json!({})).send().await.expect(200);
    drop(release);
    until("the response on record", async || {
        site.app.audit().await.iter().any(|record| record["upstream_status"] == 200).then_some(())
    })
    .await;
}
