//! The developer portal: scorers, API keys, the explorer, the catalogue, issuers.

use axum::body::Body;
use http::{Request, StatusCode};
use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::ScorerId;
use pyxis_core::mode::Role;
use pyxis_dashboard::view::routes::ROUTES;
use pyxis_gateway::Actor;
use pyxis_gateway::service::people;
use pyxis_scoring::credential::Verified;
use pyxis_scoring::engine::{self, Place};
use pyxis_scoring::service::scorers::{self, Scorer, ScorerInput};
use pyxis_scoring::service::{api_keys, catalogue, issuers};
use pyxis_store::{scores, users};
use tower::ServiceExt;

use crate::support::{Browser, ORIGIN_URL, Team, World};

const HOLDER: EvmAddress = EvmAddress([0x11; 20]);
const OTHER: EvmAddress = EvmAddress([0x22; 20]);
const ISSUER: &str = "did:ethr:0xd6fc34345bc8c8e5659a35bed9629d00f07e0b22";

/// A team with the scorer that the first one gets, and its owner.
async fn with_scorer(world: &World) -> (Team, Browser, Scorer) {
    let (team, browser) = world.with_owner().await;
    let input = ScorerInput { name: "Airdrop".to_owned(), threshold: None, weights: None };
    let scorer = scorers::create(&world.scoring, &Actor::cli(team.id), input).await.unwrap();
    (team, browser, scorer)
}

async fn terms(world: &World, team: &Team, id: ScorerId) -> Scorer {
    scorers::get(&world.scoring, team.id, id).await.unwrap()
}

/// Stores a Stamp as if its credential had come in.
async fn bring(world: &World, team: &Team, address: EvmAddress, stamp: &str, nullifier: &str) {
    let now = world.scoring.now();
    let verified = Verified {
        address,
        provider: stamp.parse().unwrap(),
        issuer: ISSUER.to_owned(),
        issued_at: UnixMillis(now.0 - 1000),
        expires_at: UnixMillis(now.0 + 90 * 86_400_000),
        digest: digest(address, stamp),
        nullifiers: vec![nullifier.parse().unwrap()],
        credential: "{}".to_owned(),
    };
    engine::ingest(&world.scoring.store, team.id, address, &[verified], now).await.unwrap();
}

fn digest(address: EvmAddress, stamp: &str) -> [u8; 32] {
    let mut digest = [address.0[0]; 32];
    for (place, byte) in stamp.bytes().take(32).enumerate() {
        digest[place] ^= byte;
    }
    digest
}

async fn score(world: &World, team: &Team, scorer: ScorerId, address: EvmAddress) {
    let place = Place { workspace: team.id, scorer, address };
    engine::score(&world.scoring.store, place, world.scoring.now(), false).await.unwrap();
}

/// The editor's fields as the page has them.
fn editor(text: &str) -> Vec<(String, String)> {
    let form = text.split("data-weights>").nth(1).unwrap().split("</form>").next().unwrap();
    let attribute = |tag: &str, name: &str| {
        let value = tag.split(&format!(" {name}=\"")).nth(1)?.split('"').next()?;
        Some(value.replace("&#35;", "#"))
    };
    let inputs = form.split("<input").skip(1).map(|tag| tag.split('>').next().unwrap());
    let fields =
        inputs.filter_map(|tag| Some((attribute(tag, "name")?, attribute(tag, "value").unwrap_or_default())));
    fields.filter(|(name, _)| name != "csrf").collect()
}

/// Sends the editor with some fields changed.
async fn send(
    browser: &mut Browser,
    fields: &[(String, String)],
    to: &str,
    changed: &[(&str, &str)],
) -> crate::support::Page {
    let fields: Vec<(&str, &str)> = fields
        .iter()
        .map(|(name, value)| {
            let change = changed.iter().find(|(field, _)| field == name);
            (name.as_str(), change.map_or(value.as_str(), |(_, value)| *value))
        })
        .collect();
    browser.submit("/app/scorers", to, &fields).await
}

