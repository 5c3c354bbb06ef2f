//! The developer portal: scorers, API keys, the explorer, the catalogue, issuers.

mod api_keys;
mod catalogue;
mod explorer;
mod models;
mod scorers;

use http::StatusCode;
use pyxis_core::address::EvmAddress;
use pyxis_core::approval_mode::Role;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::ScorerId;
use pyxis_dashboard::view::routes::ROUTES;
use pyxis_gateway::Actor;
use pyxis_gateway::admin::people;
use pyxis_scoring::credential::VerifiedCredential;
use pyxis_scoring::engine;
use pyxis_scoring::service::api_keys::ApiKeyInput;
use pyxis_scoring::service::scorers::{Scorer, ScorerInput};
use pyxis_scoring::service::{api_keys as keys, issuers, scorers as scorer_service};
use pyxis_store::users;
use pyxis_testkit::engines;

use crate::support::{Browser, ORIGIN_URL, Team, World};

const HOLDER: EvmAddress = EvmAddress([0x11; 20]);
const OTHER: EvmAddress = EvmAddress([0x22; 20]);
const ISSUER: &str = "did:ethr:0xd6fc34345bc8c8e5659a35bed9629d00f07e0b22";

/// A team with a scorer, and its owner.
async fn with_scorer(world: &World) -> (Team, Browser, Scorer) {
    let (team, browser) = world.with_owner().await;
    let scorer = add_scorer(world, &team).await;
    (team, browser, scorer)
}

/// Adds the scorer that the first one gets.
async fn add_scorer(world: &World, team: &Team) -> Scorer {
    let input = ScorerInput { name: "Airdrop".to_owned(), threshold: None, weights: None };
    scorer_service::create(&world.scoring.audited, &Actor::cli(team.id), input).await.unwrap()
}

async fn terms(world: &World, team: &Team, id: ScorerId) -> Scorer {
    scorer_service::get(&world.scoring.store, team.id, id).await.unwrap()
}

/// Stores a Stamp as if its credential had been submitted.
async fn bring(world: &World, team: &Team, address: EvmAddress, stamp: &str, nullifier: &str) {
    let (now, actor) = (world.scoring.now(), Actor::cli(team.id));
    issuers::add(&world.scoring.audited, &actor, ISSUER, "Our issuer").await.unwrap();
    let verified = VerifiedCredential {
        address,
        provider: stamp.parse().unwrap(),
        issuer: ISSUER.to_owned(),
        issued_at: UnixMillis(now.0 - 1000),
        expires_at: UnixMillis(now.0 + 90 * 86_400_000),
        digest: digest(address, stamp),
        digests: Vec::new(),
        nullifiers: vec![nullifier.parse().unwrap()],
        credential: "{}".to_owned(),
    };
    let outcomes = engine::ingest(&world.scoring.books, team.id, address, &[&verified], now).await.unwrap();
    assert!(outcomes[0].is_some(), "its issuer is listed");
}

fn digest(address: EvmAddress, stamp: &str) -> [u8; 32] {
    let mut digest = [address.0[0]; 32];
    for (place, byte) in stamp.bytes().take(32).enumerate() {
        digest[place] ^= byte;
    }
    digest
}

/// The routes of scoring, with a value in each variable segment.
fn routes(method: &str) -> Vec<String> {
    let words = [
        "scorer",
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
    async fn without_scoring_its_pages_and_its_navigation_are_not_there(world: World) {
        let (_, mut browser) = world.with_owner().await;
        assert!(browser.get("/app/inbox").await.text.contains("href=\"/app/scorers\""));
        let mut browser = browser.elsewhere(world.without_scoring());
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

    async fn no_form_of_scoring_is_taken_from_elsewhere_or_without_its_token(world: World) {
        let (team, mut browser, _) = with_scorer(&world).await;
        let csrf = browser.get("/app/scorers").await.csrf();
        let token = [("csrf", csrf.as_str())];
        assert!(routes("POST").len() > 15);
        for path in routes("POST") {
            for (origin, fields) in [(ORIGIN_URL, &[("csrf", "x")]), ("https://evil.example", &token)] {
                let refused = browser.post(&path, &[("origin", origin)], fields).await;
                assert_eq!(refused.status, StatusCode::FORBIDDEN, "{path} from {origin}");
            }
        }
        assert_eq!(scorer_service::list(&world.scoring.store, team.id).await.unwrap().len(), 1);
    }

    async fn nothing_of_another_workspace_can_be_seen_or_changed(world: World) {
        let (team, _, scorer) = with_scorer(&world).await;
        let input = ApiKeyInput::named("server");
        let (key, _) = keys::create(&world.scoring, &Actor::cli(team.id), input).await.unwrap();
        let rival = world.team("rival", "eve@example.com").await;
        let mut eve = world.browser();
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
        assert_eq!(terms(&world, &team, scorer.id).await, scorer);
        assert_eq!(keys::get(&world.scoring.store, team.id, key.id).await.unwrap().revoked_at, None);
    }

    async fn who_does_not_manage_sees_none_of_it(world: World) {
        let (team, mut owner, _) = with_scorer(&world).await;
        let fields = [("email", "bo@example.com"), ("role", "admin")];
        let added = owner.submit("/app/new/person", "/app/people", &fields).await;
        let link = added.text.split("/link/").nth(1).unwrap();
        let link = format!("/link/{}", link.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap());
        let bo = people::by_email(&world.gateway.store, team.id, "bo@example.com").await.unwrap();
        let mut tx = world.gateway.store.begin().await.unwrap();
        users::set_role(&mut tx, team.id, bo.id, Role::Member).await.unwrap();
        tx.commit().await.unwrap();
        let mut member = world.browser();
        member.use_link(&link).await;
        assert!(!member.get("/app/inbox").await.text.contains("/app/scorers"));
        for path in routes("GET") {
            assert_eq!(member.get(&path).await.status, StatusCode::FORBIDDEN, "{path}");
        }
    }
}
