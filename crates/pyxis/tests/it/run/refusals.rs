//! Things that the proxy refuses, and the words that a tool prints about them.

use std::io::{Read, Write};
use std::net::TcpStream;

use pyxis_testkit::tls::{Authority, HTTP_1_1};
use pyxis_testkit::upstream::Upstream;
use serde_json::json;

use super::Scene;
use super::scene::Running;
use crate::support::app::run;

fn start(scene: &Scene) -> Running {
    Running::start(scene.command(&[], Running::SCRIPT))
}

/// Sends bytes to the proxy and returns the beginning of its answer.
fn send(running: &Running, bytes: &str) -> String {
    let mut stream = TcpStream::connect(&running.address).unwrap();
    stream.write_all(bytes.as_bytes()).unwrap();
    let mut answer = vec![0; 4096];
    let length = stream.read(&mut answer).unwrap();
    String::from_utf8_lossy(&answer[..length]).into_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_proxy_serves_only_those_who_have_its_token() {
    let scene = Scene::new().await;
    let running = start(&scene);
    let host = scene.site.upstream.addr();
    for authorization in
        ["", "Proxy-Authorization: Basic d3Jvbmc6eA==\r\n", "Proxy-Authorization: Bearer x\r\n"]
    {
        let answer =
            send(&running, &format!("CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n{authorization}\r\n"));
        assert!(answer.starts_with("HTTP/1.1 407"), "{answer}");
        assert!(answer.to_lowercase().contains("proxy-authenticate: basic"), "{answer}");
    }
    assert_eq!(running.token.len(), ":x".len() + 64, "a token of 32 random bytes");
    assert!(scene.site.upstream.requests().is_empty());
}

#[tokio::test]
async fn a_tunnel_never_leads_to_a_private_address() {
    let scene = Scene::new().await;
    let other = Upstream::http().await;
    for url in [format!("https://127.0.0.3:{}/", other.port()), "https://169.254.169.254/".to_owned()] {
        let mut command = scene.command(&["--others", "tunnel"], &["curl", "-sS", &url]);
        command.env_remove("PX_EGRESS_ALLOW");
        let ran = run(command).await;
        assert_ne!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stderr.contains("403") && ran.stderr.contains("PX_EGRESS_ALLOW"), "{ran:?}");
    }
    assert_eq!(other.connections(), 0);
}

#[tokio::test]
async fn a_host_without_a_credential_is_tunneled_unread() {
    let scene = Scene::new().await;
    let tls = Authority::new().server(&["127.0.0.3"], &[pyxis_testkit::tls::HTTP_2]);
    let other = Upstream::listen(([127, 0, 0, 3], 0).into(), Some(tls)).await;
    // The certificate is shown by the tool: it is that of the host.
    let shown = ["-w", " %{certs}", "-k", "-H", "Authorization: Bearer own", &other.url("/x")];
    let curl = [&["curl", "-sSf"], &shown[..]].concat();
    let ran = scene.run(&[], &curl).await.expect(0);
    assert!(ran.stdout.starts_with("ok") && !ran.stdout.contains("Pyxis"), "{ran:?}");
    assert_eq!(other.requests()[0].header("authorization"), Some("Bearer own"));
    let refused = scene.run(&["--others", "refuse"], &curl).await;
    assert!(refused.stderr.contains("--others tunnel"), "{refused:?}");
    assert_eq!(other.connections(), 1);
}

#[tokio::test]
async fn a_placeholder_does_not_reach_a_host_without_a_credential() {
    let scene = Scene::new().await;
    let other = Upstream::listen(([127, 0, 0, 3], 0).into(), None).await;
    let url = other.url("/x");
    let passed = scene.run(&[], &["curl", "-sS", &url]).await.expect(0);
    assert_eq!(passed.stdout, "ok");
    let refused = scene.run(&[], &["curl", "-sS", "-H", "X-Api-Key: px_placeholder_a", &url]).await.expect(0);
    assert!(refused.stdout.contains("has a placeholder"), "{refused:?}");
    let body = scene.run(&[], &["curl", "-sS", "-d", "key=px_placeholder_a", &url]).await.expect(0);
    assert!(!body.stdout.contains("ok"), "{body:?}");
    let seen = other.requests();
    assert!(seen.iter().all(|request| !request.text().contains("px_placeholder")), "{seen:?}");
}

#[tokio::test]
async fn a_host_with_several_credentials_needs_a_choice() {
    let scene = Scene::new().await;
    scene.credential("other", &json!({"secret": "another-canary"})).await;
    let host = scene.site.upstream.addr().to_string();
    let url = scene.url("/");
    let ambiguous = scene.run(&[], &["curl", "-sS", &url]).await.expect(0);
    assert!(ambiguous.stdout.contains(&format!("--use {host}=api")), "{ambiguous:?}");
    let chosen = scene.run(&["--use", &format!("{host}=api")], &["curl", "-sS", &url]).await.expect(0);
    assert_eq!(chosen.stdout, "ok");
    scene.only_request();
    let unknown = scene.run(&["--use", &format!("{host}=apj")], &["true"]).await.expect(1);
    assert!(unknown.stderr.contains("did you mean api"), "{unknown:?}");
}

