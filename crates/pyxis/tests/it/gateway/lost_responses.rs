//! A request that was sent is reported as sent (`docs/reference/behavior/proxy.md#at-most-once`).

use std::sync::{Arc, Mutex};

use pyxis_testkit::engines;
use pyxis_testkit::upstream::{Reply, Upstream};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::support::{Setup, Site};

/// A host whose idle close always races with the next request. It answers one request per connection, reads the head of
/// the next and closes. Counts the heads that it read.
async fn closes_when_reused() -> (String, Arc<Mutex<usize>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let read = Arc::new(Mutex::new(0));
    let counts = Arc::clone(&read);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let counts = Arc::clone(&counts);
            tokio::spawn(async move {
                for answers in [true, false] {
                    let mut head = Vec::new();
                    while !head.ends_with(b"\r\n\r\n") {
                        let Ok(byte) = stream.read_u8().await else { return };
                        head.push(byte);
                    }
                    *counts.lock().unwrap() += 1;
                    if answers {
                        stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.unwrap();
                    }
                }
            });
        }
    });
    (address, read)
}

async fn with_host(setup: Setup) -> (Site, String, Arc<Mutex<usize>>) {
    let site = Site::with(setup).await;
    let (address, read) = closes_when_reused().await;
    site.credential(
        "edge",
        &json!({"auth": {"kind": "bearer"}, "secret": "canary-edge-1", "allowed_hosts": [address]}),
    )
    .await;
    (site, format!("http://{address}/"), read)
}

engines! {
    async fn two_hundred_approved_posts_at_the_edge_of_the_idle_time_are_all_answered(setup: Setup) {
        let (site, url, read) = with_host(setup).await;
        for number in 0..200 {
            let txn = site.agent.forward("edge", "POST", &format!("{url}{number}")).send().await.txn();
            site.owner.approve(&txn).await;
            let outcome = site.agent.outcome(&txn).await;
            assert_eq!((&outcome["error"], &outcome["upstream_status"]), (&Value::Null, &json!(204)), "{outcome}");
        }
        assert_eq!(*read.lock().unwrap(), 200);
    }

    async fn an_approved_request_that_was_read_and_not_answered_may_have_happened(setup: Setup) {
        let site = Site::with(setup).await;
        for method in ["POST", "PUT", "PATCH", "DELETE"] {
            site.upstream.reply(Reply::abort());
            let txn = site.forward(method, "/lost").body("x").send().await.txn();
            site.owner.approve(&txn).await;
            let outcome = site.agent.outcome(&txn).await;
            let seen = (&outcome["status"], &outcome["error"], &outcome["response"], &outcome["upstream_status"]);
            assert_eq!(seen, (&json!("approved"), &json!("outcome_unknown"), &Value::Null, &Value::Null));
            assert!(outcome["detail"].as_str().unwrap().contains("may have been executed"), "{outcome}");
        }
        assert_eq!(site.upstream.requests().len(), 4);
        let ends = site.app.audit().await;
        let unknown = ends.iter().filter(|record| record["outcome"]["error"] == "outcome_unknown").count();
        assert_eq!(unknown, 4, "{ends:?}");
    }

    async fn an_approved_request_that_never_left_is_not_said_to_have_happened(setup: Setup) {
        let site = Site::with(setup).await;
        let gone = Upstream::http().await;
        let (address, url) = (gone.addr().to_string(), gone.url("/"));
        drop(gone);
        let fields = json!({"auth": {"kind": "bearer"}, "secret": "canary-gone-1", "allowed_hosts": [address]});
        site.credential("gone", &fields).await;
        let txn = site.agent.forward("gone", "POST", &url).send().await.txn();
        site.owner.approve(&txn).await;
        let outcome = site.agent.outcome(&txn).await;
        assert_eq!(outcome["error"], "upstream_error");
        assert!(outcome["detail"].as_str().unwrap().contains("nothing was sent"), "{outcome}");
    }
}

