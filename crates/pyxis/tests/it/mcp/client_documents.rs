//! Clients whose id is the URL of a document about them.

use std::io::Write as _;

use pyxis_testkit::tls::Authority;
use pyxis_testkit::upstream::{Reply, Upstream};
use serde_json::{Value, json};

use super::oauth_client::{REDIRECT, Scene, text};
use crate::support::Setup;

/// A scene, and the server of a client's document.
struct Publisher {
    scene: Scene,
    server: Upstream,
    _roots: tempfile::NamedTempFile,
}

impl Publisher {
    async fn new() -> Self {
        let authority = Authority::new();
        let mut roots = tempfile::NamedTempFile::new().unwrap();
        roots.write_all(authority.pem().as_bytes()).unwrap();
        let server = Upstream::https(&authority, &["localhost"]).await;
        let setup = Setup::new().env("PX_EGRESS_CA_FILE", roots.path().to_str().unwrap());
        let mut scene = Scene::start(setup).await;
        scene.client = json!({"client_id": server.url_at("localhost", "/client.json")});
        Self { scene, server, _roots: roots }
    }

    /// The document as it should be; `changed` replaces members.
    fn document(&self, changed: &Value) -> String {
        let mut document = json!({
            "client_id": self.scene.client["client_id"],
            "client_name": "Published",
            "redirect_uris": [REDIRECT],
            "token_endpoint_auth_method": "none",
        });
        for (member, value) in changed.as_object().unwrap() {
            document[member] = value.clone();
        }
        document.to_string()
    }
}

#[tokio::test]
async fn a_client_is_known_by_its_document_which_is_fetched_once_in_a_while() {
    let publisher = Publisher::new().await;
    let scene = &publisher.scene;
    publisher.server.reply(Reply::json(&publisher.document(&json!({}))));
    let page = scene.consent_page(&[]).await.expect(200).text();
    let host = format!("localhost:{}", publisher.server.port());
    assert!(
        page.contains("Published") && page.contains(&host) && !page.contains("Anyone can choose"),
        "{page}"
    );
    let tokens = scene.tokens().await;
    assert_eq!(scene.status(&text(&tokens, "access_token")).await, 200);
    let renewed = scene.refresh(&text(&tokens, "refresh_token"), &[]).send().await.expect(200).json();
    assert_eq!(scene.status(&text(&renewed, "access_token")).await, 200);
    scene.refresh(&text(&renewed, "refresh_token"), &[("client_secret", "x")]).send().await.expect(401);
    assert_eq!(publisher.server.requests().len(), 1, "the document is kept for a while");
    assert_eq!(scene.connections().await[0]["client_id"], scene.client["client_id"]);
}

#[tokio::test]
async fn a_document_that_is_not_the_clients_own_or_not_a_document_is_refused() {
    let publisher = Publisher::new().await;
    let refused = async |reply: Reply| {
        publisher.server.reply(reply);
        let page = publisher.scene.consent_page(&[]).await.expect(400);
        assert!(
            page.header("location").is_none() && page.text().contains("Not connected"),
            "{}",
            page.text()
        );
    };
    for changed in [
        json!({"client_id": "https://localhost/client.json"}),
        json!({"client_id": null}),
        json!({"redirect_uris": []}),
        json!({"token_endpoint_auth_method": "client_secret_post"}),
        json!({"filler": "x".repeat(20_000)}),
    ] {
        refused(Reply::json(&publisher.document(&changed))).await;
    }
    refused(Reply::json("[]")).await;
    refused(Reply::ok(publisher.document(&json!({})))).await;
    let elsewhere = publisher.server.url_at("localhost", "/other.json");
    refused(Reply::new(302).header("location", &elsewhere)).await;
    let missing = Reply::new(404).header("content-type", "application/json");
    refused(missing.body(publisher.document(&json!({})))).await;
    refused(Reply::json(&publisher.document(&json!({"redirect_uris": ["https://other.example/callback"]}))))
        .await;
    assert_eq!(publisher.server.requests().len(), 10, "a refused document is not kept");
    assert!(
        publisher.server.requests().iter().all(|request| request.target == "/client.json"),
        "no redirect"
    );
}

#[tokio::test]
async fn a_client_id_does_not_reach_into_the_network_behind_the_server() {
    let inside = Upstream::http().await;
    let scene = Scene::start(Setup::new().without("PX_EGRESS_ALLOW")).await;
    let port = inside.port();
    for client_id in [
        format!("https://127.0.0.1:{port}/client.json"),
        format!("https://localhost:{port}/client.json"),
        format!("https://[::1]:{port}/client.json"),
        format!("https://2130706433:{port}/client.json"),
        "https://169.254.169.254/latest/meta-data".to_owned(),
        format!("http://127.0.0.1:{port}/client.json"),
        format!("https://user:password@127.0.0.1:{port}/client.json"),
        "file:///etc/passwd".to_owned(),
        "https://10.0.0.1/".to_owned(),
    ] {
        let page = scene.consent_page(&[("client_id", client_id.as_str())]).await.expect(400).text();
        assert!(page.contains("Not connected"), "{client_id}: {page}");
        assert!(!page.contains("127.0.0.1") && !page.contains("private"), "{client_id}: {page}");
    }
    assert_eq!(inside.connections(), 0);
}

#[tokio::test]
async fn nothing_is_fetched_for_a_stranger() {
    let publisher = Publisher::new().await;
    publisher.server.reply(Reply::json(&publisher.document(&json!({}))));
    let request = publisher.scene.request(&[]);
    let pairs: Vec<_> = request.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let query = super::oauth_client::encoded(&pairs);
    for path in ["/oauth/authorize", "/app/oauth/consent"] {
        let path = format!("{path}?{query}");
        publisher.scene.site.app.anonymous().get(&path).send().await.expect(303);
    }
    publisher.scene.exchange("px_code_unknown", &[]).send().await.expect(400);
    assert_eq!(publisher.server.requests().len(), 0);
}
