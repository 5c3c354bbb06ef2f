//! A host that refuses clients without a certificate from its own authority
//! (`docs/reference/credentials.md#client-certificates`).

use pyxis_testkit::tls::{Authority, HTTP_1_1, HTTP_2};
use pyxis_testkit::upstream::Upstream;
use serde_json::{Value, json};

use crate::support::{Setup, Site, until};

const CLOSED: &str = "the host closed the connection early";
const NOT_ACCEPTED: &str = "the host does not accept the client certificate";

/// A host of one authority, for clients of another.
struct Scene {
    site: Site,
    host: Upstream,
    clients: Authority,
    _roots: tempfile::NamedTempFile,
}

impl Scene {
    async fn new(protocols: &[&[u8]]) -> Self {
        let (servers, clients) = (Authority::new(), Authority::new());
        let roots = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(roots.path(), servers.pem()).unwrap();
        let site = Site::bare(Setup::new().env("PX_EGRESS_CA_FILE", roots.path().to_str().unwrap())).await;
        let server = servers.server_for(&clients, &["127.0.0.1"], protocols);
        let host = Upstream::listen(([127, 0, 0, 1], 0).into(), Some(server)).await;
        Self { site, host, clients, _roots: roots }
    }

    async fn credential(&self, name: &str, auth: Value, secret: &Value) {
        let fields = json!({"auth": auth, "secret": secret, "allowed_hosts": [self.host.addr().to_string()], "allow_http": false});
        self.site.credential(name, &fields).await;
    }

    /// The host refuses, and the agent is told `why`. The host's last message may come too late for a request. The
    /// agent is then told only that the connection broke off, and asks again.
    async fn refuses(&self, name: &str, why: &str) {
        let told = until("the host's last word", async || {
            let call = self.site.agent.forward(name, "GET", &self.host.url("/"));
            let problem = call.send().await.problem(502, "upstream_error");
            let told = problem["detail"].as_str().unwrap().to_owned();
            (told == why || !told.starts_with(CLOSED)).then_some(told)
        });
        assert_eq!(told.await, why);
    }
}

fn identity((certificate, key): (String, String)) -> Value {
    json!({"certificate": certificate, "private_key": key})
}

#[tokio::test]
async fn the_certificate_of_a_credential_opens_the_host_and_its_key_is_nowhere_to_be_seen() {
    for protocols in [&[HTTP_1_1][..], &[HTTP_2, HTTP_1_1]] {
        let scene = Scene::new(protocols).await;
        let (certificate, key) = scene.clients.client("agent.example.com");
        scene.credential("good", json!({"kind": "mtls"}), &identity((certificate, key.clone()))).await;
        let call = scene.site.agent.forward("good", "GET", &scene.host.url("/v1/items?a=1"));
        let answer = call.send().await.forwarded(200);
        assert_eq!(answer.text(), "ok");
        let arrived = scene.host.received(1).await.remove(0);
        assert_eq!(arrived.target, "/v1/items?a=1");
        assert_eq!(arrived.header("authorization"), None);
        let line = key.lines().nth(1).unwrap();
        assert!(!scene.site.app.logs().contains(line));
        // The probe reports it as well.
        let body = json!({"url": scene.host.url("/me")});
        let probe = scene.site.owner.client.post("/admin/credentials/good/verify", &body).send().await;
        assert_eq!(probe.expect(200).json()["status"], 200);
    }
}

#[tokio::test]
async fn without_a_certificate_or_with_a_strangers_the_host_refuses_and_the_agent_is_told_why() {
    for (protocols, wants, not_accepted) in [
        (&[HTTP_1_1][..], "the host requires a client certificate, and none was sent", NOT_ACCEPTED),
        // HTTP/2 keeps only that the host sent a last message.
        (
            &[HTTP_2, HTTP_1_1],
            CLOSED,
            "the host closed the connection early; it may not accept the client certificate",
        ),
    ] {
        let scene = Scene::new(protocols).await;
        scene.credential("none", json!({"kind": "bearer"}), &json!("t0ken")).await;
        scene.refuses("none", wants).await;
        let stranger = identity(Authority::new().client("agent.example.com"));
        scene.credential("stranger", json!({"kind": "mtls"}), &stranger).await;
        scene.refuses("stranger", not_accepted).await;
        assert!(scene.host.requests().is_empty(), "nothing of a request arrived");
    }
}

#[tokio::test]
async fn credentials_do_not_share_connections_so_none_gets_in_with_anothers_certificate() {
    let scene = Scene::new(&[HTTP_1_1]).await;
    let good = identity(scene.clients.client("one.example.com"));
    scene.credential("good", json!({"kind": "mtls"}), &good).await;
    let url = scene.host.url("/");
    scene.site.agent.forward("good", "GET", &url).send().await.forwarded(200);
    let stranger = identity(Authority::new().client("two.example.com"));
    scene.credential("stranger", json!({"kind": "mtls"}), &stranger).await;
    scene.refuses("stranger", NOT_ACCEPTED).await;
    // The new certificate replaces the old one immediately.
    let body = json!({"secret": stranger});
    scene.site.owner.client.put("/admin/credentials/good/secret", &body).send().await.expect(200);
    scene.refuses("good", NOT_ACCEPTED).await;
    assert_eq!(scene.host.requests().len(), 1);
}
