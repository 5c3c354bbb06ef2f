//! The earlier version's paths (`docs/reference/behavior/scoring.md#earlier-paths`).

use http::{Method, StatusCode};
use pyxis_core::id::ScorerId;
use pyxis_scoring::Config;
use pyxis_testkit::engines;
use serde_json::{Value, json};

use super::scene::{HttpResponse, Scene, day, score_path, timestamp, wallet};

/// Asserts that a response is marked as deprecated and links its successor.
fn deprecated(answer: &HttpResponse, successor: &str) {
    assert_eq!(answer.header("deprecation"), "@1793491200", "RFC 9745: a date");
    assert_eq!(answer.header("link"), format!("<{successor}>; rel=\"successor-version\""));
}

async fn submit(scene: &Scene, body: Value) -> HttpResponse {
    scene.send_with_key(Method::POST, "/registry/submit-passport", &scene.key, body.to_string()).await
}

async fn prepared(scene: &Scene) -> ScorerId {
    let scorer = scene.scorer("20", &[("A", "19.9"), ("B", "0.1")]).await;
    scene.verify(wallet(2), "C", "c:1", 3).await;
    scene.record(scorer, wallet(2)).await;
    for (name, mark, until) in [("A", "a:1", 9), ("B", "b:1", 8), ("C", "c:1", 7)] {
        scene.verify(wallet(1), name, mark, until).await;
    }
    scorer
}