#[tokio::test]
async fn a_weight_is_changed_in_the_editor_and_nothing_else_is() {
    let world = World::new().await;
    let (team, mut browser, before) = with_scorer(&world).await;
    let path = format!("/app/scorers/{}", before.id);
    let page = browser.get(&path).await;
    for shown in
        ["Airdrop", "githubContributionActivityGte#30", "All Stamps together", "Not in the catalogue"]
    {
        assert!(page.text.contains(shown), "{shown}");
    }
    let fields = editor(&page.text);
    let saved = send(&mut browser, &fields, &path, &[("weight.Discord", "3.5"), ("weight.Google", "")]).await;
    assert_eq!((saved.status, saved.location()), (StatusCode::SEE_OTHER, path.as_str()));
    let after = terms(&world, &team, before.id).await;
    assert_eq!(after.terms.weights["Discord"].to_string(), "3.50000");
    assert!(!after.terms.weights.contains_key("Google"));
    let mut expected = before.terms.weights.clone();
    expected.insert("Discord".parse().unwrap(), "3.5".parse().unwrap());
    expected.remove("Google");
    assert_eq!((after.terms.weights, after.terms.threshold), (expected, before.terms.threshold));
    assert!(browser.get(&path).await.text.contains("Saved. Each score follows"));
}

#[tokio::test]
async fn a_new_name_alone_leaves_every_score_as_it_is() {
    let world = World::new().await;
    let (team, mut browser, before) = with_scorer(&world).await;
    let path = format!("/app/scorers/{}", before.id);
    let fields = editor(&browser.get(&path).await.text);
    send(&mut browser, &fields, &path, &[("name", "Forum")]).await;
    let after = terms(&world, &team, before.id).await;
    assert_eq!((after.name.as_str(), after.terms.revision), ("Forum", before.terms.revision));
}

#[tokio::test]
async fn a_draft_that_somebody_overtook_is_kept_and_saves_only_when_sent_again() {
    let world = World::new().await;
    let (team, mut browser, scorer) = with_scorer(&world).await;
    let path = format!("/app/scorers/{}", scorer.id);
    let mine = editor(&browser.get(&path).await.text);
    send(&mut browser, &mine, &path, &[("weight.Google", "9")]).await;
    let refused = send(&mut browser, &mine, &path, &[("weight.Discord", "4")]).await;
    assert_eq!(refused.status, StatusCode::CONFLICT);
    assert!(refused.text.contains("Somebody else saved this scorer while you were editing"));
    assert!(refused.text.contains("stored now: 9"), "what they saved stands beside my draft");
    let stored = terms(&world, &team, scorer.id).await.terms.weights;
    assert_eq!(
        (stored["Google"].to_string(), stored["Discord"].to_string()),
        ("9.00000".into(), "0.51600".into())
    );
    let again = send(&mut browser, &editor(&refused.text), &path, &[]).await;
    assert_eq!(again.status, StatusCode::SEE_OTHER);
    let stored = terms(&world, &team, scorer.id).await.terms.weights;
    assert_eq!(
        (stored["Google"].to_string(), stored["Discord"].to_string()),
        ("0.52500".into(), "4.00000".into())
    );
}

#[tokio::test]
async fn a_preview_tells_who_would_pass_and_saves_nothing() {
    let world = World::new().await;
    let (team, mut browser, scorer) = with_scorer(&world).await;
    bring(&world, &team, HOLDER, "Discord", "n1").await;
    bring(&world, &team, OTHER, "Google", "n2").await;
    let path = format!("/app/scorers/{}", scorer.id);
    let fields = editor(&browser.get(&path).await.text);
    let preview = send(&mut browser, &fields, &format!("{path}/preview"), &[("weight.Discord", "21")]).await;
    assert_eq!(preview.status, StatusCode::OK);
    for shown in [
        "What this draft would change",
        "2 addresses",
        "1 (50 %)",
        "1 begin to pass and 0 no longer pass",
        "<svg",
        "value=\"21\"",
        "stored now: 0.516",
    ] {
        assert!(preview.text.contains(shown), "{shown}");
    }
    assert_eq!(terms(&world, &team, scorer.id).await, scorer);
    assert!(preview.text.contains("<span class=\"mono\">Discord</span> 21"), "enough alone");
}

