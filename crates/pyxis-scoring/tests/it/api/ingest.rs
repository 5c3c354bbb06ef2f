//! Credentials in and out over HTTP (`docs/reference/behavior/scoring.md#credentials`).

use http::{Method, StatusCode};
use pyxis_testkit::engines;
use serde_json::json;

use super::scene::{START, Scene, day, timestamp, wallet};

engines! {
    async fn each_credential_of_a_request_has_its_own_answer(scene: &Scene) {
        let other = scene.credential(wallet(2), "A", "n:1", 9);
        let good = scene.credential(wallet(1), "A", "n:1", 9);
        let expired = scene.credential_from(wallet(1), "B", "n:2", pyxis_core::clock::UnixMillis(0), START);
        let outcomes = scene
            .bring(wallet(1), &[other, good.clone(), "{}".to_owned(), "null".to_owned(), expired, good])
            .await;
        assert_eq!(outcomes[1], "accepted");
        assert_eq!(outcomes[5], "unchanged");
        for refused in [0, 2, 3, 4] {
            assert!(
                !["accepted", "replaced", "unchanged", "rejected"].contains(&&*outcomes[refused]),
                "{outcomes:?}"
            );
        }
    }

    async fn the_newer_issuance_replaces_whatever_the_order(scene: &Scene) {
        let scorer = scene.scorer("20", &[("A", "1")]).await;
        let old = scene.credential_from(wallet(1), "A", "n:1", START, day(30));
        let new =
            scene.credential_from(wallet(1), "A", "n:1", pyxis_core::clock::UnixMillis(START.0 + 1), day(9));
        scene.on_day(1);
        assert_eq!(scene.bring(wallet(1), std::slice::from_ref(&new)).await, ["accepted"]);
        assert_eq!(scene.bring(wallet(1), std::slice::from_ref(&old)).await, ["superseded"]);
        assert_eq!(scene.score(scorer, wallet(1)).await["stamps"]["A"]["expiration_date"], timestamp(day(9)));
        // In one request, too.
        assert_eq!(scene.bring(wallet(1), &[new, old]).await, ["unchanged", "superseded"]);
    }

    async fn what_is_no_list_of_credentials_is_refused(scene: &Scene) {
        let path = format!("/v2/stamps/{}", wallet(1));
        let post = async |body: &str| scene.send_with_key(Method::POST, &path, &scene.key, body.to_owned()).await;
        for (body, status) in [("", 400), ("[", 400), ("{}", 422), ("1", 422), ("\u{0}", 400)] {
            assert_eq!(post(body).await.status.as_u16(), status, "{body:?}");
        }
        assert_eq!(post("[]").await.text, r#"{"items":[]}"#);
        let many = post(&format!("[{}]", vec!["1"; 201].join(","))).await;
        let wrong = json!({"detail": [{
            "type": "value_error", "loc": ["body"], "msg": "at most 200 credentials in one request"
        }]});
        assert_eq!((many.status, many.json()), (StatusCode::UNPROCESSABLE_ENTITY, wrong));
        assert_eq!(scene.count("holders").await, 0);
    }

    async fn a_rejected_credential_leaves_no_trace_of_its_address(scene: &Scene) {
        assert_eq!(scene.bring(wallet(1), &["{}".to_owned()]).await.len(), 1);
        let stranger = pyxis_testkit::issuer::Eip712Issuer::new(&pyxis_core::entropy::SeededEntropy::new(99));
        let claim = pyxis_testkit::issuer::CredentialFields {
            address: wallet(1),
            provider: "A",
            nullifiers: &["n:1"],
            issued_at: START,
            expires_at: day(9),
        };
        assert_eq!(scene.bring(wallet(1), &[stranger.issue(&claim)]).await, ["unknown_issuer"]);
        for table in ["holders", "stamps", "stamp_credentials", "stamp_nullifiers"] {
            assert_eq!(scene.count(table).await, 0, "{table}");
        }
    }

    async fn a_revoked_credential_leaves_no_trace_of_an_address_that_never_had_a_stamp(scene: &Scene) {
        let scorer = scene.scorer("1", &[("A", "1")]).await;
        let both = ["A", "B"].map(|name| scene.credential(wallet(1), name, "n:1", 9));
        for credential in &both {
            scene.revoke(wallet(1), credential).await;
        }
        assert_eq!(scene.bring(wallet(1), &both[..1]).await, ["revoked"]);
        assert_eq!(scene.bring(wallet(1), &both).await, ["revoked"; 2]);
        scene.score(scorer, wallet(1)).await;
        for table in ["holders", "stamps", "stamp_nullifiers", "claims", "scores", "score_history"] {
            assert_eq!(scene.count(table).await, 0, "{table}");
        }
        let [first, second] = both;
        let good = scene.credential(wallet(1), "C", "n:2", 9);
        assert_eq!(scene.bring(wallet(1), &[first, good, second]).await, ["revoked", "accepted", "revoked"]);
        assert_eq!((scene.count("holders").await, scene.count("stamps").await), (1, 1));
    }

    async fn the_application_of_the_holder_removes_stamps_by_name(scene: &Scene) {
        for (name, mark) in [("A#1", "a:1"), ("B", "b:1"), ("C", "c:1")] {
            scene.verify(wallet(1), name, mark, 9).await;
        }
        assert_eq!(scene.delete(wallet(1), "A%231").await.json(), json!({"removed": 1}));
        assert_eq!(scene.delete(wallet(1), "A%231").await.json(), json!({"removed": 0}));
        assert_eq!(scene.delete(wallet(1), "B&provider=C&provider=D").await.json(), json!({"removed": 2}));
        assert_eq!(scene.delete(wallet(9), "B").await.json(), json!({"removed": 0}));
        scene.delete(wallet(1), "").await.complains_about("query", "provider");
        scene.delete(wallet(1), "a%20b").await.complains_about("query", "provider");
    }
}
