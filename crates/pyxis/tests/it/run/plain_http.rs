//! Requests without TLS, which tools send to a proxy with the whole URL.

use pyxis_testkit::upstream::Upstream;
use serde_json::json;

use super::Scene;
use super::scene::SECRET;

/// A host without TLS, with the credential `plain` for it.
async fn plain_host(scene: &Scene, allow_http: bool) -> Upstream {
    let upstream = Upstream::listen(([127, 0, 0, 3], 0).into(), None).await;
    let fields = json!({"allowed_hosts": [upstream.addr().to_string()], "allow_http": allow_http});
    scene.credential("plain", &fields).await;
    upstream
}

#[tokio::test]
async fn a_plain_request_gets_the_secret_attached_if_its_credential_allows_http() {
    let scene = Scene::new().await;
    let upstream = plain_host(&scene, true).await;
    let own = ["-H", "Authorization: Bearer px_placeholder_plain", "-H", "Accept: text/plain"];
    let ran =
        scene.run(&[], &[&["curl", "-sSf", &upstream.url("/x?y=1")], &own[..]].concat()).await.expect(0);
    assert_eq!(ran.stdout, "ok", "{ran:?}");
    let [request] = upstream.requests().try_into().unwrap();
    assert_eq!(request.header("authorization"), Some(format!("Bearer {SECRET}").as_str()));
    assert_eq!((request.target.as_str(), request.header("accept")), ("/x?y=1", Some("text/plain")));
    assert_eq!(request.header("proxy-authorization"), None);
    let record = scene.site.forwards().await.pop().unwrap();
    assert_eq!((&record["method"], &record["detail"]["door"]), (&json!("GET"), &json!("run")), "{record}");
}

#[tokio::test]
async fn a_plain_request_is_refused_if_its_credential_needs_tls() {
    let scene = Scene::new().await;
    let upstream = plain_host(&scene, false).await;
    let ran = scene.run(&[], &["curl", "-sS", "-i", &upstream.url("/x")]).await.expect(0);
    let refusal = "Pyxis: invalid target: plain http, which this credential does not allow; use https";
    assert!(ran.stdout.contains(refusal), "{ran:?}");
    assert_eq!(upstream.connections(), 0);
}