#[tokio::test]
async fn numbers_that_are_none_are_named_where_they_stand_and_nothing_is_saved() {
    let world = World::new().await;
    let (team, mut browser, scorer) = with_scorer(&world).await;
    let path = format!("/app/scorers/{}", scorer.id);
    let fields = editor(&browser.get(&path).await.text);
    for (field, value) in [
        ("weight.Discord", "1,5"),
        ("weight.Discord", "-1"),
        ("threshold", "many"),
        ("extra_name", "two words"),
    ] {
        for to in [path.clone(), format!("{path}/preview")] {
            let page = send(&mut browser, &fields, &to, &[(field, value)]).await;
            assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY, "{field}={value} to {to}");
            assert!(page.text.contains(&format!("value=\"{value}\"")), "{field}: typed text stays");
        }
    }
    assert_eq!(terms(&world, &team, scorer.id).await, scorer);
}

#[tokio::test]
async fn a_stamp_outside_the_catalogue_gets_a_row_of_its_own() {
    let world = World::new().await;
    let (team, mut browser, scorer) = with_scorer(&world).await;
    let path = format!("/app/scorers/{}", scorer.id);
    let fields = editor(&browser.get(&path).await.text);
    send(&mut browser, &fields, &path, &[("extra_name", "Our#Own"), ("extra_weight", "2")]).await;
    assert_eq!(terms(&world, &team, scorer.id).await.terms.weights["Our#Own"].to_string(), "2.00000");
    assert!(browser.get(&path).await.text.contains("name=\"weight.Our#Own\" value=\"2\""));
}

#[tokio::test]
async fn a_scorer_is_added_and_removed() {
    let world = World::new().await;
    let (team, mut browser) = world.with_owner().await;
    assert!(browser.get("/app/scorers").await.text.contains("No scorer yet"));
    let fields = [("name", "Forum"), ("threshold", "7.5"), ("start", "empty")];
    let added = browser.submit("/app/new/scorer", "/app/scorers", &fields).await;
    assert_eq!(added.status, StatusCode::SEE_OTHER);
    let row = &scorers::list(&world.scoring, team.id).await.unwrap()[0];
    assert_eq!((row.name.as_str(), row.threshold.to_string().as_str()), ("Forum", "7.50000"));
    assert!(browser.get(added.location()).await.text.contains("Nobody can pass"));
    let bad = [("name", "Forum"), ("threshold", "x"), ("start", "empty")];
    let bad = browser.submit("/app/new/scorer", "/app/scorers", &bad).await;
    assert_eq!(bad.status, StatusCode::UNPROCESSABLE_ENTITY);
    browser.submit("/app/scorers", &format!("/app/scorers/{}/remove", row.id), &[]).await;
    assert!(scorers::list(&world.scoring, team.id).await.unwrap().is_empty());
}

/// What the API answers to a key.
async fn asked(world: &World, key: &str, path: &str) -> StatusCode {
    let request = Request::get(path).header("x-api-key", key).body(Body::empty()).unwrap();
    pyxis_scoring::router(world.scoring.clone()).oneshot(request).await.unwrap().status()
}

