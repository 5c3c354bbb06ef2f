//! Microsoft Teams, with a fake webhook (`docs/reference/notifications.md#microsoft-teams`).

use pyxis_core::chat::ChatPlatform;
use pyxis_gateway::channels::Endpoints;
use pyxis_gateway::channels::teams::TeamsConfig;
use pyxis_testkit::engines;
use pyxis_testkit::teams::{PATH, Teams};
use pyxis_testkit::upstream::Reply;
use serde_json::{Value, json};

use super::*;
use crate::support::leaks::search_files;
use crate::support::{Browser, Setup, Site, until};

const POLICY: &str = r#"{"channel": "teams", "teams_channel": "ops"}"#;
const ADMIN: &str = "admin@people.example";

/// Settings with the webhooks `ops` and `night`, of which `night` is the default.
fn settings(ops: &Teams, night: &Teams) -> ChatSettings {
    let endpoints = Endpoints::parse(&format!("ops={} night={}", ops.url(), night.url())).unwrap();
    let mut chats = ChatSettings::default().with_platform(TeamsConfig { endpoints });
    chats.set_room(ChatPlatform::TEAMS, Some("night".to_owned()));
    chats
}

async fn started(database: TestDatabase) -> (Proxy, Teams, Teams) {
    let (ops, night) = (Teams::start().await, Teams::start().await);
    let proxy = quiet(database, settings(&ops, &night), POLICY).await;
    (proxy, ops, night)
}

fn facts(card: &Value) -> Vec<(&str, &str)> {
    let sets = card["body"].as_array().unwrap().iter().find(|part| part["type"] == "FactSet").unwrap();
    let of = |fact: &'static str| {
        sets["facts"].as_array().unwrap().iter().map(move |one| one[fact].as_str().unwrap())
    };
    of("title").zip(of("value")).collect()
}

