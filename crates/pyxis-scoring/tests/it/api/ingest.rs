//! Credentials in and out over HTTP (`docs/reference/behavior/scoring.md#credentials`).

use http::{Method, StatusCode};
use pyxis_testkit::engines;
use serde_json::json;

use super::world::{START, World, day, shown, wallet};

engines! {
    async fn each_credential_of_a_request_has_its_own_answer(world: &World) {
        let other = world.credential(wallet(2), "A", "n:1", 9);
        let good = world.credential(wallet(1), "A", "n:1", 9);
        let expired = world.credential_from(wallet(1), "B", "n:2", pyxis_core::clock::UnixMillis(0), START);
        let outcomes = world
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

    async fn the_newer_issuance_replaces_whatever_the_order(world: &World) {
        let scorer = world.scorer("20", &[("A", "1")]).await;
        let old = world.credential_from(wallet(1), "A", "n:1", START, day(30));
        let new =
            world.credential_from(wallet(1), "A", "n:1", pyxis_core::clock::UnixMillis(START.0 + 1), day(9));
        world.on_day(1);
        assert_eq!(world.bring(wallet(1), std::slice::from_ref(&new)).await, ["accepted"]);
        assert_eq!(world.bring(wallet(1), std::slice::from_ref(&old)).await, ["superseded"]);
        assert_eq!(world.score(scorer, wallet(1)).await["stamps"]["A"]["expiration_date"], shown(day(9)));
        // In one request, too.
        assert_eq!(world.bring(wallet(1), &[new, old]).await, ["unchanged", "superseded"]);
    }

    async fn what_is_no_list_of_credentials_is_refused(world: &World) {
        let path = format!("/v2/stamps/{}", wallet(1));
        let post = async |body: &str| world.ask(Method::POST, &path, &world.key, body.to_owned()).await;
        for (body, status) in [("", 400), ("[", 400), ("{}", 422), ("1", 422), ("\u{0}", 400)] {
            assert_eq!(post(body).await.status.as_u16(), status, "{body:?}");
        }
        assert_eq!(post("[]").await.text, r#"{"items":[]}"#);
        let many = post(&format!("[{}]", vec!["1"; 201].join(","))).await;
        let wrong = json!({"detail": [{
            "type": "value_error", "loc": ["body"], "msg": "at most 200 credentials in one request"
        }]});
        assert_eq!((many.status, many.json()), (StatusCode::UNPROCESSABLE_ENTITY, wrong));
        assert_eq!(world.count("holders").await, 0);
    }

    async fn a_rejected_credential_leaves_no_trace_of_its_address(world: &World) {
        assert_eq!(world.bring(wallet(1), &["{}".to_owned()]).await.len(), 1);
        let stranger = pyxis_testkit::issuer::Eip712Issuer::new(&pyxis_core::entropy::SeededEntropy::new(99));
        let claim = pyxis_testkit::issuer::Claim {
            address: wallet(1),
            provider: "A",
            nullifiers: &["n:1"],
            issued_at: START,
            expires_at: day(9),
        };
        assert_eq!(world.bring(wallet(1), &[stranger.issue(&claim)]).await, ["unknown_issuer"]);
        for table in ["holders", "stamps", "stamp_credentials", "stamp_nullifiers"] {
            assert_eq!(world.count(table).await, 0, "{table}");
        }
    }

    async fn a_revoked_credential_leaves_no_trace_of_an_address_that_never_had_a_stamp(world: &World) {
        let scorer = world.scorer("1", &[("A", "1")]).await;
        let both = ["A", "B"].map(|name| world.credential(wallet(1), name, "n:1", 9));
        for credential in &both {
            world.revoke(wallet(1), credential).await;
        }
        assert_eq!(world.bring(wallet(1), &both[..1]).await, ["revoked"]);
        assert_eq!(world.bring(wallet(1), &both).await, ["revoked"; 2]);
        world.score(scorer, wallet(1)).await;
        for table in ["holders", "stamps", "stamp_nullifiers", "claims", "scores", "score_history"] {
            assert_eq!(world.count(table).await, 0, "{table}");
        }
        let [first, second] = both;
        let good = world.credential(wallet(1), "C", "n:2", 9);
        assert_eq!(world.bring(wallet(1), &[first, good, second]).await, ["revoked", "accepted", "revoked"]);
        assert_eq!((world.count("holders").await, world.count("stamps").await), (1, 1));
    }

    async fn the_application_of_the_holder_removes_stamps_by_name(world: &World) {
        for (name, mark) in [("A#1", "a:1"), ("B", "b:1"), ("C", "c:1")] {
            world.verify(wallet(1), name, mark, 9).await;
        }
        assert_eq!(world.delete(wallet(1), "A%231").await.json(), json!({"removed": 1}));
        assert_eq!(world.delete(wallet(1), "A%231").await.json(), json!({"removed": 0}));
        assert_eq!(world.delete(wallet(1), "B&provider=C&provider=D").await.json(), json!({"removed": 2}));
        assert_eq!(world.delete(wallet(9), "B").await.json(), json!({"removed": 0}));
        world.delete(wallet(1), "").await.complains_about("query", "provider");
        world.delete(wallet(1), "a%20b").await.complains_about("query", "provider");
    }
}
