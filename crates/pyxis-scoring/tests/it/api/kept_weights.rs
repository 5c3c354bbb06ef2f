//! Weights that holders keep until their Stamp expires (`docs/guides/change-weights.md`).

use pyxis_core::actor::Actor;
use pyxis_core::id::ScorerId;
use pyxis_scoring::Config;
use pyxis_scoring::service::preview::{self, Proposal};
use pyxis_scoring::service::scorers::{self, Scorer, ScorerPatch};
use pyxis_scoring::service::stamps::{self, StampStatus};
use pyxis_scoring::service::{Error, Result};
use pyxis_scoring::votes;
use pyxis_testkit::engines;
use serde_json::{Value, json};

use super::scene::{Scene, day, score_path, wallet, weights};

/// Changes the weights; from a day on, or now.
async fn change(
    scene: &Scene,
    scorer: ScorerId,
    all: &[(&str, &str)],
    keep: bool,
    from: Option<i64>,
) -> Result<Scorer> {
    let before = scorers::get(&scene.state.store, scene.workspace, scorer, scene.state.now()).await?;
    let patch = ScorerPatch {
        weights: Some(weights(all)),
        keep_until_expiry: keep,
        effective_from: from.map(day),
        revision: Some(before.terms.revision),
        ..ScorerPatch::default()
    };
    scorers::update(&scene.state.audited, &Actor::cli(scene.workspace), scorer, patch).await
}

async fn points(scene: &Scene, scorer: ScorerId, number: u64) -> String {
    scene.score(scorer, wallet(number)).await["score"].as_str().unwrap().to_owned()
}

async fn changes(scene: &Scene, scorer: ScorerId) -> Value {
    scene.get(&format!("{}/changes", score_path(scorer, wallet(1)))).await.json()
}

