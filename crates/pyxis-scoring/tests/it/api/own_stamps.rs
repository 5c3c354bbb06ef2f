//! Allow lists: Stamps that the workspace issues to addresses on a list, and withdraws when they leave it
//! (`docs/reference/behavior/scoring.md#own-stamps`).

use std::time::Duration;

use http::Method;
use pyxis_core::actor::Actor;
use pyxis_core::address::EvmAddress;
use pyxis_core::id::ScorerId;
use pyxis_core::stamp::StampName;
use pyxis_scoring::service::allow_lists;
use pyxis_scoring::service::own_stamps::OwnStampInput;
use pyxis_scoring::service::stamp_signing::Holder;
use pyxis_scoring::service::stamps::{self, StampFilter};
use pyxis_scoring::service::{Error, issuers, scorers, stamp_keys};
use pyxis_scoring::{CheckScope, Config, RecheckCount, recheck_stamps};
use pyxis_testkit::engines;
use serde_json::{Value, json};

use super::scene::{HttpResponse, Scene, wallet};
use super::self_check::{self, OWN, sign_in};
use super::widget::{PAGE, TestPage, Wallet};

pub(super) fn name() -> StampName {
    "Member".parse().unwrap()
}

pub(super) fn actor(scene: &Scene) -> Actor {
    Actor::cli(scene.workspace)
}

pub(super) fn input(scorer: Option<ScorerId>) -> OwnStampInput {
    OwnStampInput {
        name: name(),
        description: "Joined in the first year".to_owned(),
        valid_days: 30,
        weight: scorer.map(|scorer| (scorer, "5".parse().unwrap())),
    }
}

/// A scorer that passes with a list's Stamp, and the list with wallets.
async fn listed(scene: &Scene, wallets: &[u64]) -> ScorerId {
    let scorer = scene.scorer("5", &[]).await;
    allow_lists::create(&scene.state, &actor(scene), input(Some(scorer))).await.unwrap();
    if !wallets.is_empty() {
        add(scene, wallets).await;
    }
    scorer
}

fn addresses(wallets: &[u64]) -> Vec<EvmAddress> {
    wallets.iter().map(|number| wallet(*number)).collect()
}

/// A holder whose Stamp counts for the address alone.
pub(super) fn plain(address: EvmAddress) -> Holder {
    Holder { address, nullifiers: Vec::new() }
}

async fn add(scene: &Scene, wallets: &[u64]) -> u64 {
    let holders: Vec<Holder> = addresses(wallets).into_iter().map(plain).collect();
    let added = allow_lists::add(&scene.state, &actor(scene), &name(), &holders).await;
    added.unwrap().changed
}

async fn remove(scene: &Scene, wallets: &[u64]) -> (u64, u64) {
    let done = allow_lists::remove(&scene.state, &actor(scene), &name(), &addresses(wallets)).await.unwrap();
    (done.changed, done.withdrawn)
}

pub(super) async fn request(scene: &Scene, number: u64, body: &Value) -> HttpResponse {
    let path = format!("/v2/stamps/{}/issue", wallet(number));
    scene.send_with_key(Method::POST, &path, &scene.key, body.to_string()).await
}

/// The status of a request for the list's Stamp, or the code of its refusal.
async fn issue(scene: &Scene, number: u64) -> String {
    result_code(&request(scene, number, &json!({ "stamps": [{ "provider": "Member" }] })).await)
}

pub(super) fn result_code(answer: &HttpResponse) -> String {
    assert_eq!(answer.status, 200, "{}", answer.text);
    let item = &answer.json()["items"][0];
    let status = item["status"].as_str().unwrap();
    item["error"]["code"].as_str().unwrap_or(status).to_owned()
}

pub(super) async fn recheck(scene: &Scene) -> RecheckCount {
    recheck_stamps(&scene.state, CheckScope::All).await.unwrap()
}

pub(super) async fn points(scene: &Scene, scorer: ScorerId, number: u64) -> String {
    scene.score(scorer, wallet(number)).await["score"].as_str().unwrap().to_owned()
}

async fn catalogued(scene: &Scene) -> bool {
    let answer = scene.get("/v2/stamps/metadata").await;
    assert_eq!(answer.status, 200);
    let platforms = answer.json();
    let own = platforms.as_array().unwrap().iter().find(|platform| platform["id"] == "allow-lists");
    own.is_some_and(|platform| platform["groups"][0]["stamps"][0]["name"] == "Member")
}

