//! Holes of the public implementation that Pyxis must not have (`docs/reference/behavior/scoring.md#known-holes`), by
//! name. The race for an expired claim is in `races`, a malformed stored Stamp in `damage`.

use http::{Method, StatusCode};
use pyxis_core::entropy::SeededEntropy;
use pyxis_core::hex;
use pyxis_scoring::Config;
use pyxis_store::{OpenOptions, Store};
use pyxis_testkit::engines;
use pyxis_testkit::issuer::{CredentialFields, Ed25519Issuer};
use serde_json::{Value, json};

use super::scene::{START, Scene, day, request, score_path, send, timestamp, wallet};
use crate::changed;

/// The signature with `n - s` for `s` and the other parity: the same key verifies it.
fn malleated(credential: &str) -> String {
    const ORDER: [u8; 32] = [
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe, 0xba,
        0xae, 0xdc, 0xe6, 0xaf, 0x48, 0xa0, 0x3b, 0xbf, 0xd2, 0x5e, 0x8c, 0xd0, 0x36, 0x41, 0x41,
    ];
    changed(credential, |value| {
        let text = value["proof"]["proofValue"].as_str().unwrap()[2..].to_owned();
        let byte = |index: usize| u8::from_str_radix(&text[2 * index..2 * index + 2], 16).unwrap();
        let mut signature: Vec<u8> = (0..65).map(byte).collect();
        let mut borrow = 0;
        for index in (0..32).rev() {
            let difference = i16::from(ORDER[index]) - i16::from(signature[32 + index]) - borrow;
            borrow = i16::from(difference < 0);
            signature[32 + index] = u8::try_from(difference.rem_euclid(256)).unwrap();
        }
        signature[64] = 55 - signature[64];
        value["proof"]["proofValue"] = format!("0x{}", hex::encode(&signature)).into();
    })
}

