//! Rows that were damaged outside the program (one malformed stored Stamp must not zero a whole score;
//! `docs/reference/behavior/scoring.md#known-holes`).

use http::StatusCode;
use pyxis_core::clock::UnixMillis;
use pyxis_testkit::engines;
use serde_json::{Value, json};

use super::world::{World, day, score_path, shown, wallet};

const WEIGHTS: &[(&str, &str)] = &[("A", "1"), ("B", "2"), ("C", "4")];

engines! {
    async fn the_rest_of_the_stamps_counts_and_the_record_says_so(world: &World) {
        let scorer = world.scorer("5", WEIGHTS).await;
        let broken = world.verify(wallet(1), "A", "a:1", 20).await;
        world.verify(wallet(1), "B", "b:1", 20).await;
        world.verify(wallet(1), "C", "c:1", 20).await;
        for damage in ["nullifiers = '{not json'", "nullifiers = '[\"\"]'", "provider = 'not a name'"] {
            world.sql(&format!("UPDATE stamps SET {damage} WHERE provider IN ('A', 'not a name')")).await;
            world.sql("UPDATE scores SET stale = (1 = 1)").await;
            let record = world.score(scorer, wallet(1)).await;
            assert_eq!(
                (&record["score"], &record["passing_score"]),
                (&json!("6.00000"), &json!(true)),
                "{damage}"
            );
            assert_eq!(record["error"], "1 stored Stamp cannot be read and does not count.");
            assert_eq!(record["stamps"].as_object().unwrap().len(), 2);
            let batch = world.scores(scorer, &[wallet(1)]).await.json();
            assert_eq!(batch["items"][0], record);
            let earlier = world.get(&format!("/registry/score/{scorer}/{}", wallet(1))).await.json();
            assert_eq!(earlier["error"], record["error"]);
            let explained = world.get(&format!("{}?explain=true", score_path(scorer, wallet(1)))).await;
            assert_eq!(explained.json()["error"], record["error"]);
        }
        // Others are intact.
        world.verify(wallet(2), "B", "b:2", 20).await;
        assert_eq!(world.score(scorer, wallet(2)).await["error"], Value::Null);
        // Its issuer can still revoke it.
        world.revoke(wallet(1), &broken).await;
        world.sql("UPDATE scores SET stale = (1 = 1)").await;
        assert_eq!(world.score(scorer, wallet(1)).await["error"], Value::Null);
    }

    async fn more_than_one_are_counted_and_a_whole_score_follows_when_they_are_mended(world: &World) {
        let scorer = world.scorer("5", WEIGHTS).await;
        for (name, mark) in [("A", "a:1"), ("B", "b:1"), ("C", "c:1")] {
            world.verify(wallet(1), name, mark, 20).await;
        }
        world.sql("UPDATE stamps SET nullifiers = '' WHERE provider <> 'C'").await;
        let record = world.score(scorer, wallet(1)).await;
        assert_eq!(
            (&record["score"], &record["error"]),
            (&json!("4.00000"), &json!("2 stored Stamps cannot be read and do not count."))
        );
        world.sql("UPDATE stamps SET nullifiers = '[\"a:1\"]' WHERE provider = 'A'").await;
        world.sql("UPDATE stamps SET nullifiers = '[\"b:1\"]' WHERE provider = 'B'").await;
        world.clock.set(UnixMillis(day(0).0 + 3_600_000));
        let record = world.score(scorer, wallet(1)).await;
        assert_eq!((&record["score"], &record["error"]), (&json!("7.00000"), &Value::Null));
    }

    async fn a_damaged_record_is_computed_anew(world: &World) {
        let scorer = world.scorer("5", WEIGHTS).await;
        world.verify(wallet(1), "C", "c:1", 20).await;
        let record = world.record(scorer, wallet(1)).await;
        for damage in ["x", "400000 500000 5 - 0 7", ""] {
            let damaged = format!("UPDATE scores SET body = '{damage}'");
            world.sql(&damaged).await;
            assert_eq!(world.record(scorer, wallet(1)).await, record, "{damage:?}");
            world.sql(&damaged).await;
            let batch = world.scores(scorer, &[wallet(1)]).await;
            assert_eq!(batch.text, format!("{{\"items\":[{record}]}}"), "{damage:?}");
        }
        // A past score cannot be recomputed.
        world.sql("UPDATE score_history SET body = 'x'").await;
        let history = world.get(&format!("{}/history?created_at=2026-02-01", score_path(scorer, wallet(1)))).await;
        assert_eq!(history.status, StatusCode::INTERNAL_SERVER_ERROR);
    }

    async fn a_damaged_stamp_is_renewed_or_removed_like_any_other(world: &World) {
        let scorer = world.scorer("5", WEIGHTS).await;
        for (name, mark) in [("A", "a:1"), ("B", "b:1"), ("C", "c:1")] {
            world.verify(wallet(1), name, mark, 20).await;
        }
        world.score(scorer, wallet(1)).await;
        world.sql("UPDATE stamps SET nullifiers = 'x' WHERE provider <> 'C'").await;
        world.on_day(1);
        world.verify(wallet(1), "A", "a:1", 30).await;
        assert_eq!(world.score(scorer, wallet(1)).await["stamps"]["A"]["expiration_date"], shown(day(30)));
        assert_eq!(world.delete(wallet(1), "B").await.text, r#"{"removed":1}"#);
        let record = world.score(scorer, wallet(1)).await;
        assert_eq!((&record["score"], &record["error"]), (&json!("5.00000"), &Value::Null));
    }

    async fn a_credential_whose_stored_name_is_damaged_is_there_once_when_it_is_brought_again(world: &World) {
        let scorer = world.scorer("5", WEIGHTS).await;
        let text = world.verify(wallet(1), "A", "a:1", 20).await;
        world.sql("UPDATE stamps SET provider = 'not a name'").await;
        assert_eq!(world.bring(wallet(1), std::slice::from_ref(&text)).await, ["accepted"]);
        assert_eq!(world.count("stamps").await, 1);
        let record = world.score(scorer, wallet(1)).await;
        assert_eq!((&record["score"], &record["error"]), (&json!("1.00000"), &Value::Null));
        assert!(world.revoke(wallet(1), &text).await.removed);
        assert_eq!(world.count("stamps").await, 0);
    }

    async fn a_damaged_credential_leaves_the_page_to_the_others(world: &World) {
        for (name, mark) in [("A", "a:1"), ("B", "b:1"), ("C", "c:1"), ("D", "d:1")] {
            world.verify(wallet(1), name, mark, 20).await;
        }
        let damage = async |name: &str, what: &str| {
            let row = format!("stamp_id = (SELECT id FROM stamps WHERE provider = '{name}')");
            world.sql(&format!("UPDATE stamp_credentials SET {what} WHERE {row}")).await;
        };
        damage("B", "credential = '{', packed = NULL").await;
        damage("D", "packed = substr(packed, 1, 20)").await;
        world.sql("UPDATE stamps SET provider = 'not a name' WHERE provider = 'C'").await;
        let answer = world.get(&format!("/v2/stamps/{}?include_metadata=true", wallet(1))).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
        assert_eq!(answer.json()["items"].as_array().unwrap().len(), 2);
    }
}
