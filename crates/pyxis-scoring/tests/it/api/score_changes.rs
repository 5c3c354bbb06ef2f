//! Why a score changed (`docs/reference/behavior/scoring.md#changes`).

use pyxis_core::id::ScorerId;
use pyxis_testkit::engines;
use serde_json::Value;

use super::scene::{HttpResponse, Scene, score_path, wallet};

async fn changes(scene: &Scene, key: &str, scorer: ScorerId, query: &str) -> HttpResponse {
    scene.get_as(key, &format!("{}/changes{query}", score_path(scorer, wallet(1)))).await
}

/// Causes of each item: kind and Stamp.
fn causes(page: &Value) -> Vec<Vec<String>> {
    let word = |cause: &Value| {
        let kind = cause["cause"].as_str().unwrap();
        cause["stamp"].as_str().map_or(kind.to_owned(), |stamp| format!("{kind} {stamp}"))
    };
    let item = |item: &Value| item["causes"].as_array().unwrap().iter().map(word).collect();
    page["items"].as_array().unwrap().iter().map(item).collect()
}

engines! {
    async fn every_change_of_a_score_has_its_causes_newest_first(scene: &Scene) {
        let scorer = scene.scorer("2", &[("A", "1"), ("B", "2"), ("C", "1")]).await;
        scene.verify(wallet(2), "C", "c:1", 4).await;
        scene.score(scorer, wallet(2)).await;
        scene.verify(wallet(1), "A", "a:1", 90).await;
        scene.score(scorer, wallet(1)).await;
        scene.on_day(1);
        let b = scene.verify(wallet(1), "B", "b:1", 90).await;
        scene.verify(wallet(1), "C", "c:1", 90).await;
        scene.score(scorer, wallet(1)).await;
        scene.on_day(2);
        scene.revoke(wallet(1), &b).await;
        scene.score(scorer, wallet(1)).await;
        scene.on_day(3);
        scene.set_terms(scorer, "3", &[("A", "1.5"), ("C", "1")]).await;
        scene.score(scorer, wallet(1)).await;
        scene.on_day(5);
        scene.score(scorer, wallet(1)).await;
        scene.on_day(91);
        scene.score(scorer, wallet(1)).await;

        let page = changes(scene, &scene.key, scorer, "").await.json();
        let expected: [&[&str]; 6] = [
            &["stamp_expired A", "stamp_expired C"],
            &["claim_ended C"],
            &["weight_changed A", "threshold_changed"],
            &["stamp_removed B"],
            &["stamp_added B", "stamp_added C"],
            &["first_answer"],
        ];
        assert_eq!(causes(&page), expected);
        let weight = &page["items"][2];
        assert_eq!((&weight["before"]["score"], &weight["after"]["score"]), (&"1.00000".into(), &"1.50000".into()));
        assert_eq!((&weight["causes"][0]["before"], &weight["causes"][1]["after"]), (&"1.00000".into(), &"3.00000".into()));
        assert_eq!((&page["items"][5]["before"], &page["next"]), (&Value::Null, &Value::Null));

        // Page by page the list is the same.
        let (mut query, mut all) = ("?limit=1".to_owned(), Vec::new());
        loop {
            let page = changes(scene, &scene.key, scorer, &query).await.json();
            all.extend(page["items"].as_array().unwrap().clone());
            let Some(next) = page["next"].as_str() else { break };
            query = format!("?limit=1&token={next}");
        }
        assert_eq!(Value::from(all), page["items"]);
    }

    async fn a_key_without_history_sees_causes_and_no_earlier_scores(scene: &Scene) {
        let scorer = scene.scorer("2", &[("A", "1")]).await;
        scene.verify(wallet(1), "A", "a:1", 90).await;
        scene.score(scorer, wallet(1)).await;
        scene.on_day(1);
        scene.set_terms(scorer, "2", &[("A", "2")]).await;
        scene.score(scorer, wallet(1)).await;
        let plain = scene.add_key(|key| key.can_read_history = false).await;
        let page = changes(scene, &plain, scorer, "").await.json();
        assert_eq!(causes(&page), [["weight_changed A"], ["first_answer"]]);
        let item = &page["items"][0];
        assert!(item.get("before").is_none() && item.get("after").is_none(), "{item}");
        assert!(item["causes"][0].get("before").is_none(), "{item}");
        let blind = scene.add_key(|key| key.can_read = false).await;
        assert_eq!(changes(scene, &blind, scorer, "").await.status, 403);
        assert_eq!(changes(scene, "px_api_unknown", scorer, "").await.status, 401);
        for (query, status) in [("?limit=0", 400), ("?limit=101", 400), ("?limit=x", 422), ("?token=x", 400)] {
            assert_eq!(changes(scene, &plain, scorer, query).await.status, status, "{query}");
        }
        let missing = scene.get(&format!("{}/changes", score_path("999".parse().unwrap(), wallet(1)))).await;
        assert_eq!(missing.status, 404);
    }
}
