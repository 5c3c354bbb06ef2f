//! Signed scores (`docs/reference/signed-scores.md`), verified by other libraries than the ones that sign.

use std::time::Duration;

use axum::body::Body;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{Method, Request, StatusCode};
use pyxis_core::actor::Actor;
use pyxis_core::clock::UnixMillis;
use pyxis_core::hex;
use pyxis_core::id::ScorerId;
use pyxis_scoring::service::score_keys::{self, Rotation};
use pyxis_scoring::signed::SignerConfig;
use pyxis_signing::eip712;
use pyxis_signing::recovery::Signature;
use pyxis_store::score_keys::ScoreKeyScheme;
use pyxis_testkit::engines;
use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use serde_json::{Value, json};

use super::scene::{HttpResponse, Scene, day, request, score_path, wallet};

const HOUR: i64 = 3_600_000;
const WEIGHTS: &[(&str, &str)] = &[("A", "12.5"), ("B", "10")];

/// A wallet that passes, whose Stamps live until day 20.
async fn passing(scene: &Scene) -> ScorerId {
    let scorer = scene.scorer("20", WEIGHTS).await;
    scene.verify(wallet(1), "A", "a:1", 20).await;
    scene.verify(wallet(1), "B", "b:1", 20).await;
    scorer
}

async fn signed(scene: &Scene, scorer: ScorerId, query: &str) -> Value {
    let answer = scene.get(&format!("{}?{query}", score_path(scorer, wallet(1)))).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    answer.json()
}

async fn challenged(scene: &Scene, scorer: ScorerId, query: &str, body: Value) -> HttpResponse {
    let path = format!("{}?{query}", score_path(scorer, wallet(1)));
    scene.send_with_key(Method::POST, &path, &scene.key, body.to_string()).await
}

async fn jwks(scene: &Scene) -> Vec<Value> {
    let path = Request::builder().uri("/.well-known/jwks.json").body(Body::empty()).unwrap();
    let answer = scene.send(path).await;
    assert_eq!((answer.status, answer.header("cache-control")), (StatusCode::OK, "public, max-age=300"));
    answer.json()["keys"].as_array().unwrap().clone()
}

async fn published(scene: &Scene) -> Value {
    scene.get_as("", "/.well-known/pyxis-score-keys").await.json()
}

fn decoded(part: &str) -> Vec<u8> {
    URL_SAFE_NO_PAD.decode(part).unwrap()
}

/// Header and claims of a token, verified with the published keys.
pub(super) async fn verified(scene: &Scene, token: &str) -> (Value, Value) {
    let (content, signature) = token.rsplit_once('.').unwrap();
    let (header, claims) = content.split_once('.').unwrap();
    let [header, claims] =
        [header, claims].map(|part| serde_json::from_slice::<Value>(&decoded(part)).unwrap());
    let keys = jwks(scene).await;
    let key = keys.iter().find(|key| key["kid"] == header["kid"]).expect("the key is published");
    assert_eq!((&key["kty"], &key["crv"], &key["alg"]), (&json!("EC"), &json!("P-256"), &json!("ES256")));
    let [x, y] = ["x", "y"].map(|name| decoded(key[name].as_str().unwrap()));
    let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, [&[4], &x[..], &y].concat());
    key.verify(content.as_bytes(), &decoded(signature)).expect("a valid signature");
    (header, claims)
}

/// Recovers the signer of typed data and compares it with the one that the response names.
fn recovered(answer: &Value) -> String {
    let data = eip712::read(answer["typed_data"].to_string().as_bytes()).unwrap();
    let signature = hex::decode_prefixed(answer["signature"].as_str().unwrap()).unwrap();
    let signer = Signature::from_bytes(&signature).unwrap().signer(&data.digest).unwrap().to_string();
    assert_eq!(answer["signer"], json!(signer));
    signer
}

