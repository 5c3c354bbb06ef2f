//! The handshake, and the messages after it.

use pyxis_testkit::upstream::Upstream;
use pyxis_testkit::websocket::{CLOSE, CONTINUATION, PING, PONG, Socket, TEXT, WebSocketHost, accepted};
use serde_json::json;

use super::{ANY_PORT, SECRET, Scene};
use crate::support::app::run;
use crate::support::{Setup, Site};

#[tokio::test]
async fn the_secret_is_on_the_handshake_and_nowhere_else() {
    let mut scene = Scene::open().await;
    let offered = [("Sec-WebSocket-Protocol", "chat, other"), ("X-Kept", "1")];
    let mut agent = scene.open_socket("/live?room=1", &offered).await.opened();
    let mut host = scene.host.accept().await;
    assert_eq!(host.head.line, "GET /live?room=1 HTTP/1.1");
    assert_eq!(host.head.header("authorization"), Some(format!("Bearer {SECRET}").as_str()));
    assert_eq!(host.head.header("sec-websocket-protocol"), Some("chat, other"));
    assert_eq!((host.head.header("x-kept"), host.head.header("sec-websocket-extensions")), (Some("1"), None));
    assert_ne!(host.head.header("sec-websocket-key"), Some("dGhlIHNhbXBsZSBub25jZQ=="));
    let sent = format!("{:?}", host.head);
    assert!(!sent.contains(scene.key()), "{sent}");
    assert!(!format!("{:?}", agent.head).contains(SECRET));

    agent.text("a px_placeholder_api_key stays as it is").await;
    assert_eq!(host.message().await, "a px_placeholder_api_key stays as it is");
    host.text(&format!("you sent {SECRET}")).await;
    assert_eq!(agent.message().await, "you sent [REDACTED:api]");
    let (first, second) = SECRET.split_at(9);
    host.frame(false, TEXT, first.as_bytes()).await;
    host.frame(true, PING, b"still there?").await;
    host.frame(true, CONTINUATION, format!("{second}.").as_bytes()).await;
    let ping = agent.receive().await.unwrap();
    assert_eq!((ping.opcode, ping.text()), (PING, "still there?"));
    agent.frame(true, PONG, b"still there?").await;
    assert_eq!(host.receive().await.unwrap().opcode, PONG);
    assert_eq!(agent.message().await, "[REDACTED:api].");

    agent.close(4001, "enough").await;
    let close = host.receive().await.unwrap();
    assert_eq!((close.close_code(), &close.payload[2..]), (4001, &b"enough"[..]));
    host.close(4001, SECRET).await;
    assert_eq!(agent.receive().await.unwrap().payload[2..], b"[REDACTED:api]"[..]);
    assert_eq!(agent.receive().await, None);

    let ended = scene.ended().await;
    assert_eq!((&ended["closed_by"], &ended["close_code"]), (&json!("agent"), &json!(4001)));
    assert_eq!((&ended["sent"]["messages"], &ended["received"]["messages"]), (&json!(1), &json!(2)));
    let records = scene.app.audit().await;
    let received = records.iter().find(|record| record["kind"] == "request.received").unwrap();
    assert_eq!((&received["method"], &received["decision"]), (&json!("WEBSOCKET"), &json!("auto")));
    assert_eq!((&received["upstream_status"], &received["outcome"]["redactions"]), (&json!(101), &json!(3)));
    assert!(!format!("{records:?}{}", scene.app.logs()).contains(SECRET));
}

#[tokio::test]
async fn long_messages_pass_in_both_directions() {
    let mut scene = Scene::open().await;
    let (mut agent, mut host) = scene.connected().await;
    let text = "0123456789abcdef".repeat(200_000);
    let sent = text.clone();
    let sending = tokio::spawn(async move {
        host.text(&sent).await;
        host
    });
    assert!(agent.message().await == text);
    let mut host = sending.await.unwrap();
    let sending = tokio::spawn(async move {
        agent.text(&text).await;
        (agent, text)
    });
    let received = host.message().await;
    assert!(received == sending.await.unwrap().1);
}