#[tokio::test]
async fn a_key_is_shown_once_works_and_ends_when_it_is_revoked() {
    let world = World::new().await;
    let (team, mut browser, scorer) = with_scorer(&world).await;
    let fields = [
        ("name", "server"),
        ("can_read", "on"),
        ("stamps_tier", "4"),
        ("stamps_limit", "5000"),
        ("models_tier", "2"),
    ];
    let shown = browser.submit("/app/new/api-key", "/app/api-keys", &fields).await;
    assert_eq!(shown.status, StatusCode::OK);
    let start = shown.text.find("px_api_").unwrap();
    let key: String = shown.text[start..]
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || *c == '_' || *c == '-')
        .collect();
    assert!(shown.text.contains(&format!("/v2/stamps/{}/score/", scorer.id)), "a command to try");
    assert_eq!(asked(&world, &key, "/v2/stamps/metadata").await, StatusCode::OK);
    let row = &api_keys::list(&world.scoring, team.id).await.unwrap()[0];
    assert_eq!((row.stamps_limit, row.models_tier, row.can_write), (Some(5000), 2, false));
    let path = format!("/app/api-keys/{}", row.id);
    for page in ["/app/api-keys".to_owned(), path.clone()] {
        let text = browser.get(&page).await.text;
        assert!(!text.contains(&key), "{page}");
        assert!(text.contains("1 of 5,000"), "{page}: used in this window");
    }
    assert!(browser.get(&path).await.text.contains("1 request answered and 0 refused over the budget"));
    browser.submit("/app/api-keys", &format!("{path}/revoke"), &[]).await;
    assert_eq!(asked(&world, &key, "/v2/stamps/metadata").await, StatusCode::UNAUTHORIZED);
    assert!(browser.get(&path).await.text.contains("every request with it gets 401"));
}

#[tokio::test]
async fn a_key_form_names_what_is_wrong_with_it() {
    let world = World::new().await;
    let (team, mut browser) = world.with_owner().await;
    let cases: [(&[(&str, &str)], &str); 4] = [
        (&[("name", "a"), ("stamps_tier", "1")], "Tick at least one"),
        (
            &[("name", "a"), ("can_read", "on"), ("stamps_tier", "4"), ("stamps_limit", "many")],
            "Write a whole number",
        ),
        (
            &[("name", "a"), ("can_read", "on"), ("stamps_tier", "4"), ("stamps_limit", "100")],
            "more than 2000",
        ),
        (&[("name", " "), ("can_read", "on"), ("stamps_tier", "1")], "Must not be empty"),
    ];
    for (fields, said) in cases {
        let page = browser.submit("/app/new/api-key", "/app/api-keys", fields).await;
        assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY, "{said}");
        assert!(page.text.contains(said), "{said}");
    }
    assert!(api_keys::list(&world.scoring, team.id).await.unwrap().is_empty());
}

#[tokio::test]
async fn history_is_read_only_after_somebody_approved_the_use_case() {
    let world = World::new().await;
    let (team, mut browser) = world.with_owner().await;
    let input = api_keys::ApiKeyInput::named("server");
    let (row, _) = api_keys::create(&world.scoring, &Actor::cli(team.id), input).await.unwrap();
    let path = format!("/app/api-keys/{}", row.id);
    let may = async || api_keys::get(&world.scoring, team.id, row.id).await.unwrap().can_read_history;
    let empty = browser.submit(&path, &format!("{path}/history"), &[("use_case", "  ")]).await;
    assert_eq!(empty.status, StatusCode::UNPROCESSABLE_ENTITY);
    for (verb, granted, said) in [("refuse", false, "Refused before"), ("approve", true, "Granted")] {
        browser.submit(&path, &format!("{path}/history"), &[("use_case", "pay by the snapshot")]).await;
        let list = browser.get("/app/api-keys").await.text;
        assert!(list.contains("pay by the snapshot") && list.contains("ana@example.com"));
        let request = list.split("/app/history-requests/").nth(1).unwrap().split('/').next().unwrap();
        let to = format!("/app/history-requests/{request}/{verb}");
        browser.submit("/app/api-keys", &to, &[]).await;
        assert_eq!(may().await, granted, "{verb}");
        assert!(browser.get(&path).await.text.contains(said), "{said}");
        browser.submit("/app/api-keys", &to, &[]).await;
        assert!(browser.get("/app/api-keys").await.text.contains("settled already"), "{verb} twice");
    }
    browser.submit(&path, &format!("{path}/withdraw"), &[]).await;
    assert!(!may().await);
}