engines! {
    async fn a_card_has_the_facts_and_opens_the_page_where_the_request_is_decided(database: TestDatabase) {
        let (proxy, ops, night) = started(database).await;
        let txn = proxy.pause_because(1, "[Approve](https://evil.example) **now**").await;
        deliver(&proxy).await;
        let [card] = ops.cards().try_into().unwrap();
        let host = proxy.upstream.addr().to_string();
        let reason = r"\[Approve\]\(https://evil.example\) \*\*now\*\*";
        let expected =
            [("Agent", "default-agent"), ("Credential", "api"), ("Method", "POST"), ("Host", host.as_str()), ("Reason", reason)];
        assert_eq!(facts(&card), expected);
        let open = json!([{ "type": "Action.OpenUrl", "title": "Open the request", "url": page(txn) }]);
        assert_eq!(card["actions"], open);
        assert_eq!(card["body"][0]["text"], "Pyxis · Approval needed");
        for hidden in ["round 1", "/act", "s3cret-value"] {
            assert!(!card.to_string().contains(hidden), "{hidden}: {card}");
        }
        decide_on_page(&proxy, txn, Decision::Deny(None)).await;
        deliver(&proxy).await;
        assert_eq!((ops.cards().len(), night.cards().len()), (1, 0), "a card stays as it was posted");
        assert_eq!(state_of(&proxy, txn).await, ApprovalState::Denied);
    }

    async fn requests_without_a_named_channel_go_to_the_default_one(database: TestDatabase) {
        let (proxy, ops, night) = started(database).await;
        proxy.policy(r#"{"channel": "teams"}"#).await;
        proxy.pause(1).await;
        deliver(&proxy).await;
        assert_eq!((ops.cards().len(), night.cards().len()), (0, 1));
    }

    async fn an_unknown_channel_is_refused_with_the_known_names(database: TestDatabase) {
        let (proxy, ops, _) = started(database).await;
        let error = refused(&proxy, r#"{"channel": "teams", "teams_channel": "opz"}"#).await;
        assert!(error.contains(r#"no endpoint has the name "opz"; known names: night, ops"#), "{error}");
        assert!(!error.contains("canary") && !error.contains(&ops.url()), "{error}");
        let (actor, url) = (proxy.actor(), ops.url());
        let error = channels::set_default_chat(&proxy.state, &actor, ChatPlatform::TEAMS, &url).await.unwrap_err();
        assert!(error.to_string().contains("known names: night, ops") && !error.to_string().contains("canary"));
    }

    async fn the_doctor_posts_nothing_and_says_that_only_a_message_shows_if_a_channel_works(database: TestDatabase) {
        let (proxy, ops, night) = started(database).await;
        let note = |name: &str| (format!("Microsoft Teams channel {name} (unknown until the first message)"), None);
        let bot = ("Microsoft Teams bot".to_owned(), None);
        assert_eq!(doctor(&proxy).await, [bot, note("night"), note("ops")]);
        assert!(ops.upstream().requests().is_empty() && night.upstream().requests().is_empty());
        // A workflow that was deleted.
        ops.upstream().reply(Reply::new(404));
        proxy.pause(1).await;
        deliver(&proxy).await;
        let found = doctor(&proxy).await;
        assert_eq!(found[2].0, "Microsoft Teams channel ops");
        assert!(found[2].1.as_ref().unwrap().contains("it responded with 404: check its URL"), "{found:?}");
        proxy.advance(Duration::from_secs(1));
        proxy.pause(2).await;
        deliver(&proxy).await;
        assert_eq!(doctor(&proxy).await[2], note("ops"));
    }

    async fn a_limited_webhook_delays_no_other(database: TestDatabase) {
        let (proxy, ops, night) = started(database).await;
        ops.upstream().reply(Reply::new(429).header("retry-after", "20"));
        let limited = proxy.pause(1).await;
        proxy.policy(r#"{"channel": "teams", "teams_channel": "night"}"#).await;
        proxy.pause(2).await;
        deliver(&proxy).await;
        assert_eq!((ops.cards().len(), night.cards().len()), (0, 1));
        let due = proxy.clock_now().plus(Duration::from_secs(20));
        assert_eq!(message(&proxy, limited).await.next_at, Some(due));
        proxy.advance(Duration::from_secs(20));
        deliver(&proxy).await;
        assert_eq!(ops.cards().len(), 1);
    }
}

engines! {
    async fn the_secret_url_is_in_no_page_response_log_or_file(setup: Setup) {
        let teams = Teams::start().await;
        // A receiver that repeats the URL in its response.
        let url = teams.url();
        let repeats = url.clone();
        teams.upstream().reply_with(move |_| Reply::new(403).header("location", &repeats).body(repeats.clone()));
        let setup = setup
            .env("PX_TEAMS_WEBHOOKS", &format!("ops={url}"))
            .env("PX_TEAMS_CHANNEL", "ops")
            .env("PX_METRICS_LISTEN", "127.0.0.1:0");
        let program = Site::with(setup).await;
        program.policy(&json!({ "channel": "teams" })).await;
        program.pause("/items").await;
        program.app.admin(ADMIN).await;
        let browser = Browser::sign_in(&program.app.anonymous(), ADMIN).await;
        let page = until("the refusal is on the page", async || {
            let page = browser.get("/app/notifications").await.expect(200).text();
            page.contains("responded with 403").then_some(page)
        });
        let page = page.await;
        let doctor = program.app.cli(&["doctor", "--json"]).await;
        assert!(doctor.stdout.contains("responded with 403"), "{}", doctor.stdout);
        let shown = program.app.cli(&["policy", "show", "api"]).await.expect(0);
        assert_eq!(shown.json()["channel"], "teams", "{shown:?}");
        let audit = program.app.audit().await;
        let said = [page, doctor.stdout, doctor.stderr, shown.stdout, program.app.logs(), format!("{audit:?}")];
        for text in &said {
            assert!(!text.contains("canary-"), "{text}");
        }
        assert!(search_files(&program.app.data(), "canary-sig-77aa") > 0);
        assert!(PATH.contains("canary-sig-77aa"));
    }
}