#[tokio::test]
async fn a_host_without_tls_and_a_target_in_forward_work_too() {
    let site = Site::bare(Setup::new()).await;
    let mut host = WebSocketHost::listen(ANY_PORT.into(), None).await;
    let hosts = json!({"allowed_hosts": [host.addr().to_string()], "auth": {"kind": "query", "parameter": "token"}, "secret": "sk-canary-in-the-query"});
    site.credential("socket", &hosts).await;
    site.owner.set_policy("socket", &json!({"auto_approve_urls": ["/live"]})).await;
    let target = host.url("/live?a=1").replace("http://", "ws://");
    let headers =
        [("X-PX-Key", site.agent.key.as_str()), ("X-PX-Credential", "socket"), ("X-PX-Target", &target)];
    let mut agent = Socket::open(site.app.address(), "/forward", &headers).await.opened();
    let mut other = host.accept().await;
    assert_eq!(other.head.line, "GET /live?a=1&token=sk-canary-in-the-query HTTP/1.1");
    assert_eq!(other.head.header("x-px-key"), None);
    other.text("sk-canary-in-the-query").await;
    assert_eq!(agent.message().await, "[REDACTED:socket]");
}

#[tokio::test]
async fn a_refusal_of_the_host_is_returned_like_any_other_response() {
    let refuse = |_: &_| {
        let body = format!("no, {SECRET}");
        format!("HTTP/1.1 403 Forbidden\r\nContent-Length: {}\r\nX-Why: {SECRET}\r\n\r\n{body}", body.len())
    };
    let scene = Scene::answering(Setup::new(), refuse).await;
    scene.policy(&json!({"auto_approve_methods": ["WEBSOCKET"]})).await;
    let mut agent = scene.open_socket("/live", &[]).await;
    assert_eq!((agent.head.status(), agent.head.header("px-error")), (403, None));
    assert_eq!(agent.head.header("x-why"), Some("[REDACTED:api]"));
    assert_eq!(agent.body().await, "no, [REDACTED:api]");
}

#[tokio::test]
async fn an_answer_that_does_not_belong_to_the_handshake_opens_nothing() {
    let changes: [fn(String) -> String; 4] = [
        |head| head.replace("Accept: ", "Accept: A"),
        |head| head.replace("Upgrade: websocket", "Upgrade: h2c"),
        |head| head.replace("\r\n\r\n", "\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n"),
        |head| head.replace("\r\n\r\n", "\r\nSec-WebSocket-Protocol: other\r\n\r\n"),
    ];
    for change in changes {
        let scene = Scene::answering(Setup::new(), move |head| change(accepted(head))).await;
        scene.policy(&json!({"auto_approve_methods": ["WEBSOCKET"]})).await;
        let mut agent = scene.open_socket("/live", &[("Sec-WebSocket-Protocol", "chat")]).await;
        assert_eq!((agent.head.status(), agent.head.header("px-error")), (502, Some("upstream_error")));
        let body: serde_json::Value = serde_json::from_str(&agent.body().await).unwrap();
        assert_eq!(body["upstream_status"], 101, "{body}");
    }
}

