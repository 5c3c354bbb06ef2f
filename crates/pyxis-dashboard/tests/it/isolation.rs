//! Two workspaces with the same names in them: no page of one shows or changes anything in the other.

use http::StatusCode;
use http_body_util::BodyExt;
use pyxis_core::approval_mode::{ApprovalState, Role};
use pyxis_core::policy::Policy;
use pyxis_gateway::Actor;
use pyxis_gateway::admin::agents::{self, AgentInput, AgentScope};
use pyxis_gateway::admin::{credentials, grants, people, policies};
use pyxis_gateway::approvals::view;
use pyxis_testkit::database::{Fixture, TestDatabase};
use pyxis_testkit::engines;

use crate::support::{Browser, Page, Server, Team};

/// An unused id, and a transaction that does not exist.
const NOBODY: &str = "0190a2b4-0000-7000-8000-000000000001";
const NO_TXN: &str = "7d9f5e0a-4f0b-4a53-9a3e-3a1f6d2f8c11";

/// A team with a bit of everything, and a stranger who owns another one.
struct Scene {
    server: Server,
    ours: Team,
    ana: Browser,
    theirs: Team,
    eve: Browser,
    ids: Ids,
}

/// Ids of the team's things.
#[derive(Clone)]
struct Ids {
    agent: String,
    person: String,
    grant: String,
    waiting: String,
}

impl Ids {
    /// The same path with unused ids.
    fn of_nothing(&self, path: &str) -> String {
        let ids = [(&self.agent, NOBODY), (&self.person, NOBODY), (&self.grant, NOBODY)];
        let ids = ids.into_iter().chain([(&self.waiting, NO_TXN)]);
        ids.fold(path.to_owned(), |path, (id, none)| path.replace(id.as_str(), none))
    }
}

