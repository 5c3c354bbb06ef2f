//! WebSockets of commands (`docs/reference/run.md#websocket`).

use std::net::SocketAddr;

use pyxis_testkit::tls::HTTP_1_1;
use pyxis_testkit::websocket::WebSocketHost;
use serde_json::json;

use super::Scene;
use super::scene::{ADDRESS, SECRET};
use crate::support::app::run;

/// Opens a WebSocket with the means of Node: a tunnel of its proxy, TLS, and the handshake. Then it sends a frame with a
/// placeholder and prints what it receives.
pub(super) const NODE: &str = r"
    const [http, https, tls] = ['http', 'https', 'tls'].map(name => require('node:' + name));
    const url = new URL(process.argv[1]), proxy = new URL(process.env.HTTPS_PROXY);
    const headers = {
        'Proxy-Authorization': 'Basic ' + btoa(proxy.username + ':' + proxy.password),
        Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Version': '13',
        'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
        Authorization: 'Bearer px_placeholder_api',
    };
    const refused = answer => answer.on('end', () => process.exit(0)).pipe(process.stdout);
    const opened = (answer, socket) => {
        console.log(answer.headers['sec-websocket-accept']);
        socket.write(Buffer.from([0x81, 0x85, 0, 0, 0, 0, ...Buffer.from('hello')]));
        socket.on('data', data => process.stdout.write(data.toString('latin1')));
        socket.on('end', () => process.exit(0));
    };
    const ask = (library, options) => library.get(options).on('upgrade', opened).on('response', refused);
    if (url.protocol === 'http:') {
        ask(http, { host: proxy.hostname, port: proxy.port, path: url.href, headers: { ...headers, Host: url.host } });
    } else {
        const path = url.hostname + ':' + url.port;
        http.request({ host: proxy.hostname, port: proxy.port, method: 'CONNECT', path, headers: {
            'Proxy-Authorization': headers['Proxy-Authorization'] } })
            .on('connect', (_, socket) => {
                const createConnection = () => tls.connect({ socket, host: url.hostname });
                ask(https, { host: url.hostname, port: url.port, path: url.pathname, headers, createConnection });
            })
            .end();
    }";

/// A host of WebSockets next to the upstream, with a credential that lets them pass.
pub(super) async fn socket_host(scene: &Scene, has_tls: bool) -> WebSocketHost {
    let tls = has_tls.then(|| scene.authority().server(&["127.0.0.2"], &[HTTP_1_1]));
    let host = WebSocketHost::listen(SocketAddr::from((ADDRESS, 0)), tls).await;
    let fields = json!({"allowed_hosts": [host.addr().to_string()], "allow_http": !has_tls});
    scene.credential("socket", &fields).await;
    scene.site.owner.set_policy("socket", &json!({"auto_approve_methods": ["WEBSOCKET"]})).await;
    host
}

#[tokio::test]
async fn a_websocket_opens_with_the_secret_over_tls_and_without() {
    for has_tls in [true, false] {
        let scene = Scene::new().await;
        let mut host = socket_host(&scene, has_tls).await;
        let url = host.url("/live");
        let running = tokio::spawn(run(scene.command(&["--others", "refuse"], &["node", "-e", NODE, &url])));
        let mut socket = host.accept().await;
        assert_eq!(socket.head.header("authorization"), Some(format!("Bearer {SECRET}").as_str()));
        assert_eq!(socket.head.header("proxy-authorization"), None);
        assert_eq!(socket.message().await, "hello");
        socket.text(&format!("you are {SECRET}")).await;
        socket.close(1000, "").await;
        let ran = running.await.unwrap().expect(0);
        assert!(ran.stdout.starts_with("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\n"), "{ran:?}");
        assert!(ran.stdout.contains("you are [REDACTED:socket]"), "{ran:?}");
        assert!(!format!("{ran:?}").contains(SECRET));
        let record = scene.site.forwards().await.remove(0);
        assert_eq!((&record["method"], &record["detail"]["door"]), (&json!("WEBSOCKET"), &json!("run")));
    }
}

#[tokio::test]
async fn a_websocket_that_asks_or_is_denied_is_explained() {
    let scene = Scene::with(crate::support::Setup::new().env("PX_ENTRANCE_WAIT_SECS", "0")).await;
    let mut host = socket_host(&scene, true).await;
    let url = host.url("/live");
    scene.site.owner.set_policy("socket", &json!({"auto_approve_methods": ["GET"]})).await;
    let ran = scene.run(&[], &["node", "-e", NODE, &url]).await.expect(0);
    assert!(ran.stdout.contains("A person must approve this WEBSOCKET request"), "{ran:?}");
    let list = scene.site.owner.client.get("/approvals?state=pending").send().await.expect(200).json();
    scene.site.owner.approve(list["approvals"][0]["txn_id"].as_str().unwrap()).await;
    let running = tokio::spawn(run(scene.command(&[], &["node", "-e", NODE, &url])));
    let mut socket = host.accept().await;
    assert_eq!(socket.message().await, "hello");
    socket.close(1000, "").await;
    running.await.unwrap().expect(0);
    scene.site.owner.set_policy("socket", &json!({"deny_urls": ["/live"]})).await;
    let ran = scene.run(&[], &["node", "-e", NODE, &url]).await.expect(0);
    assert!(ran.stdout.contains("Pyxis: "), "{ran:?}");
    assert!(host.accepted_by_now().is_none());
}

/// curl sends the headers of a handshake as it is told, and prints what comes after the 101.
#[tokio::test]
async fn curl_opens_a_websocket() {
    let scene = Scene::new().await;
    let mut host = socket_host(&scene, true).await;
    let url = host.url("/live");
    let headers = [
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ];
    let headers: Vec<&str> = headers.iter().flat_map(|header| ["-H", header]).collect();
    let output = scene.home().join("frames");
    let command = ["curl", "-sS", "-N", "--http1.1", "-o", output.to_str().unwrap(), &url];
    let command = [&command, &headers[..]].concat();
    let running = tokio::spawn(run(scene.command(&[], &command)));
    let mut socket = host.accept().await;
    socket.text("hello").await;
    drop(socket);
    let ran = running.await.unwrap();
    let frames = std::fs::read(&output).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    assert!(frames.ends_with(b"\x81\x05hello"), "{frames:?} {ran:?}");
}

#[tokio::test]
async fn another_upgrade_is_refused() {
    let scene = Scene::new().await;
    let url = scene.url("/");
    let upgrade = ["-H", "Connection: Upgrade", "-H", "Upgrade: tls/1.0"];
    let ran = scene.run(&[], &[&["curl", "-sS", "--http1.1", &url], &upgrade[..]].concat()).await.expect(0);
    assert!(ran.stdout.contains("no other upgrade"), "{ran:?}");
    assert!(scene.site.upstream.requests().is_empty());
}
