//! The earlier version's paths (`docs/reference/behavior/scoring.md#earlier-paths`).

use http::{Method, StatusCode};
use pyxis_core::id::ScorerId;
use pyxis_scoring::Config;
use pyxis_testkit::engines;
use serde_json::{Value, json};

use super::world::{Answer, World, day, score_path, shown, wallet};

/// Asserts that a response is marked as deprecated and links its successor.
fn deprecated(answer: &Answer, successor: &str) {
    assert_eq!(answer.header("deprecation"), "@1793491200", "RFC 9745: a date");
    assert_eq!(answer.header("link"), format!("<{successor}>; rel=\"successor-version\""));
}

async fn submit(world: &World, body: Value) -> Answer {
    world.ask(Method::POST, "/registry/submit-passport", &world.key, body.to_string()).await
}

async fn prepared(world: &World) -> ScorerId {
    let scorer = world.scorer("20", &[("A", "19.9"), ("B", "0.1")]).await;
    world.verify(wallet(2), "C", "c:1", 3).await;
    world.record(scorer, wallet(2)).await;
    for (name, mark, until) in [("A", "a:1", 9), ("B", "b:1", 8), ("C", "c:1", 7)] {
        world.verify(wallet(1), name, mark, until).await;
    }
    scorer
}

engines! {
    async fn a_score_has_the_earlier_shape(world: &World) {
        let scorer = prepared(world).await;
        let expected = json!({
            "address": wallet(1).to_string(),
            "score": "20.00000",
            "status": "DONE",
            "last_score_timestamp": shown(day(0)),
            "expiration_date": shown(day(8)),
            "evidence": null,
            "error": null,
            "stamp_scores": {"A": 19.9, "B": 0.1, "C": 0.0},
        });
        let answer = world.get(&format!("/registry/score/{scorer}/{}", wallet(1))).await;
        assert_eq!((answer.status, answer.json()), (StatusCode::OK, expected.clone()));
        let successor = score_path(scorer, wallet(1));
        deprecated(&answer, &successor);
        for number in [json!(scorer), json!(scorer.to_string())] {
            let submitted = submit(world, json!({"address": wallet(1), "scorer_id": number})).await;
            assert_eq!((submitted.status, submitted.json()), (StatusCode::OK, expected.clone()));
            deprecated(&submitted, &successor);
        }
    }

    async fn a_voting_tool_compares_with_its_own_threshold_and_equal_passes(world: &World) {
        // A tool that finds a `ThresholdScoreCheck` uses its threshold; otherwise it uses the score.
        let passes = |answer: &Value, threshold: f64| {
            assert_eq!(answer["evidence"], Value::Null);
            answer["score"].as_str().unwrap().parse::<f64>().unwrap() >= threshold
        };
        let scorer = prepared(world).await;
        let high = world.scorer("50", &[("A", "19.9"), ("B", "0.1")]).await;
        for scorer in [scorer, high] {
            for answer in [
                world.get(&format!("/registry/score/{scorer}/{}", wallet(1))).await.json(),
                submit(world, json!({"address": wallet(1), "scorer_id": scorer})).await.json(),
            ] {
                assert_eq!([15.0, 20.0, 20.00001].map(|threshold| passes(&answer, threshold)), [true, true, false]);
            }
        }
        let nobody = world.get(&format!("/registry/score/{scorer}/{}", wallet(99))).await.json();
        assert!(!passes(&nobody, 0.1) && passes(&nobody, 0.0));
    }

    async fn stamps_and_catalogue_answer_as_their_successors_do(world: &World) {
        prepared(world).await;
        for (path, successor) in [
            (format!("/registry/stamps/{}", wallet(1)), format!("/v2/stamps/{}", wallet(1))),
            ("/registry/stamp-metadata".to_owned(), "/v2/stamps/metadata".to_owned()),
        ] {
            let (earlier, now) = (world.get(&path).await, world.get(&successor).await);
            assert_eq!((earlier.status, &earlier.text), (StatusCode::OK, &now.text));
            deprecated(&earlier, &successor);
            assert!(now.headers.get("deprecation").is_none());
        }
        let paged =
            world.get(&format!("/registry/stamps/{}?limit=2&include_metadata=true", wallet(1))).await.json();
        assert_eq!(paged["items"].as_array().unwrap().len(), 2);
        let path =
            format!("/registry/stamps/{}?limit=2&token={}", wallet(1), paged["next"].as_str().unwrap());
        assert_eq!(world.get(&path).await.json()["items"].as_array().unwrap().len(), 1);
    }

    async fn refusals_are_those_of_the_successors_and_deprecated_too(world: &World) {
        let scorer = prepared(world).await;
        let submitted = async |body: Value| submit(world, body).await;
        for answer in [
            world.get_as("wrong", "/registry/stamp-metadata").await,
            world.get_as("wrong", &format!("/registry/score/{scorer}/0x")).await,
        ] {
            answer.refuses(401, "Invalid API Key.");
            assert!(!answer.header("deprecation").is_empty() && !answer.header("link").is_empty());
        }
        world
            .get(&format!("/registry/score/999/{}", wallet(1)))
            .await
            .refuses(404, "No scorer matches the given criteria.");
        world.get(&format!("/registry/score/{scorer}/0x")).await.refuses(400, "Invalid address.");
        world.get(&format!("/registry/score/abc/{}", wallet(1))).await.complains_about("path", "scorer_id");
        world.get(&format!("/registry/stamps/{}?limit=-1", wallet(1))).await.refuses(400, "Invalid limit.");
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

    async fn a_key_of_another_account_sees_nothing_of_ours(world: &World) {
        let scorer = prepared(world).await;
        let (_, theirs, _) = world.neighbor().await;
        let score = format!("/registry/score/{scorer}/{}", wallet(1));
        world.get_as(&theirs, &score).await.refuses(404, "No scorer matches the given criteria.");
        let body = json!({"address": wallet(1), "scorer_id": scorer}).to_string();
        world
            .ask(Method::POST, "/registry/submit-passport", &theirs, body)
            .await
            .refuses(404, "No scorer matches the given criteria.");
        let stamps = world.get_as(&theirs, &format!("/registry/stamps/{}", wallet(1))).await;
        assert_eq!((stamps.status, &stamps.json()["items"]), (StatusCode::OK, &json!([])));
        assert_eq!(world.get(&score).await.json()["status"], "DONE");
    }

    async fn both_versions_count_against_one_limit(world: &World) {
        let scorer = world.scorer("20", &[]).await;
        let key = world.add_key(|key| (key.stamps_tier, key.stamps_limit) = (4, Some(9))).await;
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
            let answer = world.get_as(&key, path).await;
            assert_eq!(
                (answer.status, answer.header("ratelimit-remaining")),
                (StatusCode::OK, &*(8 - used).to_string())
            );
        }
        let body = json!({"address": wallet(1), "scorer_id": scorer}).to_string();
        let submitted = world.ask(Method::POST, "/registry/submit-passport", &key, body).await;
        assert_eq!(submitted.header("ratelimit-remaining"), "1");
        let batch = world
            .ask(Method::POST, &format!("/v2/stamps/{scorer}/scores"), &key, r#"{"addresses":[]}"#.into())
            .await;
        assert_eq!(batch.header("ratelimit-remaining"), "0");
        for path in paths {
            world.get_as(&key, &path).await.refuses(429, "You have been rate limited!");
        }
    }

    async fn switched_off_they_are_not_there(world: &World) {
        let scorer = prepared(world).await;
        let node = world.node(Config { earlier_paths: false, ..Config::default() });
        for path in [
            format!("/registry/score/{scorer}/{}", wallet(1)),
            format!("/registry/stamps/{}", wallet(1)),
            "/registry/stamp-metadata".to_owned(),
            "/registry/submit-passport".to_owned(),
            format!("/passport/analysis/{}", wallet(1)),
        ] {
            assert_eq!(node.get(&world.key, &path).await.status, StatusCode::NOT_FOUND, "{path}");
        }
        assert_eq!(node.get(&world.key, &score_path(scorer, wallet(1))).await.status, StatusCode::OK);
    }
}