#[tokio::test]
async fn an_agent_that_waits_for_the_decision_hears_that_it_may_have_happened() {
    let site = Site::new().await;
    site.upstream.reply(Reply::abort());
    let ask = || site.forward("POST", "/").header("idempotency-key", "k").header("prefer", "wait=30");
    let waiting = tokio::spawn(ask().send());
    let txn = crate::support::until("the request", async || {
        let list = site.owner.client.get("/approvals").send().await.expect(200).json();
        list["approvals"][0]["txn_id"].as_str().map(str::to_owned)
    })
    .await;
    site.owner.approve(&txn).await;
    for answer in [waiting.await.unwrap(), ask().send().await] {
        let problem = answer.problem(502, "outcome_unknown");
        assert!(problem["detail"].as_str().unwrap().contains("may have been executed"), "{problem}");
        assert!(problem["agent_action"].as_str().unwrap().contains("check at the target"), "{problem}");
    }
    assert_eq!(site.upstream.requests().len(), 1);
}

#[tokio::test]
async fn a_request_that_passes_says_whether_it_may_have_happened() {
    let site = Site::new_with_env("PX_FORWARD_TIMEOUT_SECS", "3").await;
    site.policy(&json!({"auto_approve_urls": ["/"]})).await;
    let entrance = site.app.anonymous().with("authorization", &format!("Bearer {}", site.agent.key));
    for (method, code) in
        [("POST", "outcome_unknown"), ("DELETE", "outcome_unknown"), ("GET", "upstream_error")]
    {
        site.upstream.reply(Reply::abort());
        site.forward(method, "/lost").send().await.problem(502, code);
        site.upstream.reply(Reply::abort());
        entrance.call(method, "/p/api/lost").send().await.problem(502, code);
    }
    let (late, _release) = Reply::ok("late").hold();
    site.upstream.reply(late);
    let problem = site.forward("POST", "/late").send().await.problem(504, "outcome_unknown");
    assert!(problem["detail"].as_str().unwrap().contains("may have been executed"), "{problem}");
    let (late, _release) = Reply::ok("late").hold();
    site.upstream.reply(late);
    site.forward("GET", "/late").send().await.problem(504, "upstream_timeout");
}

/// A host that answers every request with the first four of a hundred bytes.
async fn breaks_off() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let Ok(byte) = stream.read_u8().await else { break };
                head.push(byte);
            }
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf").await;
        }
    });
    address
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_still_an_answer() {
    let site = Site::new().await;
    let address = breaks_off().await;
    let fields = json!({"auth": {"kind": "bearer"}, "secret": "canary-half-1", "allowed_hosts": [address]});
    site.credential("half", &fields).await;
    let url = format!("http://{address}/");
    let txn = site.agent.forward("half", "POST", &url).send().await.txn();
    site.owner.approve(&txn).await;
    let outcome = site.agent.outcome(&txn).await;
    assert_eq!((&outcome["error"], &outcome["upstream_status"]), (&Value::Null, &json!(200)), "{outcome}");
    let response = &outcome["response"];
    assert_eq!((&response["truncated"], &response["body"]), (&json!(true), &json!("half")), "{outcome}");
    // Without an approval the response cannot be passed on as complete, and the failure says that there was one.
    site.owner.set_policy("half", &json!({"auto_approve_methods": ["POST"]})).await;
    let problem = site.agent.forward("half", "POST", &url).send().await.problem(502, "upstream_error");
    assert_eq!(problem["upstream_status"], 200, "{problem}");
    assert!(problem["detail"].as_str().unwrap().contains("the host answered 200"), "{problem}");
}

#[tokio::test]
async fn an_answer_that_cannot_be_given_says_that_there_was_one() {
    let site = Site::new().await;
    site.upstream.reply(Reply::ok("x").header("content-encoding", "unheard-of"));
    let txn = site.pause("/coded").await;
    site.owner.approve(&txn).await;
    let outcome = site.agent.outcome(&txn).await;
    assert_eq!((&outcome["error"], &outcome["upstream_status"]), (&json!("upstream_error"), &json!(200)));
    assert!(outcome["detail"].as_str().unwrap().contains("the host answered 200"), "{outcome}");
}

#[tokio::test]
async fn the_instructions_say_what_an_unknown_outcome_asks_for() {
    let site = Site::new().await;
    let text = site.app.anonymous().get("/instructions").send().await.expect(200).text();
    assert_eq!(text.matches("outcome_unknown").count(), 2);
    assert!(text.contains("Check at the target before you send it again"));
}
