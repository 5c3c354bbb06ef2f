//! The share of one agent in the open WebSockets, and its release.

use pyxis_testkit::websocket::{CONTINUATION, MessageHead, Socket, accepted};
use serde_json::json;

use super::Scene;
use crate::support::client::{Address, Client};
use crate::support::{Setup, until};

/// Accepts a handshake, unless its path asks for something else.
fn answer(head: &MessageHead) -> String {
    match head.line.split(' ').nth(1) {
        Some("/refused") => "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n".to_owned(),
        Some("/wrong") => "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Accept: d3Jvbmc=\r\n\r\n"
            .to_owned(),
        Some("/silent") => String::new(),
        _ => accepted(head),
    }
}

/// A server that allows each agent one WebSocket.
async fn scene(setup: Setup) -> Scene {
    let setup = setup.env("PX_AGENT_WEBSOCKETS_MAX", "1").env("PX_METRICS_LISTEN", "127.0.0.1:0");
    let scene = Scene::answering(setup, answer).await;
    scene.policy(&json!({"auto_approve_methods": ["WEBSOCKET"]})).await;
    scene
}

async fn metric(scene: &Scene, series: &str) -> u32 {
    let address = scene.app.greeting["metrics_address"].as_str().unwrap().parse().unwrap();
    let page = Client::new(Address::new(address)).get("/metrics").send().await.expect(200).text();
    let line = page.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {series}: {page}")).parse().unwrap()
}

async fn all_closed(scene: &Scene) {
    let open = "pyxis_websockets_open";
    until("no WebSocket is open", async || (metric(scene, open).await == 0).then_some(())).await;
}

/// Waits until Pyxis closes both sides, which then end.
async fn closed_by_pyxis(scene: &Scene, mut agent: Socket, mut host: Socket, code: u16) {
    for socket in [&mut agent, &mut host] {
        assert_eq!(socket.receive().await.unwrap().close_code(), code);
    }
    drop((agent, host));
    all_closed(scene).await;
}

#[tokio::test]
async fn an_agent_at_its_share_is_refused_and_leaves_the_rest_to_others() {
    let mut scene = scene(Setup::new()).await;
    let first = scene.connected().await;
    let refused = scene.open_socket("/live", &[]).await;
    assert_eq!((refused.head.status(), refused.head.header("px-error")), (429, Some("quota_exceeded")));
    assert!(refused.head.header("retry-after").is_some());
    let client = Client::new(Address::new(scene.address()));
    let handshake = client
        .get("/p/api/live")
        .header("Authorization", &format!("Bearer {}", scene.key()))
        .header("Connection", "Upgrade")
        .header("Upgrade", "websocket")
        .header("Sec-WebSocket-Version", "13")
        .header("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==");
    let answer = handshake.send().await;
    let problem = answer.problem(429, "quota_exceeded");
    assert_eq!((&problem["quota"], &problem["limit"]), (&json!("agent_websockets"), &json!(1)));
    assert!(problem["agent_action"].as_str().unwrap().starts_with("close a WebSocket"), "{problem}");

    let other = scene.app.owner().add_agent(&json!({"name": "other", "credentials": "all"})).await;
    let bearer = format!("Bearer {}", other["key"].as_str().unwrap());
    let second = scene.open_socket_as(&bearer, "/live", &[]).await.opened();
    let host = scene.host.accept().await;
    assert_eq!(metric(&scene, "pyxis_websockets_open").await, 2);
    assert_eq!(metric(&scene, "pyxis_websockets_total").await, 2);
    assert_eq!(metric(&scene, "pyxis_websockets_refused_total{limit=\"agent\"}").await, 2);
    assert_eq!(metric(&scene, "pyxis_websockets_refused_total{limit=\"server\"}").await, 0);
    until("both refusals are recorded", async || {
        let records = scene.app.audit().await;
        let count = records.iter().filter(|record| record["detail"]["rule"] == "quota_exceeded").count();
        (count == 2).then_some(())
    })
    .await;
    drop((first, second, host));
    all_closed(&scene).await;
    scene.connected().await;
}

#[tokio::test]
async fn a_place_is_free_again_however_its_websocket_ends() {
    let mut scene = scene(Setup::new().env("PX_WEBSOCKET_IDLE_SECS", "4")).await;
    let (mut agent, mut host) = scene.connected().await;
    agent.close(1000, "").await;
    host.receive().await.unwrap();
    host.close(1000, "").await;
    all_closed(&scene).await;

    drop(scene.connected().await.0);
    all_closed(&scene).await;
    drop(scene.connected().await.1);
    all_closed(&scene).await;

    let (mut agent, host) = scene.connected().await;
    agent.frame(true, CONTINUATION, b"of nothing").await;
    closed_by_pyxis(&scene, agent, host, 1002).await;

    let (agent, host) = scene.connected().await;
    closed_by_pyxis(&scene, agent, host, 1001).await;

    let (agent, host) = scene.connected().await;
    scene.policy(&json!({"deny_methods": ["WEBSOCKET"]})).await;
    closed_by_pyxis(&scene, agent, host, 1008).await;
    scene.policy(&json!({"auto_approve_methods": ["WEBSOCKET"]})).await;

    assert_eq!(scene.open_socket("/refused", &[]).await.head.status(), 403);
    assert_eq!(scene.open_socket("/wrong", &[]).await.head.status(), 502);
    all_closed(&scene).await;
    scene.connected().await;
}

#[tokio::test]
async fn a_handshake_without_an_answer_takes_a_place_until_it_is_given_up() {
    let scene = scene(Setup::new().env("PX_FORWARD_TIMEOUT_SECS", "2")).await;
    let bearer = format!("Bearer {}", scene.key());
    let waiting = tokio::spawn({
        let (address, bearer) = (scene.address(), bearer.clone());
        async move {
            let headers = [("Authorization", bearer.as_str())];
            Socket::open(address, "/p/api/silent", &headers).await.head.status()
        }
    });
    let open = "pyxis_websockets_open";
    until("the handshake waits", async || (metric(&scene, open).await == 1).then_some(())).await;
    assert_eq!(scene.open_socket("/live", &[]).await.head.status(), 429);
    assert_eq!(waiting.await.unwrap(), 504);
    all_closed(&scene).await;
    assert_eq!(metric(&scene, "pyxis_websockets_total").await, 0);
}

#[tokio::test]
async fn an_approved_handshake_over_the_share_keeps_its_approval() {
    let mut scene = scene(Setup::new().env("PX_ENTRANCE_WAIT_SECS", "0")).await;
    scene.policy(&json!({"auto_approve_urls": ["/live"], "require_approval_methods": ["WEBSOCKET"]})).await;
    let held = scene.connected().await;
    let pending = scene.open_socket("/asks", &[]).await;
    scene.app.owner().approve(pending.head.header("px-txn").unwrap()).await;
    assert_eq!(scene.open_socket("/asks", &[]).await.head.status(), 429);
    drop(held);
    all_closed(&scene).await;
    drop(scene.open_socket("/asks", &[]).await.opened());
}