engines! {
    async fn a_cheap_credential_does_not_pass_under_an_expensive_name(scene: &Scene) {
        let scorer = scene.scorer("20", &[("Cheap", "0.1"), ("Dear", "30")]).await;
        let cheap = scene.credential(wallet(1), "Cheap", "n:1", 9);
        let renamed = changed(&cheap, |value| value["credentialSubject"]["provider"] = "Dear".into());
        assert_eq!(scene.bring(wallet(1), &[renamed]).await, ["signature_mismatch"]);
        // The same for a wrapper that names the Stamp: the wrapper is not a credential.
        for wrapped in [
            format!("{{\"provider\":\"Dear\",\"credential\":{cheap}}}"),
            format!("{{\"stamp\":\"Dear\",\"verifiableCredential\":{cheap}}}"),
        ] {
            let outcome = scene.bring(wallet(1), &[wrapped]).await;
            assert_ne!(outcome, ["accepted"]);
        }
        for extra in [
            changed(&cheap, |value| value["provider"] = "Dear".into()),
            changed(&cheap, |value| value["credentialSubject"]["Provider"] = "Dear".into()),
        ] {
            assert_ne!(scene.bring(wallet(1), &[extra]).await, ["accepted"]);
        }
        let twice = cheap.replace("\"provider\":\"Cheap\"", "\"provider\":\"Cheap\",\"provider\":\"Dear\"");
        assert_ne!(scene.bring(wallet(1), &[twice]).await, ["accepted"]);
        assert_eq!(scene.bring(wallet(1), &[cheap]).await, ["accepted"]);
        assert_eq!(scene.score(scorer, wallet(1)).await["score"], "0.10000");
    }

    async fn the_credential_of_one_wallet_cannot_be_brought_for_another(scene: &Scene) {
        let own = scene.credential(wallet(1), "A", "n:1", 9);
        let stolen = own.replace(&wallet(1).to_string(), &wallet(2).to_string());
        assert_ne!(stolen, own);
        assert_eq!(scene.bring(wallet(2), &[own.clone(), stolen]).await, ["subject_mismatch", "signature_mismatch"]);
        assert_eq!(scene.count("stamps").await, 0);
        assert_eq!(scene.bring(wallet(1), &[own]).await, ["accepted"]);
    }

    async fn a_revoked_credential_stays_revoked_however_it_is_spelled(scene: &Scene) {
        let scorer = scene.scorer("1", &[("A", "1")]).await;
        let credential = scene.verify(wallet(1), "A", "n:1", 9).await;
        assert_eq!(scene.score(scorer, wallet(1)).await["passing_score"], true);
        scene.revoke(wallet(1), &credential).await;
        let spelled = credential.replace("\"A\"", " \"\\u0041\"");
        let short_v = changed(&credential, |value| {
            let text = value["proof"]["proofValue"].as_str().unwrap();
            let v = u8::from_str_radix(&text[130..], 16).unwrap() - 27;
            value["proof"]["proofValue"] = format!("{}{v:02x}", &text[..130]).into();
        });
        let upper = changed(&credential, |value| {
            let text = value["proof"]["proofValue"].as_str().unwrap().to_uppercase().replace("0X", "0x");
            value["proof"]["proofValue"] = text.into();
        });
        for again in [credential.clone(), spelled, malleated(&credential), short_v, upper] {
            let outcome = scene.bring(wallet(1), &[again]).await;
            assert!(!["accepted", "replaced", "unchanged"].contains(&&*outcome[0]), "{outcome:?}");
        }
        assert_eq!(scene.bring(wallet(1), &[malleated(&credential)]).await, ["high_s"]);
        let record = scene.score(scorer, wallet(1)).await;
        assert_eq!((&record["stamps"], &record["score"]), (&json!({}), &json!("0.00000")));
    }

    async fn a_revoked_credential_with_a_jws_stays_revoked_however_it_is_spelled(scene: &Scene) {
        let issuer = Ed25519Issuer::new(&SeededEntropy::new(3));
        let row =
            pyxis_store::issuers::IssuerRow { did: issuer.did(), name: "b".to_owned(), created_at: START };
        pyxis_store::issuers::put(&scene.state.store, scene.workspace, &row).await.unwrap();
        let claim = CredentialFields {
            address: wallet(1),
            provider: "A",
            nullifiers: &["n:1"],
            issued_at: START,
            expires_at: day(9),
        };
        let credential = issuer.issue(&claim);
        assert_eq!(scene.bring(wallet(1), std::slice::from_ref(&credential)).await, ["accepted"]);
        let revocation = scene.revoke(wallet(1), &credential).await;
        assert_eq!((revocation.new, revocation.removed), (true, true));
        let spelled = serde_json::to_string_pretty(&serde_json::from_str::<Value>(&credential).unwrap()).unwrap();
        assert_ne!(spelled, credential);
        assert_eq!(scene.bring(wallet(1), &[credential, spelled]).await, ["revoked", "revoked"]);
        assert_eq!(scene.count("stamps").await, 0);
    }

    async fn a_credential_revoked_before_it_came_is_refused(scene: &Scene) {
        let credential = scene.credential(wallet(1), "A", "n:1", 9);
        let first = scene.revoke(wallet(1), &credential).await;
        assert_eq!((first.new, first.removed), (true, false));
        assert!(!scene.revoke(wallet(1), &credential).await.new);
        assert_eq!(scene.bring(wallet(1), &[credential]).await, ["revoked"]);
    }

    async fn a_revoked_stamp_counts_and_is_listed_no_more_at_once(scene: &Scene) {
        let scorer = scene.scorer("1", &[("A", "1")]).await;
        let credential = scene.verify(wallet(1), "A", "n:1", 9).await;
        assert_eq!(scene.score(scorer, wallet(1)).await["passing_score"], true);
        scene.revoke(wallet(1), &credential).await;
        assert_eq!(scene.score(scorer, wallet(1)).await["passing_score"], false);
        assert_eq!(scene.scores(scorer, &[wallet(1)]).await.json()["items"][0]["stamps"], json!({}));
        assert_eq!(scene.get(&format!("/v2/stamps/{}", wallet(1))).await.json()["items"], json!([]));
    }

    async fn weights_are_exact(scene: &Scene) {
        let names: Vec<String> = (0..10).map(|number| format!("T{number}")).collect();
        let weights: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "0.1")).collect();
        let scorer = scene.scorer("1", &weights).await;
        for name in &names {
            scene.verify(wallet(1), name, &format!("of:{name}"), 9).await;
        }
        let record = scene.score(scorer, wallet(1)).await;
        assert_eq!((&record["score"], &record["passing_score"]), (&json!("1.00000"), &json!(true)));
    }

    async fn parameters_that_make_no_sense_are_no_failure_of_ours(scene: &Scene) {
        let scorer = scene.scorer("1", &[("A", "1")]).await;
        scene.verify(wallet(1), "A", "n:1", 9).await;
        let (score, stamps) = (score_path(scorer, wallet(1)), format!("/v2/stamps/{}", wallet(1)));
        let values = [
            "-1",
            "0",
            "",
            "%00",
            "%ff",
            "null",
            "NaN",
            "1e400",
            "-9223372036854775809",
            "%F0%9F%92%A9",
            "'--",
            "[]",
            "a&a",
            "%25",
            "9999-99-99",
            "0000-00-00",
            "2026-01-01T00:00:00.000Z",
            "-0001-01-01",
            "+10000-01-01",
        ];
        for value in values {
            for path in [
                format!("{stamps}?limit={value}"),
                format!("{stamps}?token={value}"),
                format!("{stamps}?include_metadata={value}"),
                format!("{score}?explain={value}"),
                format!("{score}/history?created_at={value}"),
                format!("/v2/stamps/{value}/score/{}", wallet(1)),
                format!("/v2/stamps/{scorer}/score/{value}"),
                format!("/v2/stamps/{value}"),
                format!("/registry/stamps/{}?limit={value}", wallet(1)),
            ] {
                let Ok(uri) = path.parse::<http::Uri>() else { continue };
                let status = scene.get(&uri.to_string()).await.status;
                assert!(!status.is_server_error(), "{path}: {status}");
            }
        }
    }

    async fn a_deduplicated_stamp_shows_the_expiry_of_the_other(scene: &Scene) {
        let scorer = scene.scorer("1", &[("A", "1")]).await;
        scene.verify(wallet(1), "A", "n:1", 9).await;
        scene.score(scorer, wallet(1)).await;
        scene.verify(wallet(2), "A", "n:1", 40).await;
        assert_eq!(scene.score(scorer, wallet(2)).await["stamps"]["A"]["expiration_date"], timestamp(day(9)));
    }

    async fn a_key_of_another_account_does_not_see_our_scorers_or_stamps(scene: &Scene) {
        let scorer = scene.scorer("1", &[("A", "1")]).await;
        scene.verify(wallet(1), "A", "n:1", 9).await;
        scene.score(scorer, wallet(1)).await;
        let (_, theirs, _) = scene.neighbor().await;
        scene
            .get_as(&theirs, &score_path(scorer, wallet(1)))
            .await
            .refuses(404, "No scorer matches the given criteria.");
        let history = format!("{}/history?created_at=2027-01-01", score_path(scorer, wallet(1)));
        scene.get_as(&theirs, &history).await.refuses(404, "No scorer matches the given criteria.");
        assert_eq!(
            scene.get_as(&theirs, &format!("/v2/stamps/{}", wallet(1))).await.json()["items"],
            json!([])
        );
        let gone = scene
            .send_with_key(Method::DELETE, &format!("/v2/stamps/{}?provider=A", wallet(1)), &theirs, String::new())
            .await;
        assert_eq!(gone.text, r#"{"removed":0}"#);
        assert_eq!(scene.score(scorer, wallet(1)).await["passing_score"], true);
    }

    async fn a_truncated_signature_is_one_rejection_and_no_more(scene: &Scene) {
        let good = scene.credential(wallet(1), "A", "n:1", 9);
        let claim = CredentialFields {
            address: wallet(1),
            provider: "B",
            nullifiers: &["n:2"],
            issued_at: START,
            expires_at: day(9),
        };
        let other = Ed25519Issuer::new(&SeededEntropy::new(3));
        let row =
            pyxis_store::issuers::IssuerRow { did: other.did(), name: "b".to_owned(), created_at: START };
        pyxis_store::issuers::put(&scene.state.store, scene.workspace, &row).await.unwrap();
        let good_ed = other.issue(&claim);
        let cut = |text: &Value, length: usize| Value::from(text.as_str().unwrap()[..length].to_owned());
        let mut all = Vec::new();
        for length in [0, 1, 2, 3, 10, 64, 66, 129, 130, 131] {
            all.push(changed(&good, |value| {
                value["proof"]["proofValue"] = cut(&value["proof"]["proofValue"], length);
            }));
        }
        let whole = serde_json::from_str::<Value>(&good_ed).unwrap()["proof"]["jws"].as_str().unwrap().len();
        for length in [0, 1, 30, whole - 40, whole - 1] {
            all.push(changed(&good_ed, |value| value["proof"]["jws"] = cut(&value["proof"]["jws"], length)));
        }
        all.extend([good, good_ed]);
        let outcomes = scene.bring(wallet(1), &all).await;
        let (refused, accepted) = outcomes.split_at(outcomes.len() - 2);
        assert_eq!(accepted, ["accepted", "accepted"]);
        assert!(
            refused.iter().all(|word| word.contains("signature")
                || word.contains("invalid")
                || word.contains("missing")),
            "{refused:?}"
        );
    }

    async fn while_the_database_does_not_answer_nobody_gets_a_score(scene: &Scene) {
        // No server listens there.
        let nowhere = "postgres://px@127.0.0.1:1/px".parse().unwrap();
        let node = scene.node_on(Store::open(&OpenOptions::new(nowhere)).unwrap(), Config::default());
        let stamps = format!("/v2/stamps/{}", wallet(1));
        for (method, path) in [
            (Method::GET, score_path("1".parse().unwrap(), wallet(1))),
            (Method::GET, stamps.clone()),
            (Method::POST, stamps),
            (Method::GET, "/v2/stamps/metadata".to_owned()),
        ] {
            let answer = send(&node.router, request(method, &path, &scene.key, "[]".to_owned())).await;
            assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE, "{path}: {}", answer.text);
            assert_eq!(answer.text, r#"{"detail":"The service is not available. Try again later."}"#);
        }
    }

    async fn a_failure_of_ours_is_5xx_and_tells_nothing_of_the_inside(scene: &Scene) {
        let scorer = scene.scorer("1", &[("A", "1")]).await;
        scene.verify(wallet(1), "A", "n:1", 9).await;
        for (table, path) in
            [("scorer_weights", score_path(scorer, wallet(1))), ("holders", score_path(scorer, wallet(2)))]
        {
            scene.sql(&format!("ALTER TABLE {table} RENAME TO elsewhere")).await;
            let answer = scene.get(&path).await;
            assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR, "{table}: {}", answer.text);
            assert_eq!(answer.text, r#"{"detail":"Internal server error."}"#);
            scene.sql(&format!("ALTER TABLE elsewhere RENAME TO {table}")).await;
            assert_eq!(scene.get(&path).await.status, StatusCode::OK);
        }
        assert_eq!(scene.score(scorer, wallet(1)).await["error"], Value::Null);
    }
}
