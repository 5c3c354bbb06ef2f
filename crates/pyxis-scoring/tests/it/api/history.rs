//! The score before a moment (`docs/reference/behavior/scoring.md#history`).

use http::StatusCode;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::ScorerId;
use pyxis_testkit::engines;

use super::scene::{Scene, day, score_path, wallet};
use crate::DAY;

const NOTHING: &str = r#"{"items":[]}"#;

async fn before(scene: &Scene, scorer: ScorerId, number: u64, created_at: &str) -> String {
    let path = format!("{}/history?created_at={created_at}", score_path(scorer, wallet(number)));
    let answer = scene.get(&path).await;
    assert_eq!(answer.status, StatusCode::OK, "{created_at}: {}", answer.text);
    answer.text
}

fn holding(record: &str) -> String {
    format!("{{\"items\":[{record}]}}")
}

engines! {
    async fn the_latest_record_strictly_before_the_moment_is_answered_as_it_was(scene: &Scene) {
        let scorer = scene.scorer("20", &[("A", "1"), ("B", "2")]).await;
        scene.verify(wallet(1), "A", "a:1", 90).await;
        let noon = UnixMillis(day(1).0 + DAY / 2);
        scene.clock.set(noon);
        let first = scene.record(scorer, wallet(1)).await;
        scene.on_day(3);
        scene.verify(wallet(1), "B", "b:1", 90).await;
        scene.clock.set(UnixMillis(day(3).0 + 1));
        let second = scene.record(scorer, wallet(1)).await;
        assert_ne!(first, second);
        for (moment, expected) in [
            ("2026-01-02", NOTHING.to_owned()), // its start
            ("2026-01-02T12:00:00.000Z", NOTHING.to_owned()),
            ("2026-01-02T12:00:00.001Z", holding(&first)),
            ("2026-01-03", holding(&first)),
            // Computed at the very start of day 3, by the ingest, and answered later.
            ("2026-01-04", holding(&first)),
            ("2026-01-04T00:00:00.000Z", holding(&first)),
            ("2026-01-04T00:00:00.001Z", holding(&second)),
            ("2026-01-05", holding(&second)),
            ("9999-12-31", holding(&second)),
            ("1970-01-01", NOTHING.to_owned()),
            ("0000-01-01", NOTHING.to_owned()),
        ] {
            assert_eq!(before(scene, scorer, 1, moment).await, expected, "{moment}");
        }
    }

    async fn records_that_were_stored_as_they_are_answered_are_answered_so(scene: &Scene) {
        let scorer = scene.scorer("20", &[("A", "1")]).await;
        scene.verify(wallet(1), "A", "a:1", 90).await;
        let record = scene.record(scorer, wallet(1)).await;
        for table in ["scores", "score_history"] {
            assert_eq!(scene.sql(&format!("SELECT body FROM {table} WHERE body LIKE '{{%'")).await, [""; 0]);
            scene.sql(&format!("UPDATE {table} SET body = '{record}'")).await;
        }
        scene.on_day(1);
        assert_eq!(scene.record(scorer, wallet(1)).await, record);
        assert_eq!(scene.scores(scorer, &[wallet(1)]).await.text, holding(&record));
        assert_eq!(before(scene, scorer, 1, "2026-01-02").await, holding(&record));
    }

    async fn only_scores_that_were_answered_are_history(scene: &Scene) {
        let scorer = scene.scorer("20", &[("A", "1"), ("B", "2"), ("C", "4")]).await;
        scene.verify(wallet(1), "A", "a:1", 90).await;
        scene.on_day(1);
        // A batch alone makes no history.
        assert_eq!(scene.scores(scorer, &[wallet(1)]).await.status, StatusCode::OK);
        assert_eq!(before(scene, scorer, 1, "2026-02-01").await, NOTHING);
        assert_eq!(scene.count("score_history").await, 0);
        // The first answer of a score that the batch computed does.
        scene.on_day(2);
        let answered = scene.record(scorer, wallet(1)).await;
        assert_eq!(before(scene, scorer, 1, "2026-02-01").await, holding(&answered));
        // Neither the score from an ingest nor the one from a bulk run does.
        scene.on_day(3);
        scene.verify(wallet(1), "B", "b:1", 90).await;
        scene.on_day(4);
        scene.set_terms(scorer, "20", &[("A", "5")]).await;
        let db = &scene.state.db;
        pyxis_scoring::engine::rescore(db, scene.workspace, scorer, &*scene.clock, |_| ()).await.unwrap();
        assert_eq!(before(scene, scorer, 1, "2026-02-01").await, holding(&answered));
        assert_eq!(scene.count("score_history").await, 1);
    }

    async fn a_computed_score_is_written_to_history_once(scene: &Scene) {
        let scorer = scene.scorer("20", &[("A", "1")]).await;
        scene.verify(wallet(1), "A", "a:1", 90).await;
        for _ in 0..3 {
            scene.record(scorer, wallet(1)).await;
            scene.get(&format!("{}?explain=true", score_path(scorer, wallet(1)))).await;
            scene.get(&format!("/registry/score/{scorer}/{}", wallet(1))).await;
            scene.scores(scorer, &[wallet(1)]).await;
            assert_eq!(scene.count("score_history").await, 1);
        }
        scene.on_day(1);
        scene.set_terms(scorer, "20", &[("A", "2")]).await;
        scene.scores(scorer, &[wallet(1)]).await;
        assert_eq!(scene.count("score_history").await, 1);
        for _ in 0..3 {
            scene.record(scorer, wallet(1)).await;
        }
        assert_eq!(scene.count("score_history").await, 2);
    }

    async fn history_is_of_one_address_and_one_scorer(scene: &Scene) {
        let scorers = [scene.scorer("20", &[("A", "1")]).await, scene.scorer("20", &[("A", "1")]).await];
        for number in [1, 2] {
            scene.verify(wallet(number), "A", &format!("a:{number}"), 90).await;
        }
        let record = scene.record(scorers[0], wallet(1)).await;
        assert_eq!(before(scene, scorers[0], 1, "2026-01-02").await, holding(&record));
        assert_eq!(before(scene, scorers[0], 2, "2026-01-02").await, NOTHING);
        assert_eq!(before(scene, scorers[1], 1, "2026-01-02").await, NOTHING);
        // An address that never had a Stamp has no history, even after a request.
        scene.record(scorers[0], wallet(9)).await;
        assert_eq!(before(scene, scorers[0], 9, "2026-01-02").await, NOTHING);
        assert_eq!(scene.count("score_history").await, 1);
    }

    async fn a_time_of_an_answer_is_a_created_at(scene: &Scene) {
        let scorer = scene.scorer("20", &[("A", "1")]).await;
        scene.clock.set(UnixMillis(day(1).0 + 678));
        scene.verify(wallet(1), "A", "a:1", 90).await;
        let record = scene.record(scorer, wallet(1)).await;
        let at = scene.score(scorer, wallet(1)).await["last_score_timestamp"].as_str().unwrap().to_owned();
        assert_eq!(at, "2026-01-02T00:00:00.678000+00:00");
        let escaped = at.replace('+', "%2B");
        // A score is not before its own time, but it is before the next moment.
        for (created_at, found) in [
            (at.as_str(), false),
            (&escaped, false),
            ("2026-01-02T00:00:00.678Z", false),
            ("2026-01-02T00:00:00.678000Z", false),
            ("2026-01-02T00:00:00.678001+00:00", true),
            ("2026-01-02T00:00:00.678001%2B00:00", true),
            ("2026-01-02T00:00:00.678001%2b00:00", true),
            ("2026-01-02T00:00:00.678001%2000:00", true),
            ("2026-01-02T00:00:00.678001Z", true),
            ("2026-01-02T00:00:00.679000Z", true),
            ("2026-01-02T00:00:00Z", false),
            ("2026-01-02T00:00:01Z", true),
        ] {
            let wanted = if found { holding(&record) } else { NOTHING.to_owned() };
            assert_eq!(before(scene, scorer, 1, created_at).await, wanted, "{created_at}");
        }
    }

    async fn created_at_is_a_date_or_a_time_in_utc_and_nothing_else(scene: &Scene) {
        let scorer = scene.scorer("20", &[]).await;
        let path = format!("{}/history", score_path(scorer, wallet(1)));
        for good in ["2026-01-02", "2024-02-29", "2026-01-02T03:04:05.678Z"] {
            assert_eq!(before(scene, scorer, 1, good).await, NOTHING);
        }
        let told = scene.get(&format!("{path}?created_at=2026-01-02T03:04:05")).await.json();
        let told = told["detail"][0]["msg"].as_str().unwrap();
        assert!(told.contains("YYYY-MM-DD)") && told.contains("YYYY-MM-DDThh:mm:ss.sssZ"), "{told}");
        scene.get(&path).await.complains_about("query", "created_at");
        for bad in [
            "",
            "today",
            "2026-1-2",
            "2026-02-30",
            "2023-02-29",
            "2026-13-01",
            "2026-01-02T25:00:00.000Z",
            "2026-01-02%2003:04:05",
            "2026-01-02T03:04:05.678%2B01:00",
            "2026-01-02T03:04:05.678+01:00",
            "2026-01-02T03:04:05.678-00:00",
            "2026-01-02T03:04:05.678",
            "1767225600",
            "2026-01-02T03:04:05.678Z%00",
            "%ff",
            "2026-01-02T03:04:60.000ZZ",
            "-2026-01-02",
            "20260102",
        ] {
            scene.get(&format!("{path}?created_at={bad}")).await.complains_about("query", "created_at");
        }
        scene.get(&format!("{path}?created_At=2026-01-01")).await.complains_about("query", "created_at");
    }
}
