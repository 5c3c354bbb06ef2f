//! The administrative routes of scoring.

use pyxis_testkit::engines;
use serde_json::{Value, json};

use super::installation::{ScoringSite, address};
use crate::support::Setup;

/// Every route, with an id of the first workspace as its variable.
const ROUTES: &[(&str, &str)] = &[
    ("GET", "/admin/scorers"),
    ("POST", "/admin/scorers"),
    ("GET", "/admin/scorers/1"),
    ("PATCH", "/admin/scorers/1"),
    ("DELETE", "/admin/scorers/1"),
    ("POST", "/admin/scorers/1/preview"),
    ("GET", "/admin/scorers/1/rescore"),
    ("POST", "/admin/scorers/1/rescore"),
    ("GET", "/admin/scorers/1/merkle"),
    ("GET", "/admin/score-keys"),
    ("POST", "/admin/score-keys/es256/rotate"),
    ("GET", "/admin/api-keys"),
    ("POST", "/admin/api-keys"),
    ("GET", "/admin/api-keys/key_0123456789abcdef"),
    ("PATCH", "/admin/api-keys/key_0123456789abcdef"),
    ("DELETE", "/admin/api-keys/key_0123456789abcdef"),
    ("GET", "/admin/api-keys/key_0123456789abcdef/usage"),
    ("GET", "/admin/issuers"),
    ("POST", "/admin/issuers"),
    ("DELETE", "/admin/issuers/did:ethr:0x0101010101010101010101010101010101010101"),
    ("GET", "/admin/stamps/0x0101010101010101010101010101010101010101"),
    ("POST", "/admin/stamps/revoke"),
    ("GET", "/admin/catalogue"),
    ("PUT", "/admin/catalogue"),
    ("DELETE", "/admin/catalogue"),
    ("GET", "/admin/history-requests"),
    ("POST", "/admin/history-requests"),
    ("POST", "/admin/history-requests/019c1234-5678-7abc-8def-0123456789ab/approve"),
    ("POST", "/admin/history-requests/019c1234-5678-7abc-8def-0123456789ab/refuse"),
];