async fn rotate(scene: &Scene, scheme: ScoreKeyScheme, how: Rotation) -> score_keys::ListedKey {
    score_keys::rotate(&scene.state, &Actor::cli(scene.workspace), scheme, how).await.unwrap()
}

engines! {
    async fn a_token_says_what_the_record_says_and_verifies_with_the_published_key(scene: &Scene) {
        let scorer = passing(scene).await;
        let plain = scene.score(scorer, wallet(1)).await;
        let mut answer = signed(scene, scorer, "signed=jwt").await;
        let token = answer.as_object_mut().unwrap().remove("jwt").unwrap();
        assert_eq!(answer, plain, "the record is as without a signature");
        let (header, claims) = verified(scene, token.as_str().unwrap()).await;
        assert_eq!((&header["alg"], &header["typ"]), (&json!("ES256"), &json!("pyxis-score+jwt")));
        let now = scene.state.now().seconds();
        assert_eq!(
            claims,
            json!({
                "iss": "http://localhost:8700", "sub": wallet(1), "iat": now, "exp": now + 3600,
                "scorer_id": scorer.get(), "score": "22.50000", "threshold": "20.00000",
                "passing_score": true, "computed_at": now,
            })
        );
    }

    async fn a_token_alone_is_answered_to_clients_that_accept_its_media_type(scene: &Scene) {
        let scorer = passing(scene).await;
        let path = format!("{}?signed=jwt", score_path(scorer, wallet(1)));
        for (accept, alone) in [
            ("application/jwt", true),
            ("text/html;q=0.5, Application/JWT; q=0.9", true),
            ("*/*", false),
            ("application/json", false),
            ("application/jwt;q=0, application/json", false),
            ("application/json, application/jwt;q=0.1", false),
            ("application/jwt, application/json;q=0.9", true),
            ("application/jwt, application/json", true),
            ("application/jwt;q=0.5, */*;q=0.8", false),
            ("application/json;q=0.2, */*, application/jwt;q=0.5", true),
        ] {
            let mut asked = request(Method::GET, &path, &scene.key, String::new());
            asked.headers_mut().insert("accept", accept.parse().unwrap());
            let answer = scene.send(asked).await;
            let kind = if alone { "application/jwt" } else { "application/json" };
            assert_eq!((answer.header("content-type"), answer.header("vary")), (kind, "accept"), "{accept}");
            let token = if alone { answer.text } else { answer.json()["jwt"].as_str().unwrap().to_owned() };
            verified(scene, &token).await;
        }
    }

    async fn typed_data_is_bound_to_what_the_request_names_and_recovers_the_published_signer(scene: &Scene) {
        let scorer = passing(scene).await;
        let contract = wallet(9).to_string();
        let mut signatures = Vec::new();
        for (query, domain) in [
            ("", json!({ "name": "Pyxis Score", "version": "1" })),
            ("&chain_id=10", json!({ "name": "Pyxis Score", "version": "1", "chainId": 10 })),
            (
                &*format!("&chain_id=10&verifying_contract={contract}"),
                json!({ "name": "Pyxis Score", "version": "1", "chainId": 10, "verifyingContract": contract }),
            ),
        ] {
            let answer = signed(scene, scorer, &format!("signed=eip712{query}")).await;
            assert_eq!(answer["typed_data"]["domain"], domain);
            let now = scene.state.now().seconds();
            assert_eq!(
                answer["typed_data"]["message"],
                json!({
                    "scorer": scorer.to_string(), "account": wallet(1), "score": "2250000",
                    "threshold": "2000000", "passing": true, "computedAt": now, "issuedAt": now,
                    "expiresAt": now + 3600, "challenge": "",
                })
            );
            let keys = published(scene).await;
            let keys = keys["keys"].as_array().unwrap();
            let signer = keys.iter().find(|key| key["scheme"] == "eip712").unwrap();
            assert_eq!(signer["address"], json!(recovered(&answer)));
            signatures.push(answer["signature"].clone());
        }
        signatures.dedup();
        assert_eq!(signatures.len(), 3, "each domain has a signature of its own");
    }

    async fn an_attestation_of_eas_is_signed_by_the_key_for_contracts(scene: &Scene) {
        let scorer = passing(scene).await;
        let contract = wallet(9).to_string();
        let query = format!("signed=eas&chain_id=10&verifying_contract={contract}");
        let answer = signed(scene, scorer, &query).await;
        assert_eq!(signed(scene, scorer, &query).await, answer, "its salt follows from its content");
        let mut attestation = answer["attestation"].clone();
        let signature = attestation["signature"].take();
        let part = |name: &str| hex::decode_prefixed(signature[name].as_str().unwrap()).unwrap();
        let v = u8::try_from(signature["v"].as_u64().unwrap()).unwrap();
        let signature = Signature::from_bytes(&[part("r"), part("s"), vec![v]].concat()).unwrap();
        let names = ["types", "primaryType", "domain", "message"];
        let data: serde_json::Map<_, _> =
            names.iter().map(|name| ((*name).to_owned(), attestation[*name].clone())).collect();
        let data = eip712::read(Value::from(data).to_string().as_bytes()).unwrap();
        assert_eq!(answer["signer"], json!(signature.signer(&data.digest).unwrap()));
        let message = &attestation["message"];
        assert_eq!(message["recipient"].as_str().unwrap().to_lowercase(), wallet(1).to_string());
        assert_eq!(message["expirationTime"], json!((scene.state.now().seconds() + 3600).to_string()));
        assert_eq!(answer["transaction"]["to"], json!(contract));
        assert!(answer["transaction"]["data"].as_str().unwrap().starts_with("0xf17325e7"));
        let other = signed(scene, scorer, &format!("{query}&schema=0x{}", "ab".repeat(32))).await;
        assert_eq!(other["attestation"]["message"]["schema"], json!(format!("0x{}", "ab".repeat(32))));
        let body = json!({ "challenge": "1" });
        challenged(scene, scorer, &query, body).await.complains_about("query", "signed");
        let large = scene.scorer("429496.72951", WEIGHTS).await;
        let refused = scene.get(&format!("{}?{query}", score_path(large, wallet(1)))).await;
        refused.refuses(
            409,
            "The score or its threshold exceeds 429496.7295, the most that the attestation's schema holds.",
        );
    }

    async fn a_signature_ends_with_the_score_and_no_later_than_the_setting_says(scene: &Scene) {
        let scorer = passing(scene).await;
        let until = day(20).seconds();
        scene.clock.set(UnixMillis(day(20).0 - HOUR / 2));
        let answer = signed(scene, scorer, "signed=eip712").await;
        assert_eq!(answer["typed_data"]["message"]["expiresAt"], until);
        let node = scene.node_signing(SignerConfig { lifetime: Duration::from_mins(5), ..SignerConfig::default() });
        let path = format!("{}?signed=eip712", score_path(scorer, wallet(1)));
        let short = node.get(&scene.key, &path).await.json();
        assert_eq!(short["typed_data"]["message"]["expiresAt"], scene.state.now().seconds() + 300);
        assert_eq!(recovered(&short), recovered(&answer), "every node signs with the same key");
        // After the Stamps have ended, the score that is signed is another.
        scene.clock.set(day(20));
        let ended = signed(scene, scorer, "signed=eip712").await;
        assert_eq!((&ended["score"], &ended["typed_data"]["message"]["passing"]), (&json!("0.00000"), &json!(false)));
    }

    async fn a_signature_is_repeated_for_five_minutes_and_never_across_a_change_of_the_score(scene: &Scene) {
        let scorer = passing(scene).await;
        let first = signed(scene, scorer, "signed=eip712").await;
        scene.clock.set(UnixMillis(day(0).0 + 299_999));
        assert_eq!(signed(scene, scorer, "signed=eip712").await, first);
        scene.delete(wallet(1), "B").await;
        let changed = signed(scene, scorer, "signed=eip712").await;
        let message = &changed["typed_data"]["message"];
        assert_eq!((&message["passing"], &message["score"]), (&json!(false), &json!("1250000")));
        assert_eq!(message["issuedAt"], day(0).seconds() + 299, "not before the score was known");
        scene.clock.set(UnixMillis(day(0).0 + 300_000));
        let next = signed(scene, scorer, "signed=eip712").await;
        assert_eq!(next["typed_data"]["message"]["issuedAt"], day(0).seconds() + 300);
    }

    async fn a_challenge_is_part_of_what_is_signed(scene: &Scene) {
        let scorer = passing(scene).await;
        scene.clock.set(UnixMillis(day(0).0 + 7_000));
        let body = json!({ "challenge": "b3f1 \"c2\"", "audience": "https://app.example" });
        let answer = challenged(scene, scorer, "signed=jwt", body).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
        let (_, claims) = verified(scene, answer.json()["jwt"].as_str().unwrap()).await;
        assert_eq!((&claims["nonce"], &claims["aud"]), (&json!("b3f1 \"c2\""), &json!("https://app.example")));
        assert_eq!(claims["iat"], day(0).seconds() + 7, "made at this moment");
        let query = format!("signed=eip712&chain_id=1&verifying_contract={}", wallet(9));
        let answer = challenged(scene, scorer, &query, json!({ "challenge": "n-1" })).await.json();
        recovered(&answer);
        assert_eq!(answer["typed_data"]["message"]["challenge"], "n-1");
        assert_eq!(answer["typed_data"]["domain"]["chainId"], 1);
    }

    async fn a_score_that_was_computed_in_part_is_never_signed(scene: &Scene) {
        let scorer = passing(scene).await;
        scene.sql("UPDATE stamps SET nullifiers = '{not json' WHERE provider = 'A'").await;
        scene.sql("UPDATE scores SET stale = (1 = 1)").await;
        let detail =
            "The score could be computed only in part, so it is not signed. Read it unsigned for the reason.";
        for query in ["signed=jwt", "signed=eip712", "signed=eip712&chain_id=1"] {
            let path = format!("{}?{query}", score_path(scorer, wallet(1)));
            // Once computed, and once stored.
            scene.get(&path).await.refuses(409, detail);
            scene.get(&path).await.refuses(409, detail);
            challenged(scene, scorer, query, json!({ "challenge": "1" })).await.refuses(409, detail);
        }
        assert_eq!(scene.score(scorer, wallet(1)).await["score"], "10.00000");
    }

    async fn a_wallet_without_stamps_gets_a_signed_no_and_leaves_nothing_behind(scene: &Scene) {
        let scorer = scene.scorer("0", WEIGHTS).await;
        let answer = signed(scene, scorer, "signed=eip712").await;
        recovered(&answer);
        let message = &answer["typed_data"]["message"];
        assert_eq!((&message["score"], &message["passing"]), (&json!("0"), &json!(false)));
        assert_eq!((scene.count("scores").await, scene.count("holders").await), (0, 0));
    }

    async fn bad_parameters_are_named_and_nothing_is_signed(scene: &Scene) {
        let scorer = passing(scene).await;
        let path = score_path(scorer, wallet(1));
        for (query, name) in [
            ("signed=", "signed"),
            ("signed=JWT", "signed"),
            ("signed=jwt&chain_id=1", "chain_id"),
            ("signed=jwt&verifying_contract=0x", "verifying_contract"),
            ("signed=eip712&chain_id=", "chain_id"),
            ("signed=eip712&chain_id=0", "chain_id"),
            ("signed=eip712&chain_id=+1", "chain_id"),
            ("signed=eip712&chain_id=0x1", "chain_id"),
            ("signed=eip712&chain_id=9007199254740992", "chain_id"),
            ("signed=eip712&verifying_contract=0x1111111111111111111111111111111111111111", "chain_id"),
            ("signed=eip712&chain_id=1&verifying_contract=0x1", "verifying_contract"),
            (
                "signed=eip712&chain_id=1&verifying_contract=0x0000000000000000000000000000000000000000",
                "verifying_contract",
            ),
            ("signed=jwt&explain=maybe", "explain"),
            ("signed=eip712&schema=0x12", "schema"),
            ("signed=jwt&schema=0x12", "schema"),
            ("signed=jwt&signed=eip712", "signed"),
            ("signed=eip712&chain_id=1&chain_id=2", "chain_id"),
            ("signed=jwt&challenge=1", "challenge"),
            ("signed=jwt&audience=me", "audience"),
            ("signed=eas", "chain_id"),
            ("signed=eas&chain_id=1", "verifying_contract"),
            (
                "signed=eas&chain_id=1&verifying_contract=0x1111111111111111111111111111111111111111&schema=0x11",
                "schema",
            ),
        ] {
            scene.get(&format!("{path}?{query}")).await.complains_about("query", name);
        }
        let eas = "signed=eas&chain_id=1&verifying_contract=0x1111111111111111111111111111111111111111";
        for query in ["", "signed=eas", eas] {
            let refused = challenged(scene, scorer, query, json!({ "challenge": "1" })).await;
            refused.complains_about("query", "signed");
        }
        let long = "x".repeat(257);
        for (query, body, member) in [
            ("signed=jwt", json!({ "challenge": "" }), "challenge"),
            ("signed=jwt", json!({ "challenge": long }), "challenge"),
            ("signed=jwt", json!({ "challenge": "a\u{e9}" }), "challenge"),
            ("signed=eip712", json!({ "challenge": "a\nb" }), "challenge"),
            ("signed=jwt", json!({ "challenge": "1", "audience": "" }), "audience"),
            ("signed=eip712", json!({ "challenge": "1", "audience": "me" }), "audience"),
        ] {
            challenged(scene, scorer, query, body).await.complains_about("body", member);
        }
        for body in ["", "{", "[\"1\"]", "null"] {
            let answer =
                scene.send_with_key(Method::POST, &format!("{path}?signed=jwt"), &scene.key, body.to_owned()).await;
            assert!([400, 422].contains(&answer.status.as_u16()), "{body}: {}", answer.text);
        }
        let missing = challenged(scene, scorer, "signed=jwt", json!({ "audience": "me" })).await;
        assert_eq!(missing.status, StatusCode::UNPROCESSABLE_ENTITY);
        let unknown = challenged(scene, scorer, "signed=jwt", json!({ "challenge": "1", "nonce": "1" })).await;
        assert_eq!(unknown.status, StatusCode::UNPROCESSABLE_ENTITY);
    }

    async fn checks_come_in_the_order_of_plain_requests(scene: &Scene) {
        let scorer = passing(scene).await;
        let (_, foreign, _) = scene.neighbor().await;
        let blind = scene.add_key(|key| key.can_read = false).await;
        let path = |scorer: &str, address: &str| format!("/v2/stamps/{scorer}/score/{address}?signed=jwt");
        let (known, holder) = (scorer.to_string(), wallet(1).to_string());
        scene.get_as("wrong", &path(&known, &holder)).await.refuses(401, "Invalid API Key.");
        scene.get_as(&blind, &path(&known, &holder)).await.refuses(403, "Invalid permissions for action.");
        for (key, scorer) in [(&foreign, known.as_str()), (&scene.key, "999")] {
            scene.get_as(key, &path(scorer, &holder)).await.refuses(404, "No scorer matches the given criteria.");
        }
        scene.get(&path(&known, "0x1")).await.refuses(400, "Invalid address.");
        scene.get(&path("abc", &holder)).await.complains_about("path", "scorer_id");
        scene.get(&format!("/v2/stamps/{known}/score/0x1?signed=no")).await.complains_about("query", "signed");
        let posted = async |key: &str, path: &str| {
            scene.send_with_key(Method::POST, path, key, json!({ "challenge": "1" }).to_string()).await
        };
        posted("wrong", &path(&known, &holder)).await.refuses(401, "Invalid API Key.");
        posted(&blind, &path(&known, &holder)).await.refuses(403, "Invalid permissions for action.");
        posted(&foreign, &path(&known, &holder)).await.refuses(404, "No scorer matches the given criteria.");
        posted(&scene.key, &path(&known, "0x1")).await.refuses(400, "Invalid address.");
    }

    async fn a_signed_score_counts_as_one_request_and_makes_history(scene: &Scene) {
        let scorer = passing(scene).await;
        let key = scene.add_key(|key| (key.stamps_tier, key.stamps_limit) = (4, Some(2))).await;
        let path = format!("{}?signed=jwt", score_path(scorer, wallet(1)));
        assert_eq!(scene.get_as(&key, &path).await.header("ratelimit-remaining"), "1");
        let body = json!({ "challenge": "1" }).to_string();
        let answer = scene.send_with_key(Method::POST, &path, &key, body).await;
        assert_eq!((answer.status, answer.header("ratelimit-remaining")), (StatusCode::OK, "0"));
        scene.get_as(&key, &path).await.refuses(429, "You have been rate limited!");
        let later = format!("/v2/stamps/{scorer}/score/{}/history?created_at=2026-02-01", wallet(1));
        assert_eq!(scene.get(&later).await.json()["items"].as_array().unwrap().len(), 1);
    }

    async fn an_explained_score_can_be_signed_too(scene: &Scene) {
        let scorer = passing(scene).await;
        let answer = signed(scene, scorer, "explain=true&signed=jwt").await;
        assert_eq!(answer["explain"]["margin"], "2.50000");
        verified(scene, answer["jwt"].as_str().unwrap()).await;
    }

    async fn after_a_rotation_the_new_key_signs_and_the_old_one_stays_published_for_a_week(scene: &Scene) {
        let scorer = passing(scene).await;
        let old = signed(scene, scorer, "signed=jwt").await["jwt"].as_str().unwrap().to_owned();
        let other = scene.node_signing(SignerConfig::default());
        let path = format!("{}?signed=jwt", score_path(scorer, wallet(1)));
        let of_other = async || other.get(&scene.key, &path).await.json()["jwt"].as_str().unwrap().to_owned();
        let (before, _) = verified(scene, &of_other().await).await;
        let new = rotate(scene, ScoreKeyScheme::Es256, Rotation::default()).await;
        let token = signed(scene, scorer, "signed=jwt").await["jwt"].as_str().unwrap().to_owned();
        let (header, _) = verified(scene, &token).await;
        assert_eq!(header["kid"], new.id());
        assert_ne!(header["kid"], before["kid"]);
        verified(scene, &old).await;
        // Another node notices within seconds.
        scene.clock.set(UnixMillis(day(0).0 + 10_000));
        assert_eq!(verified(scene, &of_other().await).await.0["kid"], header["kid"]);
        scene.clock.set(UnixMillis(day(7).0 - 1));
        assert_eq!(jwks(scene).await.len(), 2);
        scene.clock.set(day(7));
        let keys = jwks(scene).await;
        assert_eq!((keys.len(), &keys[0]["kid"]), (1, &header["kid"]));
        let statuses: Vec<_> = score_keys::list(&scene.state.signer, scene.state.now()).await.unwrap();
        let statuses: Vec<_> = statuses.iter().map(|key| key.status(scene.state.now())).collect();
        assert_eq!(statuses, ["active", "active", "retired"], "of eip712 and of both tokens' keys");
    }

    async fn a_key_can_be_published_before_it_signs(scene: &Scene) {
        let scorer = passing(scene).await;
        let first = recovered(&signed(scene, scorer, "signed=eip712").await);
        let at = Rotation { signs_from: Some(day(2)), compromised: false };
        let next = rotate(scene, ScoreKeyScheme::Eip712, at).await;
        assert_eq!(next.status(scene.state.now()), "next");
        let keys = published(scene).await;
        let key = &keys["keys"][0];
        assert_eq!((&key["address"], &key["signs_until"]), (&json!(next.id()), &Value::Null));
        assert_eq!(key["signs_from"], json!(day(2).to_rfc3339()));
        assert_eq!(keys["keys"][1]["signs_until"], json!(day(2).to_rfc3339()));
        assert_eq!(recovered(&signed(scene, scorer, "signed=eip712").await), first);
        let again = Rotation::default();
        let refused =
            score_keys::rotate(&scene.state, &Actor::cli(scene.workspace), ScoreKeyScheme::Eip712, again).await;
        assert!(refused.unwrap_err().to_string().contains("wait until it signs"));
        scene.clock.set(UnixMillis(day(2).0 - 1));
        assert_eq!(recovered(&signed(scene, scorer, "signed=eip712").await), first);
        scene.clock.set(day(2));
        assert_eq!(recovered(&signed(scene, scorer, "signed=eip712").await), next.id());
        for at in [day(1), day(40)] {
            let at = Rotation { signs_from: Some(at), compromised: false };
            let refused =
                score_keys::rotate(&scene.state, &Actor::cli(scene.workspace), ScoreKeyScheme::Eip712, at).await;
            assert!(refused.unwrap_err().to_string().contains("signs_from"));
        }
    }

    async fn a_compromised_key_is_no_longer_published(scene: &Scene) {
        let scorer = passing(scene).await;
        let first = recovered(&signed(scene, scorer, "signed=eip712").await);
        rotate(scene, ScoreKeyScheme::Eip712, Rotation { signs_from: Some(day(3)), compromised: false }).await;
        let how = Rotation { signs_from: None, compromised: true };
        let new = rotate(scene, ScoreKeyScheme::Eip712, how).await;
        let keys = published(scene).await;
        let addresses: Vec<_> = keys["keys"].as_array().unwrap().iter().filter_map(|key| key["address"].as_str()).collect();
        assert_eq!(addresses, [new.id()]);
        let signer = recovered(&signed(scene, scorer, "signed=eip712").await);
        assert_eq!(signer, new.id());
        assert_ne!(signer, first);
        // The one that was to sign later does not.
        scene.clock.set(day(4));
        assert_eq!(recovered(&signed(scene, scorer, "signed=eip712").await), new.id());
        assert_eq!(jwks(scene).await.len(), 1, "tokens have a key of their own");
    }

    async fn of_two_rotations_at_once_one_wins_and_a_guest_may_not(scene: &Scene) {
        passing(scene).await;
        // Workspaces are in the order of their creation.
        scene.on_day(1);
        let (guest, _, _) = scene.neighbor().await;
        let refused =
            score_keys::rotate(&scene.state, &Actor::cli(guest), ScoreKeyScheme::Es256, Rotation::default()).await;
        assert!(refused.unwrap_err().to_string().contains("first workspace"));
        score_keys::list(&scene.state.signer, scene.state.now()).await.unwrap();
        let node = scene.node_signing(SignerConfig::default());
        let (here, there) = (Actor::cli(scene.workspace), Actor::cli(scene.workspace));
        let (first, second) = tokio::join!(
            score_keys::rotate(&scene.state, &here, ScoreKeyScheme::Es256, Rotation::default()),
            score_keys::rotate(&node.state, &there, ScoreKeyScheme::Es256, Rotation::default()),
        );
        let made: Vec<i64> = [&first, &second].into_iter().flatten().map(|key| key.row.number).collect();
        assert!(!made.is_empty(), "{first:?} {second:?}");
        let known = score_keys::list(&scene.state.signer, scene.state.now()).await.unwrap();
        let tokens = known.iter().filter(|key| key.row.scheme == ScoreKeyScheme::Es256);
        assert_eq!(tokens.count(), 1 + made.len(), "each success is one key");
    }
}
