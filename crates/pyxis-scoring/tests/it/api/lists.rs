//! Lists of the addresses that pass (`docs/reference/signed-scores.md#merkle-lists`).

use pyxis_core::actor::Actor;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::ScorerId;
use pyxis_scoring::merkle::AddressTree;
use pyxis_scoring::service::score_lists::{self, PassingList};
use pyxis_testkit::engines;

use super::scene::{Scene, day, wallet};

const WEIGHTS: &[(&str, &str)] = &[("A", "12.5"), ("B", "10")];

async fn list(scene: &Scene, scorer: ScorerId, at: Option<UnixMillis>) -> PassingList {
    score_lists::passing(&scene.state, &Actor::cli(scene.workspace), scorer, at).await.unwrap()
}

/// Numbers of the wallets on a list.
fn on(list: &PassingList) -> Vec<u64> {
    let listed =
        |tree: &AddressTree| (1..=9).filter(|number| tree.proof(wallet(*number)).is_some()).collect();
    list.tree.as_ref().map_or_else(Vec::new, listed)
}

engines! {
    async fn a_list_has_who_passes_now_also_by_scores_that_are_stale(scene: &Scene) {
        let scorer = scene.scorer("20", WEIGHTS).await;
        for (number, until) in [(1, 20), (2, 10)] {
            scene.verify(wallet(number), "A", &format!("a:{number}"), until).await;
            scene.verify(wallet(number), "B", &format!("b:{number}"), until).await;
            scene.score(scorer, wallet(number)).await;
        }
        scene.verify(wallet(3), "A", "a:3", 20).await;
        scene.score(scorer, wallet(3)).await;
        // Nobody asked for this one's score.
        scene.verify(wallet(4), "A", "a:4", 20).await;
        scene.verify(wallet(4), "B", "b:4", 20).await;
        assert_eq!(on(&list(scene, scorer, None).await), [1, 2]);
        scene.on_day(10);
        assert_eq!(on(&list(scene, scorer, None).await), [1], "the second one's Stamps have ended");
        scene.set_terms(scorer, "10", WEIGHTS).await;
        assert_eq!(on(&list(scene, scorer, None).await), [1, 3], "by the terms in force");
        scene.on_day(20);
        assert!(list(scene, scorer, None).await.tree.is_none());
    }

    async fn a_list_of_a_moment_is_made_of_the_history_and_stays_the_same(scene: &Scene) {
        let scorer = scene.scorer("20", WEIGHTS).await;
        for number in [1, 2] {
            let until = if number == 1 { 20 } else { 5 };
            scene.verify(wallet(number), "A", &format!("a:{number}"), until).await;
            scene.verify(wallet(number), "B", &format!("b:{number}"), 20).await;
            scene.score(scorer, wallet(number)).await;
        }
        scene.on_day(8);
        scene.delete(wallet(1), "B").await;
        scene.score(scorer, wallet(1)).await;
        let at = async |moment| on(&list(scene, scorer, Some(moment)).await);
        assert!(at(day(0)).await.is_empty(), "strictly before the moment");
        assert_eq!(at(UnixMillis(day(0).0 + 1)).await, [1, 2]);
        assert_eq!(at(day(5)).await, [1], "the second one's Stamp had expired");
        assert_eq!(at(day(8)).await, [1]);
        scene.on_day(9);
        assert!(at(day(9)).await.is_empty());
        scene.set_terms(scorer, "1", WEIGHTS).await;
        assert_eq!(at(day(5)).await, [1], "later terms change nothing");
        let refused = score_lists::passing(&scene.state, &Actor::cli(scene.workspace), scorer, Some(day(30))).await;
        assert!(refused.is_err_and(|error| error.to_string().contains("a moment that is over")));
    }

    async fn a_score_in_part_is_not_on_a_list_but_counted(scene: &Scene) {
        let scorer = scene.scorer("10", WEIGHTS).await;
        scene.verify(wallet(1), "A", "a:1", 20).await;
        scene.verify(wallet(1), "B", "b:1", 20).await;
        scene.score(scorer, wallet(1)).await;
        scene.sql("UPDATE stamps SET nullifiers = '{not json' WHERE provider = 'A'").await;
        scene.sql("UPDATE scores SET stale = (1 = 1)").await;
        let found = list(scene, scorer, None).await;
        assert!(found.tree.is_none());
        assert_eq!(found.partial, 1);
    }
}