engines! {
    async fn of_addresses_with_one_nullifier_one_has_a_stamp_that_counts(scene: &Scene) {
        let scorer = listed(scene, &[]).await;
        let holder = |number, texts: &[&str]| {
            let nullifiers = texts.iter().map(|text| text.parse().unwrap()).collect();
            Holder { address: wallet(number), nullifiers }
        };
        let add = async |holders: &[Holder]| allow_lists::add(&scene.state, &actor(scene), &name(), holders).await;
        let members = [holder(1, &["member:1"]), holder(2, &["member:1"]), holder(3, &["member:3"]), plain(wallet(4))];
        assert_eq!(add(&members).await.unwrap().changed, 4);
        // Again, and without their nullifiers: nothing changes.
        assert_eq!(add(&members).await.unwrap().changed, 0);
        assert_eq!(add(&[plain(wallet(1)), plain(wallet(1))]).await.unwrap().changed, 0);
        for number in 1..=4 {
            assert_eq!(issue(scene, number).await, "accepted");
        }
        let scores = [points(scene, scorer, 1).await, points(scene, scorer, 2).await];
        assert_eq!(scores, ["5.00000", "0.00000"], "the account counts once");
        assert_eq!((points(scene, scorer, 3).await, points(scene, scorer, 4).await), ("5.00000".into(), "5.00000".into()));
        let rows = allow_lists::addresses(&scene.state.store, &actor(scene), &name(), None, 10).await.unwrap();
        let of = |number| rows.iter().find(|row| row.address == wallet(number)).unwrap().nullifiers.clone();
        assert_eq!((of(1), of(4)), (Some(r#"["member:1"]"#.to_owned()), None));
        // Nullifiers are a set: their order does not matter.
        let twice = [holder(5, &["b:5", "a:5"]), holder(5, &["a:5", "b:5"])];
        assert_eq!((add(&twice).await.unwrap().changed, add(&twice[1..]).await.unwrap().changed), (1, 0));
        // Other nullifiers hold from the next Stamp.
        assert_eq!(add(&[holder(2, &["member:2"])]).await.unwrap().changed, 1);
        scene.on_day(20);
        assert_eq!((issue(scene, 2).await, points(scene, scorer, 2).await), ("replaced".into(), "5.00000".into()));
        let many: Vec<String> = (0..33).map(|n| format!("member:{n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        for (bad, field) in [
            (vec![holder(5, &["a:1", "a:1"])], "holders[0].nullifiers"),
            (vec![plain(wallet(6)), holder(5, &many)], "holders[1].nullifiers"),
            (vec![holder(5, &["a:1"]), holder(5, &["a:2"])], "holders[1].address"),
        ] {
            match add(&bad).await {
                Err(Error::InvalidField { field: found, .. }) => assert_eq!(found, field),
                other => panic!("{other:?}"),
            }
        }
    }

    async fn a_holder_who_signed_in_gets_the_stamps_of_the_own_address(scene: &Scene) {
        let scorer = listed(scene, &[]).await;
        TestPage::for_origins(scene, scorer, &[OWN]).await;
        let (member, stranger) = (Wallet::number(1), Wallet::number(2));
        allow_lists::add(&scene.state, &actor(scene), &name(), &[plain(member.address())]).await.unwrap();
        let wanted = json!({ "stamps": [{ "provider": "Member" }] });
        let issue = async |token: &str, body: &Value| self_check::send_from_page(scene, scorer, "/issue", OWN, token, body.clone()).await;
        let token = sign_in(scene, scorer, &member).await;
        let check = self_check::send_from_page(scene, scorer, "/check", OWN, &token, Value::Null).await.json();
        let suggested = &check["suggestions"][0];
        assert_eq!(
            (&suggested["issued_here"], &suggested["description"], &suggested["platform"]),
            (&json!("none"), &json!("Joined in the first year"), &json!("Allow lists")),
            "{check}"
        );
        assert_eq!(result_code(&issue(&token, &wanted).await), "accepted");
        let check = self_check::send_from_page(scene, scorer, "/check", OWN, &token, Value::Null).await.json();
        assert_eq!((&check["passing"], &check["suggestions"]), (&json!(true), &json!([])));
        assert_eq!(result_code(&issue(&token, &wanted).await), "unchanged");
        let other = sign_in(scene, scorer, &stranger).await;
        assert_eq!(result_code(&issue(&other, &wanted).await), "not_on_list");
        assert_eq!(result_code(&issue(&other, &json!({ "stamps": [{ "provider": "Nothing" }] })).await), "unknown_stamp");
        assert_eq!(issue("px_wid_x", &wanted).await.status, 401);
        for body in [json!({ "stamps": [] }), json!({ "stamps": "x" }), json!({})] {
            assert_eq!(issue(&token, &body).await.status, 422, "{body}");
        }
        let elsewhere = self_check::send_from_page(scene, scorer, "/issue", "https://elsewhere.example", &token, wanted).await;
        assert_eq!(elsewhere.status, 401);
    }

    async fn a_visitor_of_another_page_gets_the_stamps_that_its_widget_offers(scene: &Scene) {
        let scorer = listed(scene, &[]).await;
        let page = TestPage::for_origins(scene, scorer, &[PAGE]).await;
        let (member, stranger) = (Wallet::number(1), Wallet::number(2));
        allow_lists::add(&scene.state, &actor(scene), &name(), &[plain(member.address())]).await.unwrap();
        let view = page.send(Method::GET, "", None, Value::Null).await.json();
        let offered = &view["stamps"][0];
        assert_eq!((&offered["name"], &offered["issued_here"]), (&json!("Member"), &json!("none")), "{view}");
        assert_eq!((&offered["description"], &offered["platform"]), (&json!("Joined in the first year"), &json!("allow-lists")));
        let wanted = json!({ "stamps": [{ "provider": "Member" }] });
        let token = page.sign_in(&member).await;
        assert_eq!(page.score(&token).await.json()["passing_score"], false);
        assert_eq!(result_code(&page.send(Method::POST, "/issue", Some(&token), wanted.clone()).await), "accepted");
        assert_eq!(page.score(&token).await.json()["passing_score"], true);
        let token = page.sign_in(&stranger).await;
        assert_eq!(result_code(&page.send(Method::POST, "/issue", Some(&token), wanted.clone()).await), "not_on_list");
        assert_eq!(page.send(Method::POST, "/issue", None, wanted).await.status, 401);
        // A Stamp of others is theirs to issue.
        scene.set_terms(scorer, "5", &[("Other", "5")]).await;
        let view = page.send(Method::GET, "", None, Value::Null).await.json();
        assert_eq!((&view["stamps"][0]["name"], view["stamps"][0].get("issued_here")), (&json!("Other"), None));
    }

    async fn an_address_gets_the_stamp_while_it_is_on_the_list_and_loses_it_when_it_leaves(scene: &Scene) {
        let scorer = listed(scene, &[1, 2]).await;
        assert!(catalogued(scene).await);
        assert_eq!(issue(scene, 3).await, "not_on_list");
        assert_eq!((issue(scene, 1).await, issue(scene, 2).await), ("accepted".into(), "accepted".into()));
        assert_eq!(issue(scene, 1).await, "unchanged");
        assert_eq!((points(scene, scorer, 1).await, points(scene, scorer, 2).await), ("5.00000".into(), "5.00000".into()));
        assert_eq!((add(scene, &[2, 4]).await, remove(scene, &[2, 3, 4]).await), (1, (2, 1)));
        assert_eq!((points(scene, scorer, 1).await, points(scene, scorer, 2).await), ("5.00000".into(), "0.00000".into()));
        assert_eq!(issue(scene, 2).await, "not_on_list");
        add(scene, &[2]).await;
        // In the same millisecond it would be the credential that was withdrawn.
        scene.clock.advance(Duration::from_secs(1));
        assert_eq!((issue(scene, 2).await, points(scene, scorer, 2).await), ("accepted".into(), "5.00000".into()));
        let list = allow_lists::get(&scene.state.store, &actor(scene), &name()).await.unwrap();
        assert_eq!((list.addresses, list.issued), (2, 2));
        let done = allow_lists::delete(&scene.state, &actor(scene), &name()).await.unwrap();
        assert_eq!((done.changed, done.withdrawn), (2, 2));
        assert_eq!((points(scene, scorer, 1).await, points(scene, scorer, 2).await), ("0.00000".into(), "0.00000".into()));
        assert_eq!((issue(scene, 1).await, catalogued(scene).await), ("unknown_stamp".into(), false));
        assert_eq!((scene.count("issued_stamps").await, scene.count("listed_addresses").await), (0, 0));
    }

    async fn what_an_interrupted_removal_left_is_withdrawn_by_the_next_check(scene: &Scene) {
        let scorer = listed(scene, &[1, 2]).await;
        assert_eq!((issue(scene, 1).await, issue(scene, 2).await), ("accepted".into(), "accepted".into()));
        scene.sql("DELETE FROM listed_addresses WHERE address = (SELECT address FROM listed_addresses ORDER BY address LIMIT 1)").await;
        assert_eq!(recheck(scene).await, RecheckCount::default());
        scene.clock.advance(Duration::from_mins(31));
        assert_eq!(recheck(scene).await, RecheckCount { held: 1, withdrawn: 1, failed: 0 });
        assert_eq!((points(scene, scorer, 1).await, points(scene, scorer, 2).await), ("0.00000".into(), "5.00000".into()));
        assert_eq!(recheck(scene).await, RecheckCount::default());
    }

    async fn nodes_share_the_checks(scene: &Scene) {
        let wallets: Vec<u64> = (1..=30).collect();
        listed(scene, &wallets).await;
        for number in &wallets {
            assert_eq!(issue(scene, *number).await, "accepted");
        }
        scene.clock.advance(Duration::from_mins(31));
        let others = [scene.node(Config::default()), scene.node(Config::default())];
        let check = |state| recheck_stamps(state, CheckScope::All);
        let (first, second, third) =
            tokio::join!(check(&scene.state), check(&others[0].state), check(&others[1].state));
        let all = [first, second, third].map(Result::unwrap);
        assert_eq!(all.iter().map(|done| done.held).sum::<u64>(), 30, "{all:?}");
        assert_eq!(all.iter().map(|done| done.withdrawn + done.failed).sum::<u64>(), 0, "{all:?}");
    }

    async fn a_stamp_is_renewed_in_the_second_half_of_its_time_and_expires(scene: &Scene) {
        let scorer = listed(scene, &[1]).await;
        assert_eq!(issue(scene, 1).await, "accepted");
        scene.on_day(14);
        assert_eq!(issue(scene, 1).await, "unchanged");
        scene.on_day(15);
        assert_eq!((issue(scene, 1).await, issue(scene, 1).await), ("replaced".into(), "unchanged".into()));
        scene.on_day(44);
        assert_eq!(points(scene, scorer, 1).await, "5.00000");
        scene.on_day(45);
        assert_eq!(points(scene, scorer, 1).await, "0.00000");
        recheck(scene).await;
        assert_eq!(scene.count("issued_stamps").await, 0);
    }

    async fn a_manager_keeps_an_address_out_by_revoking_its_stamp(scene: &Scene) {
        let scorer = listed(scene, &[1]).await;
        assert_eq!(issue(scene, 1).await, "accepted");
        let of = StampFilter::Stored(wallet(1), name());
        stamps::revoke(&scene.state, &actor(scene), of, None).await.unwrap();
        assert_eq!((issue(scene, 1).await, points(scene, scorer, 1).await), ("revoked".into(), "0.00000".into()));
        scene.on_day(30);
        assert_eq!(issue(scene, 1).await, "accepted");
    }

    async fn a_rotated_key_signs_and_an_untrusted_one_issues_nothing(scene: &Scene) {
        listed(scene, &[1, 2]).await;
        stamp_keys::rotate(&scene.state, &actor(scene), true).await.unwrap();
        assert_eq!(issue(scene, 1).await, "accepted");
        let did = stamp_keys::list(&scene.state.store, scene.workspace).await.unwrap()[0].row.did.clone();
        issuers::remove(&scene.state.audited, &actor(scene), &did).await.unwrap();
        assert_eq!(issue(scene, 2).await, "unknown_issuer");
    }

    async fn requests_are_for_keys_that_write_and_name_stamps_of_their_workspace(scene: &Scene) {
        listed(scene, &[1]).await;
        let body = json!({ "stamps": [{ "provider": "Member" }] });
        let reads = scene.add_key(|key| key.can_write = false).await;
        let path = format!("/v2/stamps/{}/issue", wallet(1));
        let answer = scene.send_with_key(Method::POST, &path, &reads, body.to_string()).await;
        answer.refuses(403, "Invalid permissions for action.");
        let (_, theirs, _) = scene.neighbor().await;
        let answer = scene.send_with_key(Method::POST, &path, &theirs, body.to_string()).await;
        assert_eq!(result_code(&answer), "unknown_stamp");
        assert!(answer.text.contains("issued: none"), "{}", answer.text);
        let items = json!({ "stamps": [{ "provider": "Member", "items": ["1"] }] });
        assert_eq!(result_code(&request(scene, 1, &items).await), "invalid_items");
        for body in [
            json!({ "stamps": [] }),
            json!({ "stamps": vec![json!({ "provider": "Member" }); 21] }),
            json!({ "stamps": [{ "provider": "no name" }] }),
            json!({ "stamps": [{ "name": "Member" }] }),
            json!({ "stamps": ["Member"] }),
            json!({}),
        ] {
            assert_eq!(request(scene, 1, &body).await.status, 422, "{body}");
        }
        let answer = request(scene, 1, &json!({ "stamps": [{ "provider": "Member" }, { "provider": 7 }] })).await;
        let fault = &answer.json()["detail"][0];
        assert_eq!(fault["loc"], json!(["body", "stamps", 1, "provider"]));
        assert_eq!(fault["msg"], "must be text, not 7");
        let elsewhere = "/v2/stamps/0x12/issue";
        scene.send_with_key(Method::POST, elsewhere, &scene.key, body.to_string()).await.refuses(400, "Invalid address.");
    }

    async fn the_credential_of_another_issuer_is_never_replaced_by_an_own_stamp(scene: &Scene) {
        let scorer = listed(scene, &[1, 2]).await;
        scene.verify(wallet(1), "Member", "theirs:1", 9).await;
        scene.clock.advance(Duration::from_secs(1));
        assert_eq!((issue(scene, 1).await, issue(scene, 2).await), ("other_issuer".into(), "accepted".into()));
        assert_eq!(remove(scene, &[1, 2]).await, (2, 1));
        assert_eq!((points(scene, scorer, 1).await, points(scene, scorer, 2).await), ("5.00000".into(), "0.00000".into()));
        add(scene, &[1]).await;
        scene.on_day(10);
        assert_eq!(issue(scene, 1).await, "replaced", "theirs has expired");
    }

    async fn the_names_of_published_stamps_belong_to_their_issuers(scene: &Scene) {
        let scorer = scene.scorer("5", &[("Discord", "1")]).await;
        let discord = OwnStampInput { name: "Discord".parse().unwrap(), ..input(Some(scorer)) };
        match allow_lists::create(&scene.state, &actor(scene), discord).await {
            Err(Error::InvalidField { field, detail }) => {
                assert!(field == "name" && detail.contains("published Stamp") && detail.contains("MyDiscord"), "{detail}");
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(scene.count("own_stamps").await, 0);
    }

    async fn a_list_whose_weight_is_refused_is_not_added(scene: &Scene) {
        let scorer = scene.scorer("5", &[("A", "1")]).await;
        let name: StampName = "Sandbox#X".parse().unwrap();
        let refused = OwnStampInput { name: name.clone(), ..input(Some(scorer)) };
        let create = async |input| allow_lists::create(&scene.state, &actor(scene), input).await;
        assert!(matches!(create(refused).await, Err(Error::InvalidField { field, .. }) if field == "weights"));
        assert_eq!(scene.count("own_stamps").await, 0);
        create(input(Some(scorer))).await.unwrap();
        let found = scorers::get(&scene.state.store, scene.workspace, scorer, scene.state.now()).await.unwrap();
        assert_eq!(found.terms.weights.len(), 2);
    }

    async fn a_list_needs_a_free_name_and_a_scorer_that_exists(scene: &Scene) {
        let scorer = listed(scene, &[1]).await;
        let field = |result: Result<_, Error>| match result {
            Err(Error::InvalidField { field, .. }) => field,
            other => panic!("{other:?}"),
        };
        let create = async |input| allow_lists::create(&scene.state, &actor(scene), input).await;
        assert_eq!(field(create(input(None)).await), "name");
        let other = OwnStampInput { name: "Other".parse().unwrap(), ..input(None) };
        assert_eq!(field(create(OwnStampInput { valid_days: 0, ..other.clone() }).await), "valid_days");
        assert_eq!(field(create(OwnStampInput { description: " ".to_owned(), ..other.clone() }).await), "description");
        let unknown = ScorerId::try_from(scorer.get() + 1).unwrap();
        let weight = Some((unknown, "1".parse().unwrap()));
        assert!(matches!(create(OwnStampInput { weight, ..other }).await, Err(Error::NotFound(_))));
        assert_eq!(allow_lists::list(&scene.state.store, &actor(scene)).await.unwrap().len(), 1);
    }
}