#[tokio::test]
async fn the_explorer_says_why_each_stamp_counts_or_not_and_writes_nothing() {
    let world = World::new().await;
    let (team, mut browser, scorer) = with_scorer(&world).await;
    issuers::add(&world.scoring, &Actor::cli(team.id), ISSUER, "Our issuer").await.unwrap();
    bring(&world, &team, HOLDER, "Discord", "same").await;
    score(&world, &team, scorer.id, HOLDER).await;
    bring(&world, &team, OTHER, "Discord", "same").await;
    bring(&world, &team, OTHER, "HolonymGovIdProvider", "own").await;
    bring(&world, &team, OTHER, "Unknown", "other").await;
    let path = format!("/app/explorer?address={OTHER}&scorer={}", scorer.id);
    let text = browser.get(&path).await.text;
    for shown in [
        "Does not pass",
        "16.026",
        "It lacks 3.974.",
        "Deduplicated",
        "Another address, 0x11…11111111, verified the same first, so it counts there.",
        "This scorer gives it no weight.",
        "It gives its whole weight.",
        "Our issuer",
        "/assets/stamps/Discord.svg",
    ] {
        assert!(text.contains(shown), "{shown}");
    }
    assert!(text.contains(&format!("/app/explorer?address={HOLDER}")), "a way to the holder");
    let stored = scores::count(&world.scoring.store, team.id, scorer.id).await.unwrap();
    assert_eq!(stored, 1, "only what was scored before");
}

#[tokio::test]
async fn a_credential_is_revoked_from_the_explorer_and_the_other_address_gets_the_stamp() {
    let world = World::new().await;
    let (team, mut browser, scorer) = with_scorer(&world).await;
    bring(&world, &team, HOLDER, "Discord", "same").await;
    score(&world, &team, scorer.id, HOLDER).await;
    bring(&world, &team, OTHER, "Discord", "same").await;
    let page = format!("/app/explorer?address={HOLDER}&scorer={}", scorer.id);
    let text = browser.get(&page).await.text;
    let digest = text.split("/app/stamps/").nth(1).unwrap().split('/').next().unwrap().to_owned();
    let fields =
        [("address", HOLDER.to_string()), ("scorer", scorer.id.to_string()), ("reason", "sold".to_owned())];
    let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let done = browser.submit(&page, &format!("/app/stamps/{digest}/revoke"), &fields).await;
    assert_eq!(done.location(), page);
    assert!(browser.get(&page).await.text.contains("This address has no Stamp"));
    let other = browser.get(&format!("/app/explorer?address={OTHER}&scorer={}", scorer.id)).await.text;
    assert!(other.contains("0.516") && !other.contains("Deduplicated"));
    for digest in ["00", "zz", &"0".repeat(63)] {
        let gone = browser.submit("/app/explorer", &format!("/app/stamps/{digest}/revoke"), &fields).await;
        assert_eq!(gone.status, StatusCode::NOT_FOUND, "{digest}");
    }
    let elsewhere = [("address", "//evil.example"), ("scorer", "1&x=y")];
    let back = browser.submit("/app/scorers", &format!("/app/stamps/{digest}/revoke"), &elsewhere).await;
    assert_eq!(back.location(), "/app/explorer?address=&scorer=");
}

#[tokio::test]
async fn the_explorer_explains_what_an_address_is_and_teaches_what_to_bring() {
    let world = World::new().await;
    let (_, mut browser) = world.with_owner().await;
    assert!(browser.get("/app/explorer").await.text.contains("Add a scorer"));
    let (_, mut browser, _) = {
        let world = World::new().await;
        with_scorer(&world).await
    };
    let wrong = browser.get("/app/explorer?address=vitalik.eth").await;
    assert_eq!(wrong.status, StatusCode::OK);
    assert!(wrong.text.contains("40 hexadecimal digits") && wrong.text.contains("value=\"vitalik.eth\""));
    let empty = browser.get(&format!("/app/explorer?address={HOLDER}")).await.text;
    assert!(empty.contains("This address has no Stamp") && empty.contains("curl -X POST"));
}

