//! The end of an open WebSocket.

use pyxis_testkit::websocket::CONTINUATION;
use serde_json::json;

use super::Scene;
use crate::support::Setup;

#[tokio::test]
async fn the_hosts_close_and_its_silent_end_reach_the_agent_as_they_are() {
    let mut scene = Scene::open().await;
    let (mut agent, mut host) = scene.connected().await;
    host.close(1011, "broken").await;
    let close = agent.receive().await.unwrap();
    assert_eq!((close.close_code(), &close.payload[2..]), (1011, &b"broken"[..]));
    agent.close(1011, "").await;
    assert_eq!(host.receive().await.unwrap().close_code(), 1011);
    assert_eq!((agent.receive().await, host.receive().await), (None, None));
    let ended = scene.ended().await;
    assert_eq!((&ended["closed_by"], &ended["close_code"]), (&json!("host"), &json!(1011)));
    let (mut agent, host) = scene.connected().await;
    drop(host);
    assert_eq!(agent.receive().await, None);
}

#[tokio::test]
async fn an_agent_that_is_gone_is_no_longer_spoken_to() {
    let mut scene = Scene::open().await;
    let (agent, mut host) = scene.connected().await;
    drop(agent);
    assert_eq!(host.receive().await, None);
    let ended = scene.ended().await;
    assert_eq!((&ended["closed_by"], &ended["close_code"]), (&json!("agent"), &json!(null)));
}

#[tokio::test]
async fn a_side_that_breaks_the_protocol_closes_both() {
    let mut scene = Scene::open().await;
    let (mut agent, mut host) = scene.connected().await;
    agent.frame(true, CONTINUATION, b"of nothing").await;
    assert_eq!(host.receive().await.unwrap().close_code(), 1002);
    assert_eq!(agent.receive().await.unwrap().close_code(), 1002);
    let (mut agent, mut host) = scene.connected().await;
    agent.send(b"\x81\x05hello").await;
    assert_eq!(host.receive().await.unwrap().close_code(), 1002, "a frame without a mask");
    assert_eq!(agent.receive().await.unwrap().close_code(), 1002);
}

#[tokio::test]
async fn a_server_that_stops_closes_its_websockets() {
    let mut scene = Scene::open().await;
    let (mut agent, mut host) = scene.connected().await;
    scene.app.terminate();
    for socket in [&mut agent, &mut host] {
        assert_eq!(socket.receive().await.unwrap().close_code(), 1001);
        socket.close(1001, "").await;
    }
    assert_eq!((agent.receive().await, host.receive().await), (None, None));
    assert!(scene.app.ended().await.success());
    let ended = scene.ended().await;
    assert_eq!((&ended["closed_by"], &ended["reason"]), (&json!("pyxis"), &json!("stopping")));
}

#[tokio::test]
async fn a_disabled_agent_and_a_stricter_policy_end_open_websockets() {
    let mut scene = Scene::open().await;
    let (mut agent, mut host) = scene.connected().await;
    scene.policy(&json!({"auto_approve_methods": ["GET", "WEBSOCKET"]})).await;
    agent.text("still open").await;
    assert_eq!(host.message().await, "still open");
    scene.policy(&json!({"auto_approve_methods": ["GET"]})).await;
    for socket in [&mut agent, &mut host] {
        assert_eq!(socket.receive().await.unwrap().close_code(), 1008);
    }
    scene.policy(&json!({"auto_approve_methods": ["WEBSOCKET"]})).await;
    let (mut agent, mut host) = scene.connected().await;
    scene.app.cli(&["agent", "disable", "default-agent"]).await.expect(0);
    for socket in [&mut agent, &mut host] {
        assert_eq!(socket.receive().await.unwrap().close_code(), 1008);
    }
    assert_eq!(scene.ended().await["reason"], "no_longer_allowed");
}

#[tokio::test]
async fn silence_and_age_end_a_websocket_with_the_configured_limits() {
    for (name, reason) in [("PX_WEBSOCKET_IDLE_SECS", "idle"), ("PX_WEBSOCKET_MAX_SECS", "max_time")] {
        let mut scene = Scene::with(Setup::new().env(name, "1")).await;
        scene.policy(&json!({"auto_approve_methods": ["WEBSOCKET"]})).await;
        let (mut agent, mut host) = scene.connected().await;
        assert_eq!(host.receive().await.unwrap().close_code(), 1001);
        assert_eq!(agent.receive().await.unwrap().close_code(), 1001);
        drop((agent, host));
        assert_eq!(scene.ended().await["reason"], reason);
    }
}

#[tokio::test]
async fn one_websocket_too_many_is_refused() {
    let mut scene = Scene::with(Setup::new().env("PX_WEBSOCKETS_MAX", "1")).await;
    scene.policy(&json!({"auto_approve_methods": ["WEBSOCKET"]})).await;
    let (mut agent, mut host) = scene.connected().await;
    let second = scene.open_socket("/live", &[]).await;
    assert_eq!((second.head.status(), second.head.header("px-error")), (503, Some("too_many_websockets")));
    agent.close(1000, "").await;
    assert_eq!(host.receive().await.unwrap().close_code(), 1000);
    host.close(1000, "").await;
    scene.ended().await;
    scene.connected().await;
}