#[tokio::test]
async fn the_command_cannot_tell_pyxis_to_use_another_credential() {
    let scene = Scene::new().await;
    let url = scene.url("/");
    for header in ["X-PX-Credential: other", "X-PX-Target: https://evil.example/", "X-PX-Entry-Point: mcp"] {
        let ran = scene.run(&[], &["curl", "-sS", "-H", header, &url]).await.expect(0);
        assert!(ran.stdout.contains("belongs to Pyxis"), "{ran:?}");
    }
    let host = scene.run(&[], &["curl", "-sS", "-H", "Host: evil.example", &url]).await.expect(0);
    assert!(host.stdout.contains("does not match the connection"), "{host:?}");
    assert!(scene.site.upstream.requests().is_empty());
    let reason = scene.run(&[], &["curl", "-sS", "-H", "X-PX-Reason: to see", &url]).await.expect(0);
    assert_eq!(reason.stdout, "ok");
}

#[tokio::test]
async fn an_upstream_with_a_bad_certificate_gets_nothing_and_the_tool_learns_why() {
    let scene = Scene::new().await;
    let (own, http) = (scene.authority(), &[HTTP_1_1]);
    for (name, tls, reason) in [
        ("unknown", Authority::new().server(&["127.0.0.4"], http), "certificate is not trusted"),
        ("expired", own.server_until(&["127.0.0.4"], http, 2020), "certificate has expired"),
        ("misnamed", own.server(&["127.0.0.5"], http), "certificate is for another name"),
    ] {
        let upstream = Upstream::listen(([127, 0, 0, 4], 0).into(), Some(tls)).await;
        scene.credential(name, &json!({"allowed_hosts": [upstream.addr().to_string()]})).await;
        let ran = scene.run(&[], &["curl", "-sS", "-i", &upstream.url("/")]).await.expect(0);
        assert!(ran.stdout.contains("502") && ran.stdout.contains(reason), "{name}: {ran:?}");
        assert!(upstream.requests().is_empty(), "{name}");
    }
}

#[tokio::test]
async fn half_a_handshake_of_a_websocket_is_refused_with_an_explanation() {
    let scene = Scene::new().await;
    let upgrade = [
        "curl",
        "-sS",
        "-i",
        "--http1.1",
        "-H",
        "Connection: Upgrade",
        "-H",
        "Upgrade: websocket",
        &scene.url("/"),
    ];
    let ran = scene.run(&[], &upgrade).await.expect(0);
    assert!(ran.stdout.contains("HTTP/1.1 426"), "{ran:?}");
    assert!(ran.stdout.contains("unsupported WebSocket version; supported: 13"), "{ran:?}");
}

#[tokio::test]
async fn a_key_that_the_server_refuses_ends_the_run_before_the_command() {
    let scene = Scene::new().await;
    let mut command = scene.command(&[], &["echo", "started"]);
    command.env("PX_AGENT_KEY", "px_agent_wrong");
    let ran = run(command).await.expect(1);
    assert!(ran.stdout.is_empty() && ran.stderr.contains("401"), "{ran:?}");
}

#[tokio::test]
async fn parallel_requests_of_one_command_all_arrive() {
    let scene = Scene::new().await;
    let url = scene.url("/?n=[1-40]");
    let curl = ["curl", "-sSf", "--parallel", "--parallel-max", "20", &url];
    let ran = scene.run(&[], &curl).await.expect(0);
    assert_eq!(ran.stdout, "ok".repeat(40), "{ran:?}");
    assert_eq!(scene.site.upstream.requests().len(), 40);
}

#[tokio::test]
async fn a_tunnel_serves_its_own_host_only() {
    let scene = Scene::new().await;
    scene.credential("named", &json!({"allowed_hosts": ["api.example.invalid"]})).await;
    // A denied request needs no resolver.
    scene.site.owner.set_policy("named", &json!({"deny_urls": ["/x"]})).await;
    let own = scene.run(&[], &["curl", "-sS", "https://api.example.invalid/x"]).await.expect(0);
    assert!(own.stdout.contains("policy"), "its certificate is trusted, and Pyxis answers: {own:?}");

    let elsewhere = ["--connect-to", "evil.invalid:443:api.example.invalid:443", "https://evil.invalid/x"];
    let other = scene.run(&[], &[&["curl", "-sS", "-k"], &elsewhere[..]].concat()).await;
    assert_ne!(other.code, Some(0), "{other:?}");
    let refusal = "refused a TLS connection for evil.invalid in a tunnel to api.example.invalid";
    assert!(other.stderr.contains(refusal), "{other:?}");
}