engines! {
    async fn only_managers_manage(setup: Setup) {
        let site = ScoringSite::with(setup).await;
        for (method, path) in ROUTES {
            site.app.anonymous().call(method, path).send().await.problem(401, "unauthenticated");
            site.api.call(method, path).send().await.problem(401, "unauthenticated");
        }
        site.app.admin("member@example.org").await;
        site.app.sql("UPDATE users SET role = 'member' WHERE email = 'member@example.org'");
        let member = site.app.sign_in("member@example.org").await.client;
        for (method, path) in ROUTES {
            member.call(method, path).json(&json!({})).send().await.problem(403, "forbidden");
        }
        assert!(site.audited("scorer.removed").await.is_empty());
    }

    async fn a_scorer_lives_from_its_making_to_its_end(setup: Setup) {
        let site = ScoringSite::with(setup).await;
        let plain = site.post("/admin/scorers", &json!({"name": "plain"})).await.expect(201).json();
        assert_eq!((&plain["threshold"], &plain["weights"]["Discord"]), (&json!("20.00000"), &json!("0.51600")));
        let input = json!({"name": "own", "threshold": 0.1, "weights": {"A#1": "1", "B": 2.5}});
        let own = site.post("/admin/scorers", &input).await.expect(201).json();
        assert_eq!(own["weights"], json!({"A#1": "1.00000", "B": "2.50000"}));
        assert_eq!((&own["threshold"], &own["revision"]), (&json!("0.10000"), &json!(1)));
        let path = format!("/admin/scorers/{}", own["id"]);
        assert_eq!(site.get(&path).await, own);
        let all = site.get("/admin/scorers").await;
        let names: Vec<_> = all["scorers"].as_array().unwrap().iter().map(|one| one["name"].clone()).collect();
        assert_eq!(names, ["default", "plain", "own"]);
        assert_eq!(all["scorers"][0]["weights"], Value::Null);

        let renamed = site.owner.patch(&path, &json!({"name": "ours"})).send().await.expect(200).json();
        assert_eq!((&renamed["name"], &renamed["revision"]), (&json!("ours"), &json!(1)));
        let terms = json!({"weights": {"B": "3"}, "revision": 1});
        let changed = site.owner.patch(&path, &terms).send().await.expect(200).json();
        assert_eq!((&changed["weights"], &changed["revision"]), (&json!({"B": "3.00000"}), &json!(2)));
        assert_eq!(changed["threshold"], "0.10000");

        site.owner.delete(&path).send().await.expect(204);
        site.owner.delete(&path).send().await.problem(404, "not_found");
        site.owner.get(&path).send().await.problem(404, "not_found");
        let kinds: Vec<_> = site.audited("scorer.").await.into_iter().map(|(kind, _)| kind).collect();
        let made = ["scorer.created", "scorer.created", "scorer.created"];
        assert_eq!(kinds, [&made[..], &["scorer.renamed", "scorer.terms_changed", "scorer.removed"]].concat());
    }

    async fn who_changes_terms_that_another_changed_is_told(setup: Setup) {
        let site = ScoringSite::with(setup).await;
        let path = format!("/admin/scorers/{}", site.scorer());
        let change = json!({"threshold": "21", "name": "mine", "revision": 1});
        site.owner.patch(&path, &change).send().await.expect(200);
        let late = json!({"threshold": "22", "name": "theirs", "revision": 1});
        let problem = site.owner.patch(&path, &late).send().await.problem(409, "changed");
        assert_eq!(problem["revision"], 2);
        let scorer = site.get(&path).await;
        assert_eq!((&scorer["threshold"], &scorer["name"]), (&json!("21.00000"), &json!("mine")));
        let blind = site.owner.patch(&path, &json!({"threshold": "22"})).send().await;
        assert_eq!(blind.problem(422, "invalid_field")["field"], "revision");
    }

    async fn terms_are_tried_on_stored_addresses_before_they_count(setup: Setup) {
        let site = ScoringSite::with(setup).await;
        for (number, provider) in [(1, "NFTScore#50"), (2, "Discord"), (3, "NFTScore#50")] {
            site.stamp(number, provider, &format!("account-{number}")).await;
        }
        // The account of the first address, which is scored first.
        site.score(1).await;
        site.stamp(4, "NFTScore#50", "account-1").await;
        let path = format!("/admin/scorers/{}/preview", site.scorer());
        let same = site.post(&path, &json!({})).await.expect(200).json();
        assert_eq!((&same["sampled"], &same["passing_before"], &same["gained"]), (&json!(4), &json!(0), &json!(0)));
        let tried = site.post(&path, &json!({"threshold": "16"})).await.expect(200).json();
        assert_eq!((&tried["passing_after"], &tried["gained"], &tried["lost"]), (&json!(2), &json!(2), &json!(0)));
        let weights = json!({"threshold": "16", "weights": {"Discord": 17}});
        let tried = site.post(&path, &weights).await.expect(200).json();
        assert_eq!((&tried["passing_before"], &tried["passing_after"]), (&json!(0), &json!(1)));
        let sum = |side: &str| -> i64 {
            tried["histogram"].as_array().unwrap().iter().map(|bucket| bucket[side].as_i64().unwrap()).sum()
        };
        assert_eq!((sum("before"), sum("after")), (4, 4));
        assert_eq!(site.score(2).await["score"], "0.51600");
        assert!(site.audited("scorer.terms_changed").await.is_empty());
    }

    async fn outdated_scores_are_recomputed_on_request(setup: Setup) {
        let site = ScoringSite::with(setup).await;
        for number in [1, 2, 3] {
            site.stamp(number, "Discord", &format!("account-{number}")).await;
            site.score(number).await;
        }
        let scorer = format!("/admin/scorers/{}", site.scorer());
        let path = format!("{scorer}/rescore");
        let fresh = json!({"stored": 3, "outdated": 0, "running": false});
        assert_eq!(site.get(&path).await, fresh);
        assert_eq!(site.post(&path, &json!({})).await.expect(200).json(), fresh);
        let terms = json!({"weights": {"Discord": "7"}, "revision": 1});
        site.owner.patch(&scorer, &terms).send().await.expect(200);
        assert_eq!(site.get(&path).await["outdated"], 3);
        let begun = site.post(&path, &json!({})).await.expect(202).json();
        assert_eq!(begun["running"], true);
        while site.get(&path).await != fresh {}
        assert_eq!(site.score(2).await["score"], "7.00000");
        assert_eq!(site.audited("scorer.rescored").await.len(), 1);
    }

    async fn an_api_key_is_shown_once_and_does_what_it_may(setup: Setup) {
        let site = ScoringSite::with(setup).await;
        let made = site.post("/admin/api-keys", &json!({"name": "web"})).await.expect(201).json();
        let text = made["key"].as_str().unwrap();
        assert!(text.strip_prefix("px_api_").is_some_and(|hex| hex.len() == 64), "{text}");
        assert_eq!(made["key_hint"], text[..13]);
        let path = format!("/admin/api-keys/{}", made["id"].as_str().unwrap());
        let client = site.app.anonymous().with("x-api-key", text);
        let stamps = format!("/v2/stamps/{}", address(1));
        client.get(&stamps).send().await.expect(200);
        client.post(&stamps, &json!([])).send().await.expect(403);

        let shown = site.get(&path).await;
        assert_eq!((&shown["key"], shown["last_used_at"].is_string()), (&Value::Null, true));
        let usage = site.get(&format!("{path}/usage")).await;
        assert_eq!((&usage["stamps_limit"], &usage["models_limit"]), (&json!(125), &json!(15)));
        let counted: i64 =
            usage["windows"].as_array().unwrap().iter().map(|window| window["admitted"].as_i64().unwrap()).sum();
        assert_eq!(counted, 2);

        let change = json!({"can_write": true, "stamps_tier": 4, "stamps_limit": 5000, "name": "site"});
        let changed = site.owner.patch(&path, &change).send().await.expect(200).json();
        assert_eq!((&changed["stamps_limit"], &changed["models_tier"]), (&json!(5000), &json!(1)));
        let answer = client.post(&stamps, &json!([])).send().await.expect(200);
        assert_eq!(answer.header("ratelimit-limit"), Some("5000"));

        for _ in 0..2 {
            site.owner.delete(&path).send().await.expect(204);
        }
        client.get(&stamps).send().await.expect(401);
        site.owner.patch(&path, &json!({"can_read": true})).send().await.problem(409, "conflict");
        let listed = site.get("/admin/api-keys").await;
        assert!(listed["api_keys"][1]["revoked_at"].is_string());
        assert!(!listed.to_string().contains(text));
        let trail = site.audited("api_key.").await;
        let kinds: Vec<_> = trail.iter().map(|(kind, _)| kind.as_str()).collect();
        assert_eq!(kinds, ["api_key.created", "api_key.created", "api_key.updated", "api_key.revoked"]);
        assert!(!format!("{trail:?}").contains(text));
    }

    async fn history_is_read_after_a_request_was_approved(setup: Setup) {
        let site = ScoringSite::with(setup).await;
        site.stamp(1, "Discord", "account").await;
        site.score(1).await;
        let history = format!("/v2/stamps/{}/score/{}/history?created_at=2999-01-01", site.scorer(), address(1));
        site.api.get(&history).send().await.expect(403);
        let key = site.get("/admin/api-keys").await["api_keys"][0]["id"].clone();
        let body = json!({"api_key_id": key, "use_case": "snapshots\nof votes"});
        let asked = site.post("/admin/history-requests", &body).await.expect(201).json();
        assert_eq!((&asked["state"], &asked["requested_by"]), (&json!("pending"), &json!("owner@localhost")));
        site.post("/admin/history-requests", &body).await.problem(409, "conflict");

        let decide = |id: &Value, word: &str| format!("/admin/history-requests/{}/{word}", id.as_str().unwrap());
        let refused = site.post(&decide(&asked["id"], "refuse"), &json!({})).await.expect(200).json();
        assert_eq!(refused["state"], "refused");
        site.post(&decide(&asked["id"], "approve"), &json!({})).await.problem(409, "conflict");
        site.api.get(&history).send().await.expect(403);

        let again = site.post("/admin/history-requests", &body).await.expect(201).json();
        let approved = site.post(&decide(&again["id"], "approve"), &json!({})).await.expect(200).json();
        assert_eq!((&approved["state"], &approved["decided_by"]), (&json!("approved"), &json!("owner@localhost")));
        let found = site.api.get(&history).send().await.expect(200).json();
        assert_eq!(found["items"][0]["score"], "0.51600");
        site.post("/admin/history-requests", &body).await.problem(409, "conflict");
        let all = site.get("/admin/history-requests").await;
        assert_eq!(all["history_requests"].as_array().unwrap().len(), 2);
        let some = site.get("/admin/history-requests?state=refused").await;
        assert_eq!(some["history_requests"], json!([refused]));
        let kinds: Vec<_> = site.audited("history_request.").await.into_iter().map(|(kind, _)| kind).collect();
        let expected = ["created", "refused", "created", "approved"].map(|word| format!("history_request.{word}"));
        assert_eq!(kinds, expected);
    }

    async fn an_issuer_is_trusted_while_it_is_listed(setup: Setup) {
        let site = ScoringSite::with(setup).await;
        let did = site.issuer.did();
        let shouted = did.replace("did:ethr:0x", "").to_uppercase();
        let path = format!("/admin/issuers/did:ethr:0x{shouted}");
        let renamed = json!({"did": format!("did:ethr:0x{shouted}"), "name": "Renamed"});
        let answer = site.post("/admin/issuers", &renamed).await.expect(200).json();
        assert_eq!((&answer["did"], &answer["name"]), (&json!(did), &json!("Renamed")));
        site.post("/admin/issuers", &renamed).await.expect(200);
        assert_eq!(site.get("/admin/issuers").await["issuers"], json!([answer]));
        assert_eq!(site.stamp(1, "Discord", "one").await["status"], "accepted");
        site.owner.delete(&path).send().await.expect(204);
        site.owner.delete(&path).send().await.problem(404, "not_found");
        assert_eq!(site.stamp(2, "Discord", "two").await["error"]["code"], "unknown_issuer");
        assert_eq!(site.score(1).await["score"], "0.51600");
        let kinds: Vec<_> = site.audited("issuer.").await.into_iter().map(|(kind, _)| kind).collect();
        assert_eq!(kinds, ["issuer.added", "issuer.added", "issuer.removed"]);
    }

    async fn each_stamp_of_an_address_says_what_it_is_worth_and_why(setup: Setup) {
        let site = ScoringSite::with(setup).await;
        site.stamp(1, "Discord", "account").await;
        site.score(1).await;
        for (provider, account) in [("Discord", "account"), ("Google", "google"), ("Unheard", "other")] {
            site.stamp(2, provider, account).await;
        }
        let path = format!("/admin/stamps/{}", address(2));
        let shown = site.get(&path).await;
        assert_eq!((&shown["score"], &shown["passing_score"]), (&json!("0.52500"), &json!(false)));
        let of = |name: &str| {
            let found = shown["stamps"].as_array().unwrap().iter().find(|stamp| stamp["provider"] == name);
            found.unwrap().clone()
        };
        let told = |name: &str| {
            let stamp = of(name);
            (stamp["weight"].clone(), stamp["contribution"].clone(), stamp["standing"].clone())
        };
        assert_eq!(told("Google"), (json!("0.52500"), json!("0.52500"), json!("counts")));
        assert_eq!(told("Unheard"), (Value::Null, json!("0.00000"), json!("no_weight")));
        assert_eq!(told("Discord"), (json!("0.51600"), json!("0.00000"), json!("deduplicated")));
        assert_eq!(of("Discord")["holder"], address(1).to_string());
        assert!(of("Discord")["until"].is_string() && of("Google").get("until").is_none());
        let own = site.post("/admin/scorers", &json!({"name": "own", "weights": {"Unheard": 1}})).await;
        let there = site.get(&format!("{path}?scorer_id={}", own.json()["id"])).await;
        // In a separate scorer, no one holds the nullifier yet.
        assert_eq!((&there["score"], &there["stamps"][0]["standing"]), (&json!("1.00000"), &json!("no_weight")));
        let nobody = site.get(&format!("/admin/stamps/{}", address(9))).await;
        assert_eq!((&nobody["stamps"], &nobody["damaged"]), (&json!([]), &json!([])));
        site.app.sql("UPDATE stamps SET nullifiers = 'x' WHERE provider = 'Google'");
        let shown = site.get(&path).await;
        assert_eq!((&shown["score"], shown["stamps"].as_array().unwrap().len()), (&json!("0.00000"), 2));
        assert!(shown["damaged"][0].as_str().unwrap().contains("stamps.nullifiers"), "{shown}");
        site.owner.get(&format!("{path}?scorer_id=999")).send().await.problem(404, "not_found");
        site.owner.get("/admin/stamps/vitalik.eth").send().await.problem(422, "invalid_field");
    }

    async fn a_revoked_credential_is_out_for_good(setup: Setup) {
        let site = ScoringSite::with(setup).await;
        for provider in ["Discord", "Google"] {
            site.stamp(1, provider, provider).await;
        }
        assert_eq!(site.score(1).await["score"], "1.04100");
        let body = json!({"address": address(1), "provider": "Discord", "reason": "sold"});
        let revoked = site.post("/admin/stamps/revoke", &body).await.expect(200).json();
        assert_eq!((&revoked["revoked"], &revoked["removed"]), (&json!(true), &json!(true)));
        assert_eq!(site.score(1).await["score"], "0.52500");
        assert_eq!(site.stamp(1, "Discord", "Discord").await["error"]["code"], "revoked");
        site.post("/admin/stamps/revoke", &body).await.problem(404, "not_found");
        let again = site.post("/admin/stamps/revoke", &json!({"digest": revoked["digest"]})).await;
        let again = again.expect(200).json();
        assert_eq!((&again["revoked"], &again["removed"]), (&json!(false), &json!(false)));
        let trail = site.audited("stamp.revoked").await;
        assert_eq!(trail.len(), 1);
        assert_eq!(trail[0].1["reason"], "sold");
    }

    async fn a_catalogue_of_ones_own_takes_the_place_of_the_built_in_one(setup: Setup) {
        let site = ScoringSite::with(setup).await;
        let built_in = site.get("/admin/catalogue").await;
        assert_eq!(built_in["own"], false);
        let mut own = json!({"platforms": [built_in["platforms"][2]]});
        own["platforms"][0]["groups"][0]["stamps"][0].as_object_mut().unwrap().remove("hash");
        let put = site.owner.put("/admin/catalogue", &own).send().await.expect(200).json();
        assert_eq!(put, json!({"own": true, "platforms": [built_in["platforms"][2]]}));
        assert_eq!(site.get("/admin/catalogue").await, put);
        let served = site.api.get("/v2/stamps/metadata").send().await.expect(200).json();
        assert_eq!(served, put["platforms"]);
        let field = async |body: &Value| {
            site.owner.put("/admin/catalogue", body).send().await.problem(422, "invalid_field")["field"].clone()
        };
        let twice = json!({"platforms": [put["platforms"][0], put["platforms"][0]]});
        assert_eq!(field(&twice).await, "platforms[1].id");
        assert_eq!(field(&json!({"platforms": []})).await, "platforms");
        assert_eq!(field(&json!({"platforms": [{"id": "x"}]})).await, "platforms[0].icon");
        for _ in 0..2 {
            site.owner.delete("/admin/catalogue").send().await.expect(204);
        }
        assert_eq!(site.get("/admin/catalogue").await, built_in);
        let kinds: Vec<_> = site.audited("catalogue.").await.into_iter().map(|(kind, _)| kind).collect();
        assert_eq!(kinds, ["catalogue.replaced", "catalogue.reset"]);
    }

    async fn a_bad_value_is_named_and_changes_nothing(setup: Setup) {
        let site = ScoringSite::with(setup).await;
        let long = "x".repeat(101);
        let key = site.get("/admin/api-keys").await["api_keys"][0]["id"].as_str().unwrap().to_owned();
        let (scorer, key_path) = (format!("/admin/scorers/{}", site.scorer()), format!("/admin/api-keys/{key}"));
        let before = site.app.audit().await.len();
        let cases: &[(&str, &str, Value, &str)] = &[
            ("POST", "/admin/scorers", json!({"name": ""}), "name"),
            ("POST", "/admin/scorers", json!({"name": "a\nb"}), "name"),
            ("POST", "/admin/scorers", json!({"name": long}), "name"),
            ("POST", "/admin/scorers", json!({"name": "a", "threshold": "-1"}), "threshold"),
            ("POST", "/admin/scorers", json!({"name": "a", "threshold": true}), "threshold"),
            ("POST", "/admin/scorers", json!({"name": "a", "weights": {"A": "1.123456"}}), "weights.A"),
            ("POST", "/admin/scorers", json!({"name": "a", "weights": {"with space": 1}}), "weights.with space"),
            ("PATCH", &scorer, json!({"name": ""}), "name"),
            ("PATCH", &scorer, json!({"weight": {}}), "weight"),
            ("POST", "/admin/api-keys", json!({"name": "a", "stamps_tier": 5}), "stamps_tier"),
            ("POST", "/admin/api-keys", json!({"name": "a", "stamps_tier": 0}), "stamps_tier"),
            ("POST", "/admin/api-keys", json!({"name": "a", "stamps_tier": 4}), "stamps_limit"),
            ("POST", "/admin/api-keys", json!({"name": "a", "models_tier": 4, "models_limit": 2000}), "models_limit"),
            ("POST", "/admin/api-keys", json!({"name": "a", "models_limit": 3000}), "models_limit"),
            ("PATCH", &key_path, json!({"stamps_tier": 2, "stamps_limit": 9000}), "stamps_limit"),
            ("PATCH", &key_path, json!({"name": " "}), "name"),
            ("POST", "/admin/issuers", json!({"did": "did:web:example.org", "name": "a"}), "did"),
            ("POST", "/admin/issuers", json!({"did": site.issuer.did(), "name": "a\u{0}"}), "name"),
            ("POST", "/admin/stamps/revoke", json!({}), "digest"),
            ("POST", "/admin/stamps/revoke", json!({"digest": "0x12"}), "digest"),
            ("POST", "/admin/stamps/revoke", json!({"address": "0x12", "provider": "A"}), "address"),
            ("POST", "/admin/history-requests", json!({"api_key_id": "x", "use_case": "y"}), "api_key_id"),
            ("POST", "/admin/history-requests", json!({"api_key_id": "key_0123456789abcdef", "use_case": "y"}), "api_key_id"),
            ("POST", "/admin/history-requests", json!({"api_key_id": key, "use_case": " "}), "use_case"),
        ];
        for (method, path, body, field) in cases {
            let problem = site.owner.call(method, path).json(body).send().await.problem(422, "invalid_field");
            assert_eq!(problem["field"], *field, "{method} {path} {body}");
        }
        for path in [format!("{key_path}/usage?hours=0"), format!("{key_path}/usage?hours=x"),
            "/admin/history-requests?state=open".to_owned()] {
            site.owner.get(&path).send().await.problem(422, "invalid_field");
        }
        for path in ["/admin/scorers/x", "/admin/scorers/0", "/admin/scorers/99", "/admin/api-keys/1",
            "/admin/api-keys/key_ffffffffffffffff"] {
            site.owner.get(path).send().await.problem(404, "not_found");
        }
        site.owner.call("POST", "/admin/scorers").body("{").send().await.problem(400, "invalid_json");
        assert_eq!(site.app.audit().await.len(), before);
    }

    async fn two_workspaces_see_nothing_of_each_other(setup: Setup) {
        let site = ScoringSite::with(setup).await;
        site.stamp(1, "Discord", "account").await;
        let key = site.get("/admin/api-keys").await["api_keys"][0]["id"].as_str().unwrap().to_owned();
        let body = json!({"api_key_id": key, "use_case": "votes"});
        let request = site.post("/admin/history-requests", &body).await.expect(201).json();
        let stranger = site.stranger().await.client;
        let (scorer, key_path) = (format!("/admin/scorers/{}", site.scorer()), format!("/admin/api-keys/{key}"));
        let decide = format!("/admin/history-requests/{}/approve", request["id"].as_str().unwrap());
        let revoke = json!({"address": address(1), "provider": "Discord"});
        for (method, path, body) in [
            ("GET", scorer.clone(), json!({})),
            ("PATCH", scorer.clone(), json!({"name": "x"})),
            ("PATCH", scorer.clone(), json!({"threshold": 1, "revision": 1})),
            ("DELETE", scorer.clone(), json!({})),
            ("POST", format!("{scorer}/preview"), json!({})),
            ("GET", format!("{scorer}/rescore"), json!({})),
            ("POST", format!("{scorer}/rescore"), json!({})),
            ("GET", key_path.clone(), json!({})),
            ("PATCH", key_path.clone(), json!({"name": "x"})),
            ("DELETE", key_path.clone(), json!({})),
            ("GET", format!("{key_path}/usage"), json!({})),
            ("POST", decide, json!({})),
            ("DELETE", format!("/admin/issuers/{}", site.issuer.did()), json!({})),
            ("POST", "/admin/stamps/revoke".to_owned(), revoke),
            ("GET", format!("/admin/stamps/{}?scorer_id={}", address(1), site.scorer()), json!({})),
        ] {
            stranger.call(method, &path).json(&body).send().await.problem(404, "not_found");
        }
        stranger.post("/admin/history-requests", &body).send().await.problem(422, "invalid_field");
        for (path, list) in [("/admin/scorers", "scorers"), ("/admin/api-keys", "api_keys"),
            ("/admin/issuers", "issuers"), ("/admin/history-requests", "history_requests")] {
            let found = stranger.get(path).send().await.expect(200).json();
            assert_eq!(found[list], json!([]), "{path}");
        }
        let own = stranger.post("/admin/scorers", &json!({"name": "own"})).send().await.expect(201).json();
        let path = format!("/admin/stamps/{}?scorer_id={}", address(1), own["id"]);
        assert_eq!(stranger.get(&path).send().await.expect(200).json()["stamps"], json!([]));
        let preview = stranger.post(&format!("/admin/scorers/{}/preview", own["id"]), &json!({})).send().await;
        assert_eq!(preview.expect(200).json()["sampled"], 0);
    }
}
