//! Rows that were damaged outside the program (one malformed stored Stamp must not zero a whole score;
//! `docs/reference/behavior/scoring.md#known-holes`).

use http::StatusCode;
use pyxis_core::clock::UnixMillis;
use pyxis_testkit::engines;
use serde_json::{Value, json};

use super::scene::{Scene, day, score_path, timestamp, wallet};

const WEIGHTS: &[(&str, &str)] = &[("A", "1"), ("B", "2"), ("C", "4")];

engines! {
    async fn the_rest_of_the_stamps_counts_and_the_record_says_so(scene: &Scene) {
        let scorer = scene.scorer("5", WEIGHTS).await;
        let broken = scene.verify(wallet(1), "A", "a:1", 20).await;
        scene.verify(wallet(1), "B", "b:1", 20).await;
        scene.verify(wallet(1), "C", "c:1", 20).await;
        for damage in ["nullifiers = '{not json'", "nullifiers = '[\"\"]'", "provider = 'not a name'"] {
            scene.sql(&format!("UPDATE stamps SET {damage} WHERE provider IN ('A', 'not a name')")).await;
            scene.sql("UPDATE scores SET stale = (1 = 1)").await;
            let record = scene.score(scorer, wallet(1)).await;
            assert_eq!(
                (&record["score"], &record["passing_score"]),
                (&json!("6.00000"), &json!(true)),
                "{damage}"
            );
            assert_eq!(record["error"], "1 stored Stamp cannot be read and does not count.");
            assert_eq!(record["stamps"].as_object().unwrap().len(), 2);
            let batch = scene.scores(scorer, &[wallet(1)]).await.json();
            assert_eq!(batch["items"][0], record);
            let earlier = scene.get(&format!("/registry/score/{scorer}/{}", wallet(1))).await.json();
            assert_eq!(earlier["error"], record["error"]);
            let explained = scene.get(&format!("{}?explain=true", score_path(scorer, wallet(1)))).await;
            assert_eq!(explained.json()["error"], record["error"]);
        }
        // Others are intact.
        scene.verify(wallet(2), "B", "b:2", 20).await;
        assert_eq!(scene.score(scorer, wallet(2)).await["error"], Value::Null);
        // Its issuer can still revoke it.
        scene.revoke(wallet(1), &broken).await;
        scene.sql("UPDATE scores SET stale = (1 = 1)").await;
        assert_eq!(scene.score(scorer, wallet(1)).await["error"], Value::Null);
    }

    async fn more_than_one_are_counted_and_a_whole_score_follows_when_they_are_fixed(scene: &Scene) {
        let scorer = scene.scorer("5", WEIGHTS).await;
        for (name, mark) in [("A", "a:1"), ("B", "b:1"), ("C", "c:1")] {
            scene.verify(wallet(1), name, mark, 20).await;
        }
        scene.sql("UPDATE stamps SET nullifiers = '' WHERE provider <> 'C'").await;
        let record = scene.score(scorer, wallet(1)).await;
        assert_eq!(
            (&record["score"], &record["error"]),
            (&json!("4.00000"), &json!("2 stored Stamps cannot be read and do not count."))
        );
        scene.sql("UPDATE stamps SET nullifiers = '[\"a:1\"]' WHERE provider = 'A'").await;
        scene.sql("UPDATE stamps SET nullifiers = '[\"b:1\"]' WHERE provider = 'B'").await;
        scene.clock.set(UnixMillis(day(0).0 + 3_600_000));
        let record = scene.score(scorer, wallet(1)).await;
        assert_eq!((&record["score"], &record["error"]), (&json!("7.00000"), &Value::Null));
    }

    async fn a_damaged_record_is_recomputed(scene: &Scene) {
        let scorer = scene.scorer("5", WEIGHTS).await;
        scene.verify(wallet(1), "C", "c:1", 20).await;
        let record = scene.record(scorer, wallet(1)).await;
        for damage in ["x", "400000 500000 5 - 0 7", ""] {
            let damaged = format!("UPDATE scores SET body = '{damage}'");
            scene.sql(&damaged).await;
            assert_eq!(scene.record(scorer, wallet(1)).await, record, "{damage:?}");
            scene.sql(&damaged).await;
            let batch = scene.scores(scorer, &[wallet(1)]).await;
            assert_eq!(batch.text, format!("{{\"items\":[{record}]}}"), "{damage:?}");
        }
        // A past score cannot be recomputed.
        scene.sql("UPDATE score_history SET body = 'x'").await;
        let history = scene.get(&format!("{}/history?created_at=2026-02-01", score_path(scorer, wallet(1)))).await;
        assert_eq!(history.status, StatusCode::INTERNAL_SERVER_ERROR);
    }

    async fn a_damaged_stamp_is_renewed_or_removed_like_any_other(scene: &Scene) {
        let scorer = scene.scorer("5", WEIGHTS).await;
        for (name, mark) in [("A", "a:1"), ("B", "b:1"), ("C", "c:1")] {
            scene.verify(wallet(1), name, mark, 20).await;
        }
        scene.score(scorer, wallet(1)).await;
        scene.sql("UPDATE stamps SET nullifiers = 'x' WHERE provider <> 'C'").await;
        scene.on_day(1);
        scene.verify(wallet(1), "A", "a:1", 30).await;
        assert_eq!(scene.score(scorer, wallet(1)).await["stamps"]["A"]["expiration_date"], timestamp(day(30)));
        assert_eq!(scene.delete(wallet(1), "B").await.text, r#"{"removed":1}"#);
        let record = scene.score(scorer, wallet(1)).await;
        assert_eq!((&record["score"], &record["error"]), (&json!("5.00000"), &Value::Null));
    }

    async fn a_credential_whose_stored_name_is_damaged_is_there_once_when_it_is_brought_again(scene: &Scene) {
        let scorer = scene.scorer("5", WEIGHTS).await;
        let text = scene.verify(wallet(1), "A", "a:1", 20).await;
        scene.sql("UPDATE stamps SET provider = 'not a name'").await;
        assert_eq!(scene.bring(wallet(1), std::slice::from_ref(&text)).await, ["accepted"]);
        assert_eq!(scene.count("stamps").await, 1);
        let record = scene.score(scorer, wallet(1)).await;
        assert_eq!((&record["score"], &record["error"]), (&json!("1.00000"), &Value::Null));
        assert!(scene.revoke(wallet(1), &text).await.removed);
        assert_eq!(scene.count("stamps").await, 0);
    }

    async fn a_damaged_credential_leaves_the_page_to_the_others(scene: &Scene) {
        for (name, mark) in [("A", "a:1"), ("B", "b:1"), ("C", "c:1"), ("D", "d:1")] {
            scene.verify(wallet(1), name, mark, 20).await;
        }
        let damage = async |name: &str, what: &str| {
            let row = format!("stamp_id = (SELECT id FROM stamps WHERE provider = '{name}')");
            scene.sql(&format!("UPDATE stamp_credentials SET {what} WHERE {row}")).await;
        };
        damage("B", "credential = '{', packed = NULL").await;
        damage("D", "packed = substr(packed, 1, 20)").await;
        scene.sql("UPDATE stamps SET provider = 'not a name' WHERE provider = 'C'").await;
        let answer = scene.get(&format!("/v2/stamps/{}?include_metadata=true", wallet(1))).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
        assert_eq!(answer.json()["items"].as_array().unwrap().len(), 2);
    }
}
