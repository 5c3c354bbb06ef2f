//! Policies and people.

use pyxis_testkit::engines;
use pyxis_testkit::websocket::{Socket, accepted};
use serde_json::{Value, json};

use super::Scene;
use crate::support::{Setup, until};

/// The body of a 202.
async fn pending(mut socket: Socket) -> Value {
    assert_eq!(socket.head.status(), 202, "{:?}", socket.head);
    let body: Value = serde_json::from_str(&socket.body().await).unwrap();
    assert_eq!(socket.head.header("px-txn"), body["txn_id"].as_str());
    body
}

#[tokio::test]
async fn a_policy_that_lets_get_pass_asks_about_a_websocket() {
    let mut scene = Scene::with(Setup::new()).await;
    for policy in [json!({"auto_approve_methods": ["GET"]}), json!({"auto_approve_methods": ["GET", "POST"]})]
    {
        scene.policy(&policy).await;
        pending(scene.open_socket("/live", &[("Prefer", "wait=0")]).await).await;
    }
    let (owner, url) = (scene.app.owner(), scene.host.url("/live"));
    let explained = owner.explain("api", "WEBSOCKET", &url).await;
    assert_eq!((&explained["decision"], &explained["rule"]), (&json!("require_approval"), &json!("default")));
    for policy in [
        json!({"deny_urls": ["/live"], "auto_approve_methods": ["WEBSOCKET"]}),
        json!({"deny_methods": ["DELETE"], "auto_approve_urls": ["/"]}),
        json!({"auto_approve_urls": ["/"], "content_rules": ["/live json /amount <= 5 else deny"]}),
    ] {
        scene.policy(&policy).await;
        let agent = scene.open_socket("/live", &[]).await;
        assert_eq!((agent.head.status(), agent.head.header("px-error")), (403, Some("denied_by_policy")));
        assert_eq!(owner.explain("api", "websocket", &url).await["decision"], "deny");
    }
    scene.policy(&json!({"auto_approve_urls": ["/"], "content_rules": ["/live json /amount <= 5"]})).await;
    pending(scene.open_socket("/live", &[("Prefer", "wait=0")]).await).await;
    let explained = owner.explain("api", "WEBSOCKET", &url).await;
    assert_eq!((&explained["rule"], &explained["decision"]), (&json!("content"), &json!("require_approval")));
    assert!(scene.host.accepted_by_now().is_none());
}