engines! {
    async fn a_score_has_the_earlier_shape(scene: &Scene) {
        let scorer = prepared(scene).await;
        let expected = json!({
            "address": wallet(1).to_string(),
            "score": "20.00000",
            "status": "DONE",
            "last_score_timestamp": timestamp(day(0)),
            "expiration_date": timestamp(day(8)),
            "evidence": null,
            "error": null,
            "stamp_scores": {"A": 19.9, "B": 0.1, "C": 0.0},
        });
        let answer = scene.get(&format!("/registry/score/{scorer}/{}", wallet(1))).await;
        assert_eq!((answer.status, answer.json()), (StatusCode::OK, expected.clone()));
        let successor = score_path(scorer, wallet(1));
        deprecated(&answer, &successor);
        for number in [json!(scorer), json!(scorer.to_string())] {
            let submitted = submit(scene, json!({"address": wallet(1), "scorer_id": number})).await;
            assert_eq!((submitted.status, submitted.json()), (StatusCode::OK, expected.clone()));
            deprecated(&submitted, &successor);
        }
    }

    async fn a_voting_tool_compares_with_its_own_threshold_and_equal_passes(scene: &Scene) {
        // A tool that finds a `ThresholdScoreCheck` uses its threshold; otherwise it uses the score.
        let passes = |answer: &Value, threshold: f64| {
            assert_eq!(answer["evidence"], Value::Null);
            answer["score"].as_str().unwrap().parse::<f64>().unwrap() >= threshold
        };
        let scorer = prepared(scene).await;
        let high = scene.scorer("50", &[("A", "19.9"), ("B", "0.1")]).await;
        for scorer in [scorer, high] {
            for answer in [
                scene.get(&format!("/registry/score/{scorer}/{}", wallet(1))).await.json(),
                submit(scene, json!({"address": wallet(1), "scorer_id": scorer})).await.json(),
            ] {
                assert_eq!([15.0, 20.0, 20.00001].map(|threshold| passes(&answer, threshold)), [true, true, false]);
            }
        }
        let nobody = scene.get(&format!("/registry/score/{scorer}/{}", wallet(99))).await.json();
        assert!(!passes(&nobody, 0.1) && passes(&nobody, 0.0));
    }

    async fn stamps_and_catalogue_answer_as_their_successors_do(scene: &Scene) {
        prepared(scene).await;
        for (path, successor) in [
            (format!("/registry/stamps/{}", wallet(1)), format!("/v2/stamps/{}", wallet(1))),
            ("/registry/stamp-metadata".to_owned(), "/v2/stamps/metadata".to_owned()),
        ] {
            let (earlier, now) = (scene.get(&path).await, scene.get(&successor).await);
            assert_eq!((earlier.status, &earlier.text), (StatusCode::OK, &now.text));
            deprecated(&earlier, &successor);
            assert!(now.headers.get("deprecation").is_none());
        }
        let paged =
            scene.get(&format!("/registry/stamps/{}?limit=2&include_metadata=true", wallet(1))).await.json();
        assert_eq!(paged["items"].as_array().unwrap().len(), 2);
        let path =
            format!("/registry/stamps/{}?limit=2&token={}", wallet(1), paged["next"].as_str().unwrap());
        assert_eq!(scene.get(&path).await.json()["items"].as_array().unwrap().len(), 1);
    }

    async fn refusals_are_those_of_the_successors_and_deprecated_too(scene: &Scene) {
        let scorer = prepared(scene).await;
        let submitted = async |body: Value| submit(scene, body).await;
        for answer in [
            scene.get_as("wrong", "/registry/stamp-metadata").await,
            scene.get_as("wrong", &format!("/registry/score/{scorer}/0x")).await,
        ] {
            answer.refuses(401, "Invalid API Key.");
            assert!(!answer.header("deprecation").is_empty() && !answer.header("link").is_empty());
        }
        scene
            .get(&format!("/registry/score/999/{}", wallet(1)))
            .await
            .refuses(404, "No scorer matches the given criteria.");
        scene.get(&format!("/registry/score/{scorer}/0x")).await.refuses(400, "Invalid address.");
        scene.get(&format!("/registry/score/abc/{}", wallet(1))).await.complains_about("path", "scorer_id");
        scene.get(&format!("/registry/stamps/{}?limit=-1", wallet(1))).await.refuses(400, "Invalid limit.");
        submitted(json!({"address": "0x", "scorer_id": scorer})).await.refuses(400, "Invalid address.");
        submitted(json!({"address": wallet(1), "scorer_id": 999}))
            .await
            .refuses(404, "No scorer matches the given criteria.");
        submitted(json!({"address": wallet(1), "scorer_id": "abc"}))
            .await
            .complains_about("body", "scorer_id");
        for body in [
            json!({}),
            json!([]),
            json!({"address": wallet(1)}),
            json!({"address": 1, "scorer_id": 1}),
            json!(null),
        ] {
            assert_eq!(submitted(body.clone()).await.status, StatusCode::UNPROCESSABLE_ENTITY, "{body}");
        }
    }

    async fn a_key_of_another_account_sees_nothing_of_ours(scene: &Scene) {
        let scorer = prepared(scene).await;
        let (_, theirs, _) = scene.neighbor().await;
        let score = format!("/registry/score/{scorer}/{}", wallet(1));
        scene.get_as(&theirs, &score).await.refuses(404, "No scorer matches the given criteria.");
        let body = json!({"address": wallet(1), "scorer_id": scorer}).to_string();
        scene
            .send_with_key(Method::POST, "/registry/submit-passport", &theirs, body)
            .await
            .refuses(404, "No scorer matches the given criteria.");
        let stamps = scene.get_as(&theirs, &format!("/registry/stamps/{}", wallet(1))).await;
        assert_eq!((stamps.status, &stamps.json()["items"]), (StatusCode::OK, &json!([])));
        assert_eq!(scene.get(&score).await.json()["status"], "DONE");
    }

    async fn both_versions_count_against_one_limit(scene: &Scene) {
        let scorer = scene.scorer("20", &[]).await;
        let key = scene.add_key(|key| (key.stamps_tier, key.stamps_limit) = (4, Some(9))).await;
        let paths = [
            score_path(scorer, wallet(1)),
            format!("/registry/score/{scorer}/{}", wallet(1)),
            format!("/v2/stamps/{}", wallet(1)),
            format!("/registry/stamps/{}", wallet(1)),
            "/v2/stamps/metadata".to_owned(),
            "/registry/stamp-metadata".to_owned(),
            format!("{}/history?created_at=2026-01-01", score_path(scorer, wallet(1))),
        ];
        for (used, path) in paths.iter().enumerate() {
            let answer = scene.get_as(&key, path).await;
            assert_eq!(
                (answer.status, answer.header("ratelimit-remaining")),
                (StatusCode::OK, &*(8 - used).to_string())
            );
        }
        let body = json!({"address": wallet(1), "scorer_id": scorer}).to_string();
        let submitted = scene.send_with_key(Method::POST, "/registry/submit-passport", &key, body).await;
        assert_eq!(submitted.header("ratelimit-remaining"), "1");
        let batch = scene
            .send_with_key(Method::POST, &format!("/v2/stamps/{scorer}/scores"), &key, r#"{"addresses":[]}"#.into())
            .await;
        assert_eq!(batch.header("ratelimit-remaining"), "0");
        for path in paths {
            scene.get_as(&key, &path).await.refuses(429, "You have been rate limited!");
        }
    }

    async fn switched_off_they_are_not_there(scene: &Scene) {
        let scorer = prepared(scene).await;
        let node = scene.node(Config { earlier_paths: false, ..Config::default() });
        for path in [
            format!("/registry/score/{scorer}/{}", wallet(1)),
            format!("/registry/stamps/{}", wallet(1)),
            "/registry/stamp-metadata".to_owned(),
            "/registry/submit-passport".to_owned(),
            format!("/passport/analysis/{}", wallet(1)),
        ] {
            assert_eq!(node.get(&scene.key, &path).await.status, StatusCode::NOT_FOUND, "{path}");
        }
        assert_eq!(node.get(&scene.key, &score_path(scorer, wallet(1))).await.status, StatusCode::OK);
    }
}
