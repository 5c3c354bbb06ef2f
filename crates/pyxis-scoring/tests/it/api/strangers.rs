//! An address affects other addresses only through claims that they wait for (recomputed when an input changed; one
//! write per computed score; `docs/reference/behavior/scoring.md#scores`).

use pyxis_testkit::engines;

use super::world::{World, day, shown, wallet};

const WEIGHTS: &[(&str, &str)] = &[("A", "1"), ("B", "2")];

engines! {
    async fn a_duplicate_that_comes_and_goes_changes_nothing_for_its_holder(world: &World) {
        let scorer = world.scorer("20", WEIGHTS).await;
        world.verify(wallet(1), "A", "n:1", 20).await;
        let record = world.record(scorer, wallet(1)).await;
        // One that the scorer knows, and one that it does not.
        world.verify(wallet(2), "B", "b:2", 20).await;
        world.score(scorer, wallet(2)).await;
        let rows = world.count("score_history").await;
        for stranger in [2, 3] {
            world.on_day(1);
            world.verify(wallet(stranger), "A", "n:1", 40).await;
            assert_eq!(world.record(scorer, wallet(1)).await, record, "{stranger} brought one");
            world.delete(wallet(stranger), "A").await;
            assert_eq!(world.record(scorer, wallet(1)).await, record, "{stranger} removed it");
            let again = world.verify(wallet(stranger), "A", "n:1", 50).await;
            world.revoke(wallet(stranger), &again).await;
            assert_eq!(world.record(scorer, wallet(1)).await, record, "that of {stranger} was revoked");
        }
        assert_eq!(world.count("score_history").await, rows);
    }

    async fn many_who_share_an_account_do_not_outdate_each_other(world: &World) {
        let scorer = world.scorer("20", WEIGHTS).await;
        for number in 1..=8 {
            world.verify(wallet(number), "A", "n:1", 20).await;
            world.score(scorer, wallet(number)).await;
        }
        world.on_day(1);
        for number in 2..=8 {
            world.verify(wallet(number), "A", "n:1", 30).await;
        }
        for number in 1..=8 {
            let computed = world.score(scorer, wallet(number)).await["last_score_timestamp"].clone();
            assert_eq!(computed, shown(day(i64::from(number > 1))), "{number}");
        }
        assert_eq!(world.count("score_history").await, 8 + 7);
    }

    async fn a_holder_that_removes_a_stamp_changes_nothing_for_those_who_wait(world: &World) {
        let scorer = world.scorer("20", WEIGHTS).await;
        world.verify(wallet(1), "A", "n:1", 20).await;
        world.score(scorer, wallet(1)).await;
        world.verify(wallet(2), "A", "n:1", 40).await;
        let record = world.record(scorer, wallet(2)).await;
        world.on_day(1);
        world.delete(wallet(1), "A").await;
        assert_eq!(world.record(scorer, wallet(2)).await, record);
        // A shorter one shortens nothing; a longer one is what they wait for.
        world.verify(wallet(1), "A", "n:1", 10).await;
        assert_eq!(world.record(scorer, wallet(2)).await, record);
        world.on_day(2);
        world.verify(wallet(1), "A", "n:1", 30).await;
        assert_eq!(world.score(scorer, wallet(2)).await["stamps"]["A"]["expiration_date"], shown(day(30)));
    }

    async fn a_renewal_is_news_only_in_the_scorers_where_it_holds(world: &World) {
        let (one, two) = (world.scorer("20", WEIGHTS).await, world.scorer("20", WEIGHTS).await);
        world.verify(wallet(1), "A", "n:1", 20).await;
        world.verify(wallet(2), "A", "n:1", 40).await;
        world.score(one, wallet(1)).await;
        let (waits, holds) = (world.score(one, wallet(2)).await, world.record(two, wallet(2)).await);
        assert_eq!(waits["stamps"]["A"]["dedup"], true);
        world.on_day(1);
        let renewal = world.verify(wallet(1), "A", "n:1", 30).await;
        assert_eq!(world.score(one, wallet(2)).await["stamps"]["A"]["expiration_date"], shown(day(30)));
        assert_eq!(world.record(two, wallet(2)).await, holds);
        world.revoke(wallet(1), &renewal).await;
        assert_eq!(world.score(one, wallet(2)).await["stamps"]["A"]["dedup"], false);
        assert_eq!(world.record(two, wallet(2)).await, holds);
    }
}