#[tokio::test]
async fn the_first_change_copies_the_catalogue_and_it_can_go_back() {
    let world = World::new().await;
    let (team, mut browser) = world.with_owner().await;
    let built_in = catalogue::get(&world.scoring, team.id).await.unwrap().platforms.len();
    let page = browser.get("/app/catalogue/Discord").await;
    let before =
        page.text.split("name=\"before\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let fields = [
        ("before", before.as_str()),
        ("name", "Discord"),
        ("description", "Our own words"),
        ("connect_message", "Connect."),
        ("icon", ""),
        ("group", "Accounts"),
        ("stamp", "Discord"),
        ("says", "Has an account"),
        ("group", ""),
        ("stamp", ""),
        ("says", ""),
    ];
    let saved = browser.submit("/app/catalogue", "/app/catalogue/Discord", &fields).await;
    assert_eq!(saved.location(), "/app/catalogue");
    let own = catalogue::get(&world.scoring, team.id).await.unwrap();
    assert!(own.own && own.platforms.len() == built_in);
    let discord = own.platforms.iter().find(|platform| platform.id == "Discord").unwrap();
    assert_eq!(
        (discord.description.as_str(), discord.groups[0].name.as_str()),
        ("Our own words", "Accounts")
    );
    assert_eq!(discord.icon, "/assets/stamps/Discord.svg");
    // The fingerprint is that of the catalogue before.
    let late = browser.submit("/app/catalogue", "/app/catalogue/Discord", &fields).await;
    assert_eq!(late.status, StatusCode::CONFLICT);
    assert!(late.text.contains("Somebody else changed the catalogue"));
    browser.submit("/app/catalogue", "/app/reset/catalogue", &[]).await;
    assert!(!catalogue::get(&world.scoring, team.id).await.unwrap().own);
}