#[tokio::test]
async fn a_handshake_that_breaks_the_rules_is_refused_before_anything_is_sent() {
    let mut scene = Scene::open().await;
    for (headers, status, code) in [
        (&[("Sec-WebSocket-Version", "8")][..], 426, "websocket_version"),
        (&[("Sec-WebSocket-Key", "short")], 400, "invalid_handshake"),
        (&[("Idempotency-Key", "one")], 400, "invalid_handshake"),
        (&[("Content-Length", "1")], 400, "invalid_handshake"),
        (&[("X-PX-Body", "1")], 400, "unknown_header"),
    ] {
        let agent = scene.open_socket("/live", headers).await;
        assert_eq!((agent.head.status(), agent.head.header("px-error")), (status, Some(code)), "{headers:?}");
    }
    let agent =
        Socket::open(scene.address(), "/p/api/live", &[("Authorization", "Bearer px_agent_no")]).await;
    assert_eq!((agent.head.status(), agent.head.header("px-error")), (401, Some("invalid_key")));
    let named = [("X-PX-Key", scene.key()), ("X-PX-Credential", "api"), ("X-PX-Method", "POST")];
    let target = scene.host.url("/live");
    let headers = [&named[..], &[("X-PX-Target", target.as_str())]].concat();
    let agent = Socket::open(scene.address(), "/forward", &headers).await;
    assert_eq!((agent.head.status(), agent.head.header("px-error")), (400, Some("invalid_handshake")));
    let plain = scene.app.default_agent().client.get("/forward").send().await;
    plain.problem(405, "method_not_allowed");
    let named = scene.app.default_agent().forward("api", "WEBSOCKET", &target).send().await;
    named.problem(400, "invalid_method");
    assert!(scene.host.accepted_by_now().is_none());
}

#[tokio::test]
async fn another_upgrade_and_an_older_http_stay_a_plain_get() {
    let site = Site::new().await;
    site.policy(&json!({"auto_approve_methods": ["GET"]})).await;
    let upgrade =
        site.app.anonymous().get("/p/api/x").header("connection", "upgrade").header("upgrade", "h2c");
    upgrade.header("authorization", &format!("Bearer {}", site.agent.key)).send().await.forwarded(200);
    assert_eq!(site.upstream.received(1).await[0].header("upgrade"), None);
}

#[tokio::test]
async fn a_sidecar_carries_no_websocket() {
    let scene = Scene::open().await;
    let sidecar = Upstream::http().await;
    let body = json!({
        "name": "signed", "connector": "sidecar", "api_base": sidecar.url("/forward"),
        "allowed_hosts": [scene.host.addr().to_string()],
    });
    scene.app.owner().add_credential(&body).await;
    let bearer = format!("Bearer {}", scene.key());
    let agent = Socket::open(scene.address(), "/p/signed/live", &[("Authorization", &bearer)]).await;
    assert_eq!((agent.head.status(), agent.head.header("px-error")), (501, Some("websocket_unsupported")));
    assert!(sidecar.requests().is_empty());
}

/// An implementation that is not ours: that of Node, which needs an option before version 22.
#[tokio::test]
async fn node_talks_through_the_entrance() {
    let code = r"
        const [url, key] = process.argv.slice(1);
        const socket = new WebSocket(url, { protocols: ['chat'], headers: { Authorization: 'Bearer ' + key } });
        socket.onopen = () => socket.send('hello');
        socket.onmessage = event => { console.log(event.data); socket.close(4002, 'done'); };
        socket.onerror = event => console.log('error', event.message);
        socket.onclose = event => console.log(event.code, event.wasClean, socket.protocol);";
    let scene = Scene::answering(Setup::new(), |head| {
        accepted(head).replace("\r\n\r\n", "\r\nSec-WebSocket-Protocol: chat\r\n\r\n")
    })
    .await;
    scene.policy(&json!({"auto_approve_methods": ["WEBSOCKET"]})).await;
    let mut host = scene.host;
    let url = format!("ws://{}/p/api/live", scene.app.address());
    let key = scene.app.bootstrap["agent_key"].as_str().unwrap();
    let mut node = std::process::Command::new("node");
    node.args(["--experimental-websocket", "-e", code, &url, key]);
    let running = tokio::spawn(run(node));
    let mut other = host.accept().await;
    assert_eq!(other.message().await, "hello");
    other.text(&format!("<{SECRET}>")).await;
    let close = other.receive().await.unwrap();
    assert_eq!((close.opcode, close.close_code()), (CLOSE, 4002));
    other.close(4002, "done").await;
    let ran = running.await.unwrap().expect(0);
    assert_eq!(ran.stdout, "<[REDACTED:api]>\n4002 true chat\n", "{ran:?}");
}
