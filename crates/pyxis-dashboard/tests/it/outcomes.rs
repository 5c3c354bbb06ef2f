//! The outcome of an approved request on its page.

use std::net::SocketAddr;

use http::StatusCode;
use pyxis_core::approval_mode::Role;
use pyxis_core::policy::Policy;
use pyxis_gateway::admin::rights::{self, Right};
use pyxis_gateway::admin::{people, policies};
use pyxis_gateway::{Actor, Config, workers};
use pyxis_testkit::database::{Fixture, TestDatabase};
use pyxis_testkit::engines;
use pyxis_testkit::upstream::{Reply, Upstream};

use crate::support::{Browser, CANARY, Server, Team};

/// A team whose requests reach an API.
struct Scene {
    server: Server,
    team: Team,
    owner: Browser,
    upstream: Upstream,
}

impl Fixture for Scene {
    async fn start(database: TestDatabase) -> Self {
        let upstream = Upstream::http().await;
        let at: SocketAddr = upstream.addr();
        let server = Server::reaching(database, Config::default(), &[at]).await;
        let (team, owner) = server.with_owner().await;
        server.add_bearer(team.id, "live", &at.to_string()).await;
        Self { server, team, owner, upstream }
    }
}

impl Scene {
    /// A request that its owner approves; its page.
    async fn approved(&mut self) -> String {
        // The same request again would get the stored response.
        let target = self.upstream.url(&format!("/v1/pay/{}", self.upstream.requests().len()));
        let txn = self.server.accepted(self.team.request("live", "POST", &target)).await;
        let page = format!("/app/approvals/{txn}");
        let approved = self.owner.submit(&page, &format!("{page}/approve"), &[("from", "approval")]).await;
        assert_eq!(approved.location(), page);
        page
    }

    /// Page of an approved request after it was sent.
    async fn sent(&mut self, reply: Reply) -> String {
        self.upstream.reply(reply);
        let page = self.approved().await;
        workers::send_all(&self.server.gateway).await.unwrap();
        page
    }

    async fn read(&mut self, page: &str) -> String {
        self.owner.get(page).await.text
    }
}

engines! {
    async fn the_page_follows_an_approved_request_to_its_answer(scene: &mut Scene) {
        scene.upstream.reply(Reply::json(&format!("{{\"id\":\"inv_<1>\",\"echo\":\"Bearer {CANARY}\"}}")));
        let page = scene.approved().await;
        let waiting = scene.read(&page).await;
        for shown in ["data-follow", "<noscript><meta http-equiv=\"refresh\" content=\"2\"></noscript>", "/static/approval."] {
            assert!(waiting.contains(shown), "{shown}: {waiting}");
        }
        assert!(!waiting.contains("data-response"));
        workers::send_all(&scene.server.gateway).await.unwrap();
        for path in [page.clone(), page.replace("/app/approvals/", "/approve/")] {
            let text = scene.read(&path).await;
            for shown in ["Status 200", "application/json", "&quot;id&quot;: &quot;inv_&lt;1&gt;&quot;", "[REDACTED:live]"] {
                assert!(text.contains(shown), "{path}: {shown}");
            }
            assert!(!text.contains(CANARY) && !text.contains("data-follow"), "{path}");
            assert!(!text.contains("http-equiv") && !text.contains("/static/approval."), "{path}: final");
        }
    }

    async fn an_answer_is_read_by_who_may_decide_and_by_nobody_else(scene: &mut Scene) {
        scene.upstream.reply(Reply::ok("the answer text"));
        let mut member = scene.server.with_person(&scene.team, "mem@example.com", Role::Member).await;
        let mut admin = scene.server.with_person(&scene.team, "bo@example.com", Role::Admin).await;
        let page = scene.approved().await;
        workers::send_all(&scene.server.gateway).await.unwrap();
        assert!(scene.read(&page).await.contains("the answer text"));
        assert!(admin.get(&page).await.text.contains("the answer text"));
        let refused = member.get(&page).await;
        assert_ne!(refused.status, StatusCode::OK);
        assert!(!refused.text.contains("the answer text"));

        grant_live(scene).await;
        assert!(member.get(&page).await.text.contains("the answer text"), "may approve");
        let policy = Policy { allowed_approvers: vec!["ana@example.com".into()], ..Policy::default() };
        policies::put(&scene.server.gateway, &Actor::cli(scene.team.id), "live", &policy).await.unwrap();
        let text = member.get(&page).await.text;
        assert!(text.contains("200 from upstream") && !text.contains("the answer text"), "not listed");
        assert!(admin.get(&page).await.text.contains("the answer text"), "a manager");
    }

    async fn a_long_answer_is_cut_and_a_binary_one_is_only_described(scene: &mut Scene) {
        let long = scene.sent(Reply::ok(format!("{}the end", "x".repeat(6000))).header("content-type", "text/plain")).await;
        let text = scene.read(&long).await;
        assert!(text.contains(&"x".repeat(4096)) && !text.contains(&"x".repeat(4097)));
        assert!(text.contains("… 1,911 bytes more") && !text.contains("the end"));
        let binary = scene.sent(Reply::ok(vec![0xff; 2048]).header("content-type", "image/png")).await;
        let text = scene.read(&binary).await;
        for shown in ["image/png", "2 KiB", "The response is binary and is not shown."] {
            assert!(text.contains(shown), "{shown}");
        }
        let empty = scene.sent(Reply::new(204)).await;
        let text = scene.read(&empty).await;
        assert!(text.contains("Status 204") && text.contains("The response has no body."), "{text}");
        let refused = scene.sent(Reply::new(422).body("no such customer")).await;
        let text = scene.read(&refused).await;
        assert!(text.contains("Status 422") && text.contains("no such customer"), "{text}");
    }

    async fn values_that_look_like_secrets_are_masked(scene: &mut Scene) {
        let body = r#"{"id":"c_1","access_token":"tok_hidden","card":{"number":"4000123412341234","brand":"visa"},"cvv":987}"#;
        let page = scene.sent(Reply::json(body)).await;
        let text = scene.read(&page).await;
        for shown in [
            "&quot;access_token&quot;: &quot;•••&quot;",
            "&quot;number&quot;: &quot;•••&quot;",
            "&quot;brand&quot;: &quot;visa&quot;",
            "&quot;cvv&quot;: &quot;•••&quot;",
            "Values that look like secrets are masked.",
        ] {
            assert!(text.contains(shown), "{shown}: {text}");
        }
        for hidden in ["tok_hidden", "4000123412341234"] {
            assert!(!text.contains(hidden), "{hidden}");
        }
        let plain = scene.sent(Reply::json(r#"{"id":"c_2"}"#)).await;
        assert!(!scene.read(&plain).await.contains("look like secrets"));
    }

    async fn a_call_that_failed_says_why(scene: &mut Scene) {
        let page = scene.sent(Reply::abort()).await;
        let text = scene.read(&page).await;
        assert!(text.contains("data-response") && text.contains("Failed"), "{text}");
        assert!(!text.contains("Status ") && !text.contains("data-follow"), "{text}");
    }
}

/// Lets the member approve requests for `live`.
async fn grant_live(scene: &Scene) {
    let gateway = &scene.server.gateway;
    let user = people::by_email(&gateway.store, scene.team.id, "mem@example.com").await.unwrap();
    let right = Right { approve: true, policy: false };
    rights::set(&gateway.audited, &Actor::cli(scene.team.id), user.id, "live", right).await.unwrap();
}