engines! {
    async fn a_handshake_is_held_for_the_decision_and_then_opens(setup: Setup) {
        let mut scene = Scene::with(setup.env("PX_ENTRANCE_WAIT_SECS", "30")).await;
        let (address, bearer) = (scene.address(), format!("Bearer {}", scene.key()));
        let opening = tokio::spawn(async move {
            Socket::open(address, "/p/api/live", &[("Authorization", &bearer)]).await
        });
        let owner = scene.app.owner();
        let txn = until("a pending approval", async || {
            let list = owner.client.get("/approvals?state=pending").send().await.expect(200).json();
            list["approvals"][0]["txn_id"].as_str().map(str::to_owned)
        })
        .await;
        owner.approve(&txn).await;
        let mut agent = opening.await.unwrap().opened();
        let mut host = scene.host.accept().await;
        host.text("hello").await;
        assert_eq!(agent.message().await, "hello");
        let polled = scene.app.default_agent().outcome(&txn).await;
        assert_eq!((&polled["status"], &polled["upstream_status"]), (&json!("approved"), &json!(101)));
        agent.close(1000, "").await;
        assert_eq!(scene.ended().await["closed_by"], "agent");
    }

    async fn an_approval_opens_one_later_handshake_and_no_second(setup: Setup) {
        let mut scene = Scene::with(setup.env("PX_ENTRANCE_WAIT_SECS", "0")).await;
        let first = pending(scene.open_socket("/live", &[]).await).await;
        let joined = pending(scene.open_socket("/live", &[]).await).await;
        assert_eq!(first["txn_id"], joined["txn_id"], "the same handshake joins the pending one");
        let txn = first["txn_id"].as_str().unwrap();
        scene.app.owner().approve(txn).await;
        let polled = scene.app.default_agent().poll(txn).await;
        assert_eq!((&polled["status"], &polled["upstream_status"]), (&json!("approved"), &Value::Null));

        let other = pending(scene.open_socket("/live?other=1", &[]).await).await;
        assert_ne!(other["txn_id"], first["txn_id"], "another target is another request");
        let other = pending(scene.open_socket("/live", &[("Sec-WebSocket-Protocol", "chat")]).await).await;
        assert_ne!(other["txn_id"], first["txn_id"], "another subprotocol is another request");
        let mut agent = scene.open_socket("/live", &[]).await.opened();
        let mut host = scene.host.accept().await;
        agent.text("hello").await;
        assert_eq!(host.message().await, "hello");
        let next = pending(scene.open_socket("/live", &[]).await).await;
        assert_ne!(next["txn_id"], first["txn_id"], "the approval is used");
        assert!(scene.host.accepted_by_now().is_none());
    }

    async fn a_denial_is_told_and_an_approval_is_checked_again(setup: Setup) {
        let scene = Scene::with(setup.env("PX_ENTRANCE_WAIT_SECS", "0")).await;
        let body = pending(scene.open_socket("/live", &[]).await).await;
        scene.app.owner().deny(body["txn_id"].as_str().unwrap(), "not today").await;
        let body = pending(scene.open_socket("/live", &[]).await).await;
        scene.app.owner().approve(body["txn_id"].as_str().unwrap()).await;
        let secret = json!({"secret": "another-canary-secret"});
        scene.app.owner().client.put("/admin/credentials/api/secret", &secret).send().await.expect(200);
        let agent = scene.open_socket("/live", &[]).await;
        let refused = (agent.head.status(), agent.head.header("px-error"));
        assert_eq!(refused, (403, Some("no_longer_allowed")));
    }

    async fn the_refusal_of_an_approved_handshake_is_returned_and_stored(setup: Setup) {
        let refuse = |_: &_| "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno".to_owned();
        let scene = Scene::answering(setup.env("PX_ENTRANCE_WAIT_SECS", "0"), refuse).await;
        let body = pending(scene.open_socket("/live", &[]).await).await;
        let txn = body["txn_id"].as_str().unwrap();
        scene.app.owner().approve(txn).await;
        let mut agent = scene.open_socket("/live", &[]).await;
        assert_eq!((agent.head.status(), agent.body().await.as_str()), (403, "no"));
        let polled = scene.app.default_agent().poll(txn).await;
        assert_eq!((&polled["upstream_status"], &polled["response"]["body"]), (&json!(403), &json!("no")));
    }
}

#[tokio::test]
async fn a_wrong_answer_to_an_approved_handshake_is_stored_as_a_failure() {
    let wrong = |head: &_| accepted(head).replace("Accept: ", "Accept: A");
    let scene = Scene::answering(Setup::new().env("PX_ENTRANCE_WAIT_SECS", "0"), wrong).await;
    let body = pending(scene.open_socket("/live", &[]).await).await;
    let txn = body["txn_id"].as_str().unwrap();
    scene.app.owner().approve(txn).await;
    let agent = scene.open_socket("/live", &[]).await;
    assert_eq!((agent.head.status(), agent.head.header("px-error")), (502, Some("upstream_error")));
    let polled = scene.app.default_agent().poll(txn).await;
    assert_eq!((&polled["error"], &polled["upstream_status"]), (&json!("upstream_error"), &json!(101)));
}

#[tokio::test]
async fn a_grant_opens_websockets_of_its_route() {
    let mut scene = Scene::with(Setup::new().env("PX_ENTRANCE_WAIT_SECS", "0")).await;
    let body = pending(scene.open_socket("/live", &[]).await).await;
    let wish = json!({"grant_seconds": 1800});
    scene.app.owner().approve_with(body["txn_id"].as_str().unwrap(), &wish).await;
    for path in ["/live", "/live?more=1"] {
        drop(scene.open_socket(path, &[]).await.opened());
        scene.host.accept().await;
    }
    let get = scene.app.default_agent().forward("api", "DELETE", &scene.host.url("/live")).send().await;
    get.expect(202);
}
