//! The developer portal: scorers, API keys, the explorer, the catalogue, issuers.

mod api_keys;
mod catalogue;
mod explorer;
mod models;
mod population;
mod reviews;
mod score_jobs;
mod scorers;
mod self_check;

use http::StatusCode;
use pyxis_core::approval_mode::Role;
use pyxis_core::id::ScorerId;
use pyxis_dashboard::view::routes::ROUTES;
use pyxis_gateway::Actor;
use pyxis_gateway::admin::people;
use pyxis_scoring::service::api_keys::ApiKeyInput;
use pyxis_scoring::service::scorers::{Scorer, ScorerInput};
use pyxis_scoring::service::{api_keys as keys, scorers as scorer_service};
use pyxis_store::users;
use pyxis_testkit::engines;

use crate::support::{Browser, ORIGIN_URL, Server, Team};

/// A team with a scorer, and its owner.
async fn with_scorer(server: &Server) -> (Team, Browser, Scorer) {
    let (team, browser) = server.with_owner().await;
    let scorer = add_scorer(server, &team).await;
    (team, browser, scorer)
}

/// Adds the scorer that the first one gets.
async fn add_scorer(server: &Server, team: &Team) -> Scorer {
    let input = ScorerInput { name: "Airdrop".to_owned(), threshold: None, weights: None };
    scorer_service::create(&server.scoring.audited, &Actor::cli(team.id), input).await.unwrap()
}

async fn terms(server: &Server, team: &Team, id: ScorerId) -> Scorer {
    scorer_service::get(&server.scoring.store, team.id, id, server.scoring.now()).await.unwrap()
}

/// The routes of scoring, with a value in each variable segment.
fn routes(method: &str) -> Vec<String> {
    let words = [
        "scorer",
        "score-job",
        "/app/reviews",
        "api-key",
        "explorer",
        "catalogue",
        "issuers",
        "models",
        "platform",
        "history-requests",
        "/app/stamps",
    ];
    ROUTES
        .iter()
        .filter(|(verb, path)| {
            *verb == method && path.starts_with("/app/") && words.iter().any(|w| path.contains(w))
        })
        .map(|(_, path)| {
            path.replace("{id}", "1").replace("{digest}", &"0".repeat(64)).replace("{did}", "did")
        })
        .collect()
}

engines! {
    async fn without_scoring_its_pages_and_its_navigation_are_not_there(server: Server) {
        let (_, mut browser) = server.with_owner().await;
        assert!(browser.get("/app/inbox").await.text.contains("href=\"/app/scorers\""));
        let mut browser = browser.elsewhere(server.without_scoring());
        assert!(!browser.get("/app/inbox").await.text.contains("/app/scorers"));
        for path in routes("GET") {
            assert_eq!(browser.get(&path).await.status, StatusCode::NOT_FOUND, "{path}");
        }
        for path in routes("POST") {
            let status = browser.submit("/app/agents", &path, &[]).await.status;
            assert!(
                matches!(status, StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED),
                "{path}: {status}"
            );
        }
    }

    async fn no_form_of_scoring_is_taken_from_elsewhere_or_without_its_token(server: Server) {
        let (team, mut browser, _) = with_scorer(&server).await;
        let csrf = browser.get("/app/scorers").await.csrf();
        let token = [("csrf", csrf.as_str())];
        assert!(routes("POST").len() > 15);
        for path in routes("POST") {
            for (origin, fields) in [(ORIGIN_URL, &[("csrf", "x")]), ("https://evil.example", &token)] {
                let refused = browser.post(&path, &[("origin", origin)], fields).await;
                assert_eq!(refused.status, StatusCode::FORBIDDEN, "{path} from {origin}");
            }
        }
        assert_eq!(scorer_service::list(&server.scoring.store, team.id, server.scoring.now()).await.unwrap().len(), 1);
    }

    async fn nothing_of_another_workspace_can_be_seen_or_changed(server: Server) {
        let (team, _, scorer) = with_scorer(&server).await;
        let input = ApiKeyInput::with_name("server");
        let (key, _) = keys::create(&server.scoring, &Actor::cli(team.id), input).await.unwrap();
        let rival = server.team("rival", "eve@example.com").await;
        let mut eve = server.browser();
        eve.use_link(&rival.link).await;
        for path in [format!("/app/scorers/{}", scorer.id), format!("/app/api-keys/{}", key.id)] {
            assert_eq!(eve.get(&path).await.status, StatusCode::NOT_FOUND, "{path}");
            for verb in ["remove", "revoke", "preview"] {
                let answer = eve
                    .submit("/app/scorers", &format!("{path}/{verb}"), &[("threshold", "1"), ("name", "x")])
                    .await;
                assert!(answer.status.is_client_error(), "{path}/{verb}: {}", answer.status);
            }
        }
        assert_eq!(terms(&server, &team, scorer.id).await, scorer);
        assert_eq!(keys::get(&server.scoring.store, team.id, key.id).await.unwrap().revoked_at, None);
    }

    async fn who_does_not_manage_sees_none_of_it(server: Server) {
        let (team, mut owner, _) = with_scorer(&server).await;
        let fields = [("email", "bo@example.com"), ("role", "admin")];
        let added = owner.submit("/app/new/person", "/app/people", &fields).await;
        let link = added.text.split("/link/").nth(1).unwrap();
        let link = format!("/link/{}", link.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap());
        let bo = people::by_email(&server.gateway.store, team.id, "bo@example.com").await.unwrap();
        let mut tx = server.gateway.store.begin().await.unwrap();
        users::set_role(&mut tx, team.id, bo.id, Role::Member).await.unwrap();
        tx.commit().await.unwrap();
        let mut member = server.browser();
        member.use_link(&link).await;
        assert!(!member.get("/app/inbox").await.text.contains("/app/scorers"));
        for path in routes("GET") {
            assert_eq!(member.get(&path).await.status, StatusCode::FORBIDDEN, "{path}");
        }
    }
}
