//! The latest score (`docs/reference/behavior/scoring.md#score-record`).

use http::{Method, StatusCode};
use pyxis_core::clock::Clock;
use pyxis_testkit::engines;
use serde_json::{Value, json};

use super::scene::{Scene, day, score_path, timestamp, wallet};

const WEIGHTS: &[(&str, &str)] = &[("A", "1.5"), ("B", "2"), ("C", "19.9"), ("D", "0.1"), ("Zero", "0")];

engines! {
    async fn an_address_without_stamps_has_zero_and_leaves_no_trace(scene: &Scene) {
        let scorer = scene.scorer("20", WEIGHTS).await;
        let expected = format!(
            "{{\"address\":\"{}\",\"score\":\"0.00000\",\"passing_score\":false,\
             \"last_score_timestamp\":\"2026-01-01T00:00:00.000000+00:00\",\"expiration_timestamp\":null,\
             \"threshold\":\"20.00000\",\"error\":null,\"stamps\":{{}}}}",
            wallet(1)
        );
        assert_eq!(scene.record(scorer, wallet(1)).await, expected);
        for number in 2..20 {
            scene.record(scorer, wallet(number)).await;
        }
        scene.scores(scorer, &[wallet(30), wallet(31)]).await;
        for table in ["holders", "scores", "score_history", "claims"] {
            assert_eq!(scene.count(table).await, 0, "{table}");
        }
        // Not even with a threshold of zero.
        let free = scene.scorer("0", WEIGHTS).await;
        assert_eq!(scene.score(free, wallet(1)).await["passing_score"], false);
    }

    async fn a_record_is_written_exactly(scene: &Scene) {
        let scorer = scene.scorer("20", WEIGHTS).await;
        scene.verify(wallet(1), "C", "c:1", 30).await;
        scene.verify(wallet(1), "A", "a:1", 20).await;
        scene.clock.set(pyxis_core::clock::UnixMillis(day(1).0 + 250));
        let answer = scene.get(&score_path(scorer, wallet(1))).await;
        let expected = format!(
            "{{\"address\":\"{}\",\"score\":\"21.40000\",\"passing_score\":true,\
             \"last_score_timestamp\":\"2026-01-02T00:00:00.250000+00:00\",\
             \"expiration_timestamp\":\"2026-01-21T00:00:00.000000+00:00\",\
             \"threshold\":\"20.00000\",\"error\":null,\"stamps\":{{\
             \"A\":{{\"score\":\"1.50000\",\"dedup\":false,\"expiration_date\":\"2026-01-21T00:00:00.000000+00:00\"}},\
             \"C\":{{\"score\":\"19.90000\",\"dedup\":false,\"expiration_date\":\"2026-01-31T00:00:00.000000+00:00\"}}}}}}",
            wallet(1)
        );
        assert_eq!(
            (answer.text, answer.headers["content-type"].to_str().unwrap()),
            (expected, "application/json")
        );
    }

    async fn a_sum_that_equals_the_threshold_passes(scene: &Scene) {
        let scorer = scene.scorer("20", WEIGHTS).await;
        scene.verify(wallet(1), "C", "c:1", 30).await;
        let below = scene.score(scorer, wallet(1)).await;
        assert_eq!((&below["score"], &below["passing_score"]), (&json!("19.90000"), &json!(false)));
        scene.verify(wallet(1), "D", "d:1", 30).await;
        let equal = scene.score(scorer, wallet(1)).await;
        assert_eq!((&equal["score"], &equal["passing_score"]), (&json!("20.00000"), &json!(true)));
        scene.set_terms(scorer, "20.00001", WEIGHTS).await;
        let above = scene.score(scorer, wallet(1)).await;
        assert_eq!((&above["threshold"], &above["passing_score"]), (&json!("20.00001"), &json!(false)));
    }

    async fn a_stamp_without_weight_is_listed_and_moves_nothing(scene: &Scene) {
        let scorer = scene.scorer("20", WEIGHTS).await;
        scene.verify(wallet(1), "Unheard#of", "u:1", 5).await;
        scene.verify(wallet(1), "Zero", "z:1", 6).await;
        let record = scene.score(scorer, wallet(1)).await;
        assert_eq!(record["expiration_timestamp"], Value::Null);
        assert_eq!(
            record["stamps"]["Unheard#of"],
            json!({"score": "0.00000", "dedup": false, "expiration_date": timestamp(day(5))})
        );
        assert_eq!(record["stamps"]["Zero"]["score"], "0.00000");
        scene.verify(wallet(1), "A", "a:1", 9).await;
        assert_eq!(scene.score(scorer, wallet(1)).await["expiration_timestamp"], timestamp(day(9)));
    }

    async fn a_score_expires_with_the_first_stamp_that_contributes(scene: &Scene) {
        let scorer = scene.scorer("2", WEIGHTS).await;
        scene.verify(wallet(2), "B", "b:1", 3).await;
        scene.score(scorer, wallet(2)).await;
        scene.verify(wallet(1), "A", "a:1", 20).await;
        scene.verify(wallet(1), "B", "b:1", 4).await; // deduplicated until day 3
        scene.verify(wallet(1), "C", "c:1", 10).await;
        assert_eq!(scene.score(scorer, wallet(1)).await["expiration_timestamp"], timestamp(day(10)));
        scene.on_day(3);
        let taken = scene.score(scorer, wallet(1)).await;
        assert_eq!(
            (&taken["expiration_timestamp"], &taken["score"]),
            (&json!(timestamp(day(4))), &json!("23.40000"))
        );
        scene.on_day(10);
        let later = scene.score(scorer, wallet(1)).await;
        assert_eq!(
            (&later["expiration_timestamp"], &later["passing_score"]),
            (&json!(timestamp(day(20))), &json!(false))
        );
        scene.on_day(20);
        let end = scene.score(scorer, wallet(1)).await;
        assert_eq!((&end["expiration_timestamp"], &end["stamps"]), (&Value::Null, &json!({})));
    }

    async fn a_score_is_computed_again_only_when_something_changed(scene: &Scene) {
        let scorer = scene.scorer("20", WEIGHTS).await;
        scene.verify(wallet(1), "A", "a:1", 20).await;
        let first = scene.record(scorer, wallet(1)).await;
        scene.on_day(7);
        assert_eq!(scene.record(scorer, wallet(1)).await, first);
        scene.set_terms(scorer, "20", &[("A", "7")]).await;
        let second = scene.score(scorer, wallet(1)).await;
        assert_eq!(
            (&second["score"], &second["last_score_timestamp"]),
            (&json!("7.00000"), &json!(timestamp(day(7))))
        );
        scene.on_day(8);
        scene.verify(wallet(1), "B", "b:1", 20).await;
        assert_eq!(scene.score(scorer, wallet(1)).await["last_score_timestamp"], timestamp(day(8)));
        scene.on_day(9);
        scene.delete(wallet(1), "B").await;
        let record = scene.score(scorer, wallet(1)).await;
        assert_eq!(
            (&record["last_score_timestamp"], &record["stamps"]["B"]),
            (&json!(timestamp(day(9))), &Value::Null)
        );
        scene.clock.set(pyxis_core::clock::UnixMillis(day(20).0 - 1));
        assert_eq!(scene.score(scorer, wallet(1)).await["score"], "7.00000");
        scene.on_day(20);
        assert_eq!(scene.score(scorer, wallet(1)).await["score"], "0.00000");
    }

    async fn names_of_stamps_may_be_anything_printable(scene: &Scene) {
        let scorer = scene.scorer("20", &[("NFT#50", "3"), ("q\"b\\s", "4")]).await;
        scene.verify(wallet(1), "NFT#50", "a:1", 20).await;
        scene.verify(wallet(1), "q\"b\\s", "b:1", 20).await;
        let record = scene.score(scorer, wallet(1)).await;
        assert_eq!(record["stamps"]["NFT#50"]["score"], "3.00000");
        assert_eq!(record["stamps"]["q\"b\\s"]["score"], "4.00000");
    }

    async fn explained_a_record_is_the_same_and_says_why(scene: &Scene) {
        let scorer = scene.scorer("2", WEIGHTS).await;
        scene.verify(wallet(2), "B", "b:1", 3).await;
        scene.score(scorer, wallet(2)).await;
        for (name, mark) in [("A", "a:1"), ("B", "b:1"), ("New", "n:1")] {
            scene.verify(wallet(1), name, mark, 9).await;
        }
        let plain = scene.score(scorer, wallet(1)).await;
        let mut explained =
            scene.get(&format!("{}?explain=true", score_path(scorer, wallet(1)))).await.json();
        let why = explained.as_object_mut().unwrap().remove("explain").unwrap();
        assert_eq!(explained, plain);
        assert_eq!(why["margin"], "-0.50000");
        assert_eq!(why["stamps"]["A"]["contribution"], "1.50000");
        assert_eq!(why["stamps"]["B"]["weight"], "2.00000");
        assert_eq!(why["stamps"]["B"]["contribution"], "0.00000");
        let reasons: Vec<&Value> =
            ["A", "B", "New"].iter().map(|name| &why["stamps"][*name]["reason"]).collect();
        assert!(reasons[0] != reasons[1] && reasons[1] != reasons[2] && reasons[0] != reasons[2], "{why}");
    }

    async fn a_batch_answers_what_single_requests_answer_in_the_order_asked(scene: &Scene) {
        let scorer = scene.scorer("2", WEIGHTS).await;
        scene.verify(wallet(1), "A", "a:1", 9).await;
        scene.verify(wallet(2), "A", "a:1", 9).await;
        scene.verify(wallet(3), "B", "b:1", 9).await;
        scene.score(scorer, wallet(3)).await;
        let asked = [wallet(3), wallet(1), wallet(9), wallet(2), wallet(1)];
        let answer = scene.scores(scorer, &asked).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
        let items = answer.json()["items"].as_array().unwrap().clone();
        let mut single = Vec::new();
        for address in asked {
            single.push(scene.score(scorer, address).await);
        }
        assert_eq!(items, single);
        assert_eq!(scene.scores(scorer, &[]).await.text, r#"{"items":[]}"#);
        let many: Vec<_> = (0..1000).map(|number| wallet(1000 + number)).collect();
        assert_eq!(scene.scores(scorer, &many).await.json()["items"].as_array().unwrap().len(), 1000);
    }

    async fn an_entry_that_is_not_an_address_is_reported_in_its_place_and_the_others_are_scored(scene: &Scene) {
        let scorer = scene.scorer("2", WEIGHTS).await;
        scene.verify(wallet(1), "B", "b:1", 9).await;
        let (good, long) = (wallet(1).to_string(), "é".repeat(500));
        let summed = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1Beaed";
        let body = json!({"addresses": ["vitalik.eth", good, 7, good, long, summed, null]}).to_string();
        let path = format!("/v2/stamps/{scorer}/scores");
        let answer = scene.send_with_key(Method::POST, &path, &scene.key, body).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
        let score = scene.score(scorer, wallet(1)).await;
        assert_eq!(score["passing_score"], true);
        let failed = |index: usize, address: &str, detail: &str| {
            json!({"address": address, "error": {"index": index, "code": "invalid_address", "detail": detail}})
        };
        let form = "not an address: write 0x followed by 40 hex characters";
        let sum = "wrong checksum (ERC-55): look for a typo, or write it in lower case";
        let wanted = json!({"items": [
            failed(0, "vitalik.eth", form), score, failed(2, "7", form), score,
            failed(4, &format!("{}…", "é".repeat(100)), form), failed(5, summed, sum), failed(6, "null", form),
        ]});
        assert_eq!(answer.json(), wanted);
        // All of them may be wrong, and nothing is stored for any.
        let body = json!({"addresses": vec!["x"; 1000]}).to_string();
        let items = scene.send_with_key(Method::POST, &path, &scene.key, body).await.json()["items"].clone();
        assert_eq!((items.as_array().unwrap().len(), &items[999]), (1000, &failed(999, "x", form)));
        assert_eq!(scene.count("holders").await, 1);
        let answer = scene.send_with_key(Method::POST, &format!("{path}?strict=maybe"), &scene.key, "{}".to_owned()).await;
        answer.complains_about("query", "strict");
    }

    async fn a_batch_that_is_malformed_is_refused_whole(scene: &Scene) {
        let scorer = scene.scorer("2", WEIGHTS).await;
        let post = async |body: String| {
            let path = format!("/v2/stamps/{scorer}/scores?strict=true");
            scene.send_with_key(Method::POST, &path, &scene.key, body).await
        };
        let many: Vec<_> = (0..1001).map(wallet).collect();
        for (body, status) in [
            (String::new(), 400),
            ("{".to_owned(), 400),
            ("[]".to_owned(), 422),
            ("{}".to_owned(), 422),
            (r#"{"addresses":1}"#.to_owned(), 422),
            (r#"{"addresses":[1]}"#.to_owned(), 422),
            (r#"{"addresses":["vitalik.eth"]}"#.to_owned(), 400),
            (json!({"addresses": many}).to_string(), 422),
            (" ".repeat(200_000), 413),
            ("\u{0}".to_owned(), 400),
        ] {
            let answer = post(body.clone()).await;
            assert_eq!(answer.status.as_u16(), status, "{:.60}: {}", body, answer.text);
            assert!(!answer.json()["detail"].is_null());
        }
        let wrong = json!([{
            "type": "value_error", "loc": ["body", "addresses"], "msg": "at most 1000 addresses in one request"
        }]);
        assert_eq!(post(json!({"addresses": many}).to_string()).await.json()["detail"], wrong);
        // Each bad address is named, up to twenty of them.
        let (good, short) = (wallet(1).to_string(), &wallet(1).to_string()[2..]);
        let summed = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1Beaed";
        let answer = post(json!({"addresses": [good, short, good, "vitalik.eth", summed]}).to_string()).await;
        assert_eq!((answer.status.as_u16(), &answer.json()["detail"]), (400, &json!("Invalid address.")));
        let form = "not an address: write 0x followed by 40 hex characters";
        let sum = "wrong checksum (ERC-55): look for a typo, or write it in lower case";
        let invalid = json!([
            {"index": 1, "value": short, "reason": form},
            {"index": 3, "value": "vitalik.eth", "reason": form},
            {"index": 4, "value": summed, "reason": sum},
        ]);
        assert_eq!((&answer.json()["invalid"], &answer.json()["invalid_count"]), (&invalid, &json!(3)));
        let answer = post(json!({"addresses": vec!["x"; 1000]}).to_string()).await.json();
        assert_eq!((answer["invalid"].as_array().unwrap().len(), &answer["invalid_count"]), (20, &json!(1000)));
        let answer = post(json!({"addresses": [good, 1, good, null]}).to_string()).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
        let places: Vec<Value> =
            answer.json()["detail"].as_array().unwrap().iter().map(|item| item["loc"].clone()).collect();
        assert_eq!(places, [json!(["body", "addresses", 1]), json!(["body", "addresses", 3])]);
    }
}

#[tokio::test]
async fn a_stamp_of_the_future_counts_from_its_issuance_on() {
    let scene = Scene::on_sqlite().await;
    let scorer = scene.scorer("1", &[("A", "1")]).await;
    // Within the allowed clock skew.
    let soon = scene.clock.now().plus(std::time::Duration::from_mins(2));
    let text = scene.credential_from(wallet(1), "A", "a:1", soon, day(9));
    assert_eq!(scene.bring(wallet(1), &[text]).await, ["accepted"]);
    assert_eq!(scene.score(scorer, wallet(1)).await["stamps"], json!({}));
    scene.clock.set(soon);
    assert_eq!(scene.score(scorer, wallet(1)).await["passing_score"], true);
}