impl Fixture for Scene {
    async fn start(database: TestDatabase) -> Self {
        let server = Server::start(database).await;
        let (ours, mut ana) = server.with_owner().await;
        let theirs = server.team("rival", "eve@example.com").await;
        let mut eve = server.browser();
        eve.use_link(&theirs.link).await;
        let actor = Actor::cli(ours.id);
        let bot = AgentInput {
            name: "acme-bot".into(),
            rate_limit_per_hour: None,
            max_pending: None,
            credentials: AgentScope::All,
        };
        let (bot, _) = agents::create(&server.gateway, &actor, bot).await.unwrap();
        let policy = Policy::from_json(br#"{"deny_urls":["/acme/never"]}"#).unwrap();
        policies::put(&server.gateway, &actor, "billing", &policy).await.unwrap();
        let (bo, _) = people::add(&server.gateway, &actor, "bo@acme.example", Role::Member).await.unwrap();
        let denied = server.post_pending(&ours, "/acme/denied", "acme wants it", "{}").await;
        post(&mut ana, &format!("/app/approvals/{denied}/deny"), &[]).await;
        let granted = server.post_pending(&ours, "/acme/granted", "acme wants it", "{}").await;
        let to = format!("/app/approvals/{granted}/approve");
        post(&mut ana, &to, &[("grant_seconds", "900")]).await;
        let grant = grants::list(&server.gateway.store, ours.id, false, server.gateway.now())
            .await
            .unwrap()
            .remove(0)
            .id
            .to_string();
        let waiting = server.post_pending(&ours, "/acme/waits", "acme wants it", "{}").await;
        let ids = Ids { agent: bot.row.id.to_string(), person: bo.id.to_string(), grant, waiting };
        Self { server, ours, ana, theirs, eve, ids }
    }
}

impl Scene {
    /// Everything of the team that a stranger could want to change.
    async fn ours(&self) -> String {
        let (gateway, team) = (&self.server.gateway, self.ours.id);
        let agents = agents::list(&gateway.store, team).await.unwrap();
        let agents: Vec<_> = agents
            .iter()
            .map(|one| (&one.row.name, &one.row.key_hint, one.row.disabled_at, &one.credentials))
            .collect();
        let credentials = credentials::list(&gateway.store, team).await.unwrap();
        let credentials: Vec<_> =
            credentials.iter().map(|row| (&row.name, &row.description, &row.allowed_hosts)).collect();
        let policy = policies::get(&gateway.store, team, "billing").await.unwrap().map(|(_, policy)| policy);
        let grants = grants::list(&gateway.store, team, false, gateway.now()).await.unwrap();
        let grants: Vec<_> = grants.iter().map(|grant| (grant.id, grant.expires_at)).collect();
        let people = people::list(&gateway.store, team).await.unwrap();
        let people: Vec<_> = people.iter().map(|user| (&user.email, user.role, user.disabled_at)).collect();
        let waiting = self.ids.waiting.parse().unwrap();
        let state = view::load_view(gateway, team, waiting).await.unwrap().row.state;
        assert_eq!(state, ApprovalState::Pending);
        format!("{agents:?} {credentials:?} {policy:?} {grants:?} {people:?}")
    }
}

/// Sends a form with the token of the account page, which is valid for all of them.
async fn post(browser: &mut Browser, path: &str, fields: &[(&str, &str)]) -> Page {
    browser.submit("/app/account", path, fields).await
}

/// Texts that only the team has.
const OURS: [&str; 5] = ["acme/", "acme-bot", "acme.example", "acme wants", "ana@"];

engines! {
    async fn no_page_shows_what_another_workspace_has(scene: Scene) {
        let Scene { server, mut ana, mut eve, .. } = scene;
        server.gateway.audit.flush().await.unwrap();
        for (path, told) in [
            ("/app/inbox", true),
            ("/app/inbox?q=acme", true),
            ("/app/decided", true),
            ("/app/agents", true),
            ("/app/credentials", false),
            ("/app/credentials/billing", false),
            ("/app/policies", true),
            ("/app/policies/billing", true),
            ("/app/audit", true),
            ("/app/audit?q=acme", true),
            ("/app/audit/export.csv", true),
            ("/app/audit/export.jsonl", true),
            ("/app/people", true),
        ] {
            let (mine, foreign) = (ana.get(path).await, eve.get(path).await);
            assert_eq!((mine.status, foreign.status), (StatusCode::OK, StatusCode::OK), "{path}");
            // The shell names the signed-in person.
            let mine = OURS[..4].iter().any(|text| mine.text.contains(text));
            assert_eq!(mine, told, "{path}");
            for text in OURS {
                assert!(!foreign.text.contains(text), "{path} shows {text}: {}", foreign.text);
            }
        }
    }

    async fn what_another_workspace_has_is_like_nothing_to_every_page_and_form(scene: &mut Scene) {
        let before = scene.ours().await;
        let ids = scene.ids.clone();
        let Ids { agent, person, grant, waiting } = &ids;
        for path in [
            format!("/app/agents/{agent}"),
            format!("/app/people/{person}"),
            format!("/app/approvals/{waiting}"),
            format!("/app/events?txn={waiting}"),
        ] {
            let none = ids.of_nothing(&path);
            let (foreign, none) = (scene.eve.get(&path).await, scene.eve.get(&none).await);
            assert_eq!(foreign.status, StatusCode::NOT_FOUND, "{path}");
            assert_eq!(foreign.text, none.text, "{path}");
        }
        let of_agent = ["edit", "rotate", "disable", "enable", "deny-all", "remove"];
        let of_agent = of_agent.map(|verb| format!("/app/agents/{agent}/{verb}"));
        let of_person = ["link", "role", "disable", "grants", "withdraw"];
        let of_person = of_person.map(|verb| format!("/app/people/{person}/{verb}"));
        let of_txn = ["approve", "deny"].map(|verb| format!("/app/approvals/{waiting}/{verb}"));
        let of_grant = format!("/app/grants/{grant}/revoke");
        let fields = [
            ("name", "stolen"), ("scope", "all"), ("role", "owner"), ("approve", "billing"),
            ("credential", "billing"),
        ];
        for path in of_agent.iter().chain(&of_person).chain(&of_txn).chain([&of_grant]) {
            let none = ids.of_nothing(path);
            let (foreign, none) =
                (post(&mut scene.eve, path, &fields).await, post(&mut scene.eve, &none, &fields).await);
            assert_eq!((foreign.status, foreign.location()), (none.status, none.location()), "{path}");
            assert!(foreign.status.is_client_error(), "{path}: {}", foreign.status);
        }
        assert_eq!(scene.ours().await, before);
    }

    async fn what_has_the_same_name_is_each_workspaces_own(scene: &mut Scene) {
        let before = scene.ours().await;
        let policy = [("method_POST", "auto"), ("min_approvals", "1"), ("channel", "dashboard")];
        post(&mut scene.eve, "/app/policies/billing", &policy).await;
        let (gateway, theirs) = (&scene.server.gateway, scene.theirs.id);
        assert!(policies::get(&gateway.store, theirs, "billing").await.unwrap().is_some());
        let edit = [("kind", "bearer"), ("description", "stolen"), ("allowed_hosts", "evil.example.com")];
        post(&mut scene.eve, "/app/credentials/billing/edit", &edit).await;
        assert_eq!(credentials::get(&gateway.store, theirs, "billing").await.unwrap().description, "stolen");
        post(&mut scene.eve, "/app/policies/billing/remove", &[]).await;
        assert!(policies::get(&gateway.store, theirs, "billing").await.unwrap().is_none());
        post(&mut scene.eve, "/app/credentials/billing/remove", &[]).await;
        assert!(credentials::list(&gateway.store, theirs).await.unwrap().is_empty());
        assert_eq!(scene.ours().await, before);
    }

    async fn the_events_of_another_workspace_are_not_told(scene: Scene) {
        let Scene { server, ours, theirs, mut eve, .. } = scene;
        let mut stream = eve.open("/app/events").await.into_body();
        let mut next = async || {
            let frame = stream.frame().await.expect("a message").unwrap();
            String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap()
        };
        assert_eq!(next().await, "event: inbox\ndata: {\"pending\":0,\"tasks\":0}\n\n");
        server.post_pending(&ours, "/v1/more", "", "{}").await;
        server.post_pending(&theirs, "/v1/own", "", "{}").await;
        assert_eq!(next().await, "event: inbox\ndata: {\"pending\":1,\"tasks\":0}\n\n");
    }
}
