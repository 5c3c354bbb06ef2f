//! An address affects other addresses only through claims that they wait for (recomputed when an input changed; one
//! write per computed score; `docs/reference/behavior/scoring.md#scores`).

use pyxis_testkit::engines;

use super::scene::{Scene, day, timestamp, wallet};

const WEIGHTS: &[(&str, &str)] = &[("A", "1"), ("B", "2")];

engines! {
    async fn a_duplicate_that_comes_and_goes_changes_nothing_for_its_holder(scene: &Scene) {
        let scorer = scene.scorer("20", WEIGHTS).await;
        scene.verify(wallet(1), "A", "n:1", 20).await;
        let record = scene.record(scorer, wallet(1)).await;
        // One that the scorer knows, and one that it does not.
        scene.verify(wallet(2), "B", "b:2", 20).await;
        scene.score(scorer, wallet(2)).await;
        let rows = scene.count("score_history").await;
        for stranger in [2, 3] {
            scene.on_day(1);
            scene.verify(wallet(stranger), "A", "n:1", 40).await;
            assert_eq!(scene.record(scorer, wallet(1)).await, record, "{stranger} brought one");
            scene.delete(wallet(stranger), "A").await;
            assert_eq!(scene.record(scorer, wallet(1)).await, record, "{stranger} removed it");
            let again = scene.verify(wallet(stranger), "A", "n:1", 50).await;
            scene.revoke(wallet(stranger), &again).await;
            assert_eq!(scene.record(scorer, wallet(1)).await, record, "that of {stranger} was revoked");
        }
        assert_eq!(scene.count("score_history").await, rows);
    }

    async fn many_who_share_an_account_do_not_outdate_each_other(scene: &Scene) {
        let scorer = scene.scorer("20", WEIGHTS).await;
        for number in 1..=8 {
            scene.verify(wallet(number), "A", "n:1", 20).await;
            scene.score(scorer, wallet(number)).await;
        }
        scene.on_day(1);
        for number in 2..=8 {
            scene.verify(wallet(number), "A", "n:1", 30).await;
        }
        for number in 1..=8 {
            let computed = scene.score(scorer, wallet(number)).await["last_score_timestamp"].clone();
            assert_eq!(computed, timestamp(day(i64::from(number > 1))), "{number}");
        }
        assert_eq!(scene.count("score_history").await, 8 + 7);
    }

    async fn a_holder_that_removes_a_stamp_changes_nothing_for_those_who_wait(scene: &Scene) {
        let scorer = scene.scorer("20", WEIGHTS).await;
        scene.verify(wallet(1), "A", "n:1", 20).await;
        scene.score(scorer, wallet(1)).await;
        scene.verify(wallet(2), "A", "n:1", 40).await;
        let record = scene.record(scorer, wallet(2)).await;
        scene.on_day(1);
        scene.delete(wallet(1), "A").await;
        assert_eq!(scene.record(scorer, wallet(2)).await, record);
        // A shorter one shortens nothing; a longer one is what they wait for.
        scene.verify(wallet(1), "A", "n:1", 10).await;
        assert_eq!(scene.record(scorer, wallet(2)).await, record);
        scene.on_day(2);
        scene.verify(wallet(1), "A", "n:1", 30).await;
        assert_eq!(scene.score(scorer, wallet(2)).await["stamps"]["A"]["expiration_date"], timestamp(day(30)));
    }

    async fn a_renewal_is_news_only_in_the_scorers_where_it_holds(scene: &Scene) {
        let (one, two) = (scene.scorer("20", WEIGHTS).await, scene.scorer("20", WEIGHTS).await);
        scene.verify(wallet(1), "A", "n:1", 20).await;
        scene.verify(wallet(2), "A", "n:1", 40).await;
        scene.score(one, wallet(1)).await;
        let (waits, holds) = (scene.score(one, wallet(2)).await, scene.record(two, wallet(2)).await);
        assert_eq!(waits["stamps"]["A"]["dedup"], true);
        scene.on_day(1);
        let renewal = scene.verify(wallet(1), "A", "n:1", 30).await;
        assert_eq!(scene.score(one, wallet(2)).await["stamps"]["A"]["expiration_date"], timestamp(day(30)));
        assert_eq!(scene.record(two, wallet(2)).await, holds);
        scene.revoke(wallet(1), &renewal).await;
        assert_eq!(scene.score(one, wallet(2)).await["stamps"]["A"]["dedup"], false);
        assert_eq!(scene.record(two, wallet(2)).await, holds);
    }
}