engines! {
    async fn holders_keep_a_lowered_weight_until_their_stamp_expires(scene: &Scene) {
        let scorer = scene.scorer("3", &[("A", "2"), ("B", "1")]).await;
        scene.verify(wallet(1), "A", "a:1", 10).await;
        scene.verify(wallet(1), "B", "b:1", 90).await;
        assert_eq!(points(scene, scorer, 1).await, "3.00000");
        scene.on_day(1);
        // A is lowered, and B leaves.
        let after = change(scene, scorer, &[("A", "0.5")], true, None).await.unwrap();
        assert_eq!(after.terms.kept.len(), 2);
        let record = scene.score(scorer, wallet(1)).await;
        assert_eq!((&record["score"], &record["passing_score"]), (&json!("3.00000"), &json!(true)));
        let explained = scene.get(&format!("{}?explain=true", score_path(scorer, wallet(1)))).await.json();
        let stamp = &explained["explain"]["stamps"]["A"];
        assert_eq!((&stamp["weight"], &stamp["contribution"]), (&json!("0.50000"), &json!("2.00000")));
        assert_eq!(stamp["reason"], "keeps an earlier weight until it expires");
        assert_eq!(stamp["kept_until"], day(10).to_iso_micros());
        let (store, now) = (&scene.state.store, scene.state.now());
        let shown = stamps::show(store, scene.workspace, Some(scorer), wallet(1), now).await.unwrap();
        assert!(shown.stamps.iter().all(|line| line.standing == StampStatus::KeepsWeight), "{shown:?}");
        let listed = changes(scene, scorer).await;
        assert_eq!(listed["items"].as_array().unwrap().len(), 1, "its score did not change");
        assert_eq!(listed["kept"]["B"]["weight"], "0.00000");
        assert_eq!(listed["kept"]["A"]["until"], day(10).to_iso_micros());
        // A Stamp issued later has the new weight.
        scene.verify(wallet(2), "A", "a:2", 90).await;
        assert_eq!(points(scene, scorer, 2).await, "0.50000");
        scene.on_day(10);
        assert_eq!(points(scene, scorer, 1).await, "1.00000");
        assert_eq!(changes(scene, scorer).await["items"][0]["causes"][0]["cause"], "stamp_expired");
        // The renewed one, too.
        scene.verify(wallet(1), "A", "a:1", 90).await;
        assert_eq!(points(scene, scorer, 1).await, "1.50000");
    }

    async fn a_renewal_ends_what_its_stamp_kept_and_the_list_of_changes_says_so(scene: &Scene) {
        let scorer = scene.scorer("2", &[("A", "2")]).await;
        scene.verify(wallet(1), "A", "a:1", 10).await;
        points(scene, scorer, 1).await;
        scene.on_day(1);
        change(scene, scorer, &[("A", "0.5")], true, None).await.unwrap();
        assert_eq!(points(scene, scorer, 1).await, "2.00000");
        scene.on_day(2);
        scene.verify(wallet(1), "A", "a:1", 90).await;
        assert_eq!(points(scene, scorer, 1).await, "0.50000");
        let listed = changes(scene, scorer).await;
        let cause = &listed["items"][0]["causes"][0];
        assert_eq!((&cause["cause"], &cause["before"]), (&json!("kept_weight_ended"), &json!("2.00000")));
        assert_eq!(listed["kept"], json!({}));
    }

    async fn a_scheduled_change_keeps_weights_from_its_moment_on_for_cached_scores_and_votes(scene: &Scene) {
        let scorer = scene.scorer("2", &[("A", "2")]).await;
        let open = scene.node(Config { vote_scorers: vec![scorer], ..Config::default() }).state;
        scene.verify(wallet(1), "A", "a:1", 90).await;
        points(scene, scorer, 1).await;
        let made = change(scene, scorer, &[("A", "0.5")], true, Some(5)).await.unwrap();
        assert!(made.scheduled[0].keep_until_expiry && made.terms.kept.is_empty());
        scene.on_day(4);
        scene.verify(wallet(2), "A", "a:2", 90).await;
        scene.on_day(5);
        scene.verify(wallet(3), "A", "a:3", 90).await;
        for (number, expected) in [(1, "2.00000"), (2, "2.00000"), (3, "0.50000")] {
            assert_eq!(points(scene, scorer, number).await, expected, "{number}");
        }
        scene.on_day(6);
        let found = votes::scores(&open, scorer, &[wallet(1)], Some(day(5))).await.unwrap().unwrap();
        assert!(found.known[&wallet(1)].passes, "{found:?}");
        // A change that keeps nothing ends it for everyone, and leaves what it does not lower.
        change(scene, scorer, &[("A", "0.5"), ("B", "1")], false, Some(7)).await.unwrap();
        change(scene, scorer, &[("A", "0.25"), ("B", "1")], false, Some(8)).await.unwrap();
        scene.on_day(7);
        assert_eq!(points(scene, scorer, 1).await, "2.00000");
        scene.on_day(8);
        assert_eq!(points(scene, scorer, 1).await, "0.25000");
        let at = async |number| {
            let found = votes::scores(&open, scorer, &[wallet(1)], Some(day(number))).await.unwrap().unwrap();
            found.known[&wallet(1)].score.to_string()
        };
        scene.on_day(9);
        assert_eq!([at(4).await, at(5).await, at(7).await, at(8).await], ["2.00000", "2.00000", "2.00000", "0.25000"]);
    }

    async fn a_preview_shows_what_holders_would_keep_and_a_change_without_weights_keeps_nothing(scene: &Scene) {
        let scorer = scene.scorer("2", &[("A", "2")]).await;
        scene.verify(wallet(1), "A", "a:1", 90).await;
        scene.on_day(1);
        for (keep, lost) in [(true, 0), (false, 1)] {
            let weights = Some(weights(&[("A", "0.5")]));
            let proposal = Proposal { weights, keep_until_expiry: keep, ..Proposal::default() };
            let (store, now) = (&scene.state.store, scene.state.now());
            let found = preview::preview(store, scene.workspace, scorer, proposal, now).await.unwrap();
            assert_eq!((found.sampled, found.lost), (1, lost), "{keep}");
        }
        let patch = ScorerPatch {
            threshold: Some("1".parse().unwrap()),
            keep_until_expiry: true,
            revision: Some(1),
            ..ScorerPatch::default()
        };
        let actor = Actor::cli(scene.workspace);
        let refused = scorers::update(&scene.state.audited, &actor, scorer, patch).await;
        assert!(matches!(refused, Err(Error::InvalidField { .. })), "{refused:?}");
    }
}