#[tokio::test]
async fn a_platform_is_added_with_its_stamps_and_removed() {
    let world = World::new().await;
    let (team, mut browser) = world.with_owner().await;
    let before = |text: &str| {
        text.split("name=\"before\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
    };
    let draft = before(&browser.get("/app/new/platform").await.text);
    let fields = |id: &'static str, stamp: &'static str| {
        [
            ("before", draft.clone()),
            ("id", id.to_owned()),
            ("name", "Forum".to_owned()),
            ("description", "Our forum".to_owned()),
            ("connect_message", "Sign in.".to_owned()),
            ("group", "Members".to_owned()),
            ("stamp", stamp.to_owned()),
            ("says", "Is a member".to_owned()),
        ]
    };
    for (id, stamp, said) in [
        ("Discord", "ForumMember", "exists already"),
        ("For um", "ForumMember", "letters, digits"),
        ("Forum", "Forum Member", "Row 1: a name has no spaces"),
        ("Forum", "Google", "there twice"),
    ] {
        let typed = fields(id, stamp);
        let typed: Vec<(&str, &str)> = typed.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let page = browser.submit("/app/new/platform", "/app/catalogue", &typed).await;
        assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY, "{said}");
        assert!(page.text.contains(said), "{said}");
    }
    let typed = fields("Forum", "ForumMember");
    let typed: Vec<(&str, &str)> = typed.iter().map(|(name, value)| (*name, value.as_str())).collect();
    browser.submit("/app/new/platform", "/app/catalogue", &typed).await;
    let listed = async || {
        let platforms = catalogue::get(&world.scoring, team.id).await.unwrap().platforms;
        platforms.iter().any(|platform| platform.id == "Forum")
    };
    assert!(listed().await);
    assert!(browser.get("/app/catalogue").await.text.contains("ForumMember"));
    browser.submit("/app/catalogue", "/app/catalogue/Forum/remove", &[]).await;
    assert!(!listed().await);
    assert_eq!(browser.get("/app/catalogue/Forum").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn an_issuer_is_listed_and_taken_off_the_list() {
    let world = World::new().await;
    let (team, mut browser) = world.with_owner().await;
    assert!(browser.get("/app/issuers").await.text.contains("Nobody is believed yet"));
    let wrong = browser.submit("/app/issuers", "/app/issuers", &[("did", "did:web:x"), ("name", "X")]).await;
    assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
    browser.submit("/app/issuers", "/app/issuers", &[("did", ISSUER), ("name", "Our issuer")]).await;
    assert!(browser.get("/app/issuers").await.text.contains("Our issuer"));
    let encoded = percent_encoding::utf8_percent_encode(ISSUER, percent_encoding::NON_ALPHANUMERIC);
    browser.submit("/app/issuers", &format!("/app/issuers/{encoded}/remove"), &[]).await;
    assert!(issuers::list(&world.scoring, team.id).await.unwrap().is_empty());
}

/// The routes of scoring, with something in each variable segment.
fn routes(method: &str) -> Vec<String> {
    let words = [
        "scorer",
        "api-key",
        "explorer",
        "catalogue",
        "issuers",
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

#[tokio::test]
async fn without_scoring_its_pages_and_its_navigation_are_not_there() {
    let world = World::new().await;
    let (_, mut browser) = world.with_owner().await;
    assert!(browser.get("/app/inbox").await.text.contains("href=\"/app/scorers\""));
    let mut browser = browser.elsewhere(world.without_scoring());
    assert!(!browser.get("/app/inbox").await.text.contains("/app/scorers"));
    for path in routes("GET") {
        assert_eq!(browser.get(&path).await.status, StatusCode::NOT_FOUND, "{path}");
    }
    for path in routes("POST") {
        let status = browser.submit("/app/agents", &path, &[]).await.status;
        assert!(matches!(status, StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED), "{path}: {status}");
    }
}

#[tokio::test]
async fn no_form_of_scoring_is_taken_from_elsewhere_or_without_its_token() {
    let world = World::new().await;
    let (_, mut browser, _) = with_scorer(&world).await;
    let csrf = browser.get("/app/scorers").await.csrf();
    let token = [("csrf", csrf.as_str())];
    assert!(routes("POST").len() > 15);
    for path in routes("POST") {
        for (origin, fields) in [(ORIGIN_URL, &[("csrf", "x")]), ("https://evil.example", &token)] {
            let refused = browser.post(&path, &[("origin", origin)], fields).await;
            assert_eq!(refused.status, StatusCode::FORBIDDEN, "{path} from {origin}");
        }
    }
    assert_eq!(scorers::list(&world.scoring, world_team(&world).await).await.unwrap().len(), 1);
}

async fn world_team(world: &World) -> pyxis_core::id::WorkspaceId {
    pyxis_gateway::service::workspaces::list(&world.gateway).await.unwrap()[0].id
}

#[tokio::test]
async fn nothing_of_another_workspace_can_be_seen_or_changed() {
    let world = World::new().await;
    let (team, _, scorer) = with_scorer(&world).await;
    let input = api_keys::ApiKeyInput::named("server");
    let (key, _) = api_keys::create(&world.scoring, &Actor::cli(team.id), input).await.unwrap();
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
    assert_eq!(api_keys::get(&world.scoring, team.id, key.id).await.unwrap().revoked_at, None);
}

#[tokio::test]
async fn who_does_not_manage_sees_none_of_it() {
    let world = World::new().await;
    let (team, mut owner, _) = with_scorer(&world).await;
    let fields = [("email", "bo@example.com"), ("role", "admin")];
    let added = owner.submit("/app/new/person", "/app/people", &fields).await;
    let link = added.text.split("/link/").nth(1).unwrap();
    let link = format!("/link/{}", link.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap());
    let bo = people::by_email(&world.gateway, team.id, "bo@example.com").await.unwrap();
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
