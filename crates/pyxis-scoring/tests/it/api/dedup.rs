//! Deduplication (`docs/reference/behavior/scoring.md#deduplication`): the first holder keeps the claim. Days in the
//! life of a few wallets, through the API.

use pyxis_core::decimal::Decimal;
use pyxis_core::id::ScorerId;
use pyxis_testkit::engines;
use serde_json::{Value, json};

use super::world::{World, day, score_path, shown, wallet};

/// A scorer that gives every Stamp of these tests a different weight.
async fn scorer(world: &World) -> ScorerId {
    world.scorer("20", &[("A", "1"), ("B", "2"), ("C", "4")]).await
}

/// A Stamp that counts until a day.
fn counts(score: &str, until: i64) -> Value {
    json!({"score": score, "dedup": false, "expiration_date": shown(day(until))})
}

/// A Stamp that another address holds until a day.
fn held(until: i64) -> Value {
    json!({"score": "0.00000", "dedup": true, "expiration_date": shown(day(until))})
}

/// The state of wallet `number`'s Stamp.
async fn stamp(world: &World, scorer: ScorerId, number: u64, name: &str) -> Value {
    let record = world.score(scorer, wallet(number)).await;
    let stamps = record["stamps"].as_object().unwrap().values();
    let sum: Decimal = stamps.map(|stamp| stamp["score"].as_str().unwrap().parse::<Decimal>().unwrap()).sum();
    assert_eq!(record["score"], sum.to_string());
    record["stamps"][name].clone()
}

engines! {
    async fn the_first_that_a_scorer_scores_holds_whoever_brought_it_first(world: &World) {
        let scorer = scorer(world).await;
        world.verify(wallet(1), "A", "n:1", 20).await;
        world.verify(wallet(2), "A", "n:1", 30).await;
        assert_eq!(stamp(world, scorer, 2, "A").await, counts("1.00000", 30));
        assert_eq!(stamp(world, scorer, 1, "A").await, held(30));
        assert_eq!(stamp(world, scorer, 2, "A").await, counts("1.00000", 30));
    }

    async fn an_ingest_claims_where_the_address_is_known_already(world: &World) {
        let scorer = scorer(world).await;
        world.verify(wallet(1), "B", "b:1", 20).await;
        world.score(scorer, wallet(1)).await; // from here on the scorer knows wallet 1
        world.verify(wallet(1), "A", "n:1", 20).await;
        world.verify(wallet(2), "A", "n:1", 30).await;
        assert_eq!(stamp(world, scorer, 2, "A").await, held(20));
        assert_eq!(stamp(world, scorer, 1, "A").await, counts("1.00000", 20));
    }

    async fn a_batch_and_a_bulk_run_claim_too(world: &World) {
        let scorer = scorer(world).await;
        world.verify(wallet(1), "A", "n:1", 20).await;
        world.verify(wallet(2), "A", "n:1", 30).await;
        let items = world.scores(scorer, &[wallet(2), wallet(1)]).await.json();
        let dedup = |index: usize| items["items"][index]["stamps"]["A"]["dedup"].as_bool().unwrap();
        assert_ne!(dedup(0), dedup(1), "{items}");
    }

    async fn a_claim_ends_when_the_credential_of_the_holder_expires(world: &World) {
        let scorer = scorer(world).await;
        world.verify(wallet(1), "A", "n:1", 10).await;
        world.score(scorer, wallet(1)).await;
        world.verify(wallet(2), "A", "n:1", 40).await;
        world.verify(wallet(3), "A", "n:1", 30).await;
        assert_eq!(stamp(world, scorer, 2, "A").await, held(10));
        assert_eq!(stamp(world, scorer, 3, "A").await, held(10));
        world.on_day(9);
        assert_eq!(stamp(world, scorer, 3, "A").await, held(10));
        world.on_day(10);
        assert_eq!(stamp(world, scorer, 3, "A").await, counts("1.00000", 30));
        assert_eq!(stamp(world, scorer, 2, "A").await, held(30));
        assert_eq!(stamp(world, scorer, 1, "A").await, Value::Null);
    }

    async fn nobody_takes_an_ended_claim_until_scored(world: &World) {
        let scorer = scorer(world).await;
        world.verify(wallet(1), "A", "n:1", 10).await;
        world.score(scorer, wallet(1)).await;
        world.verify(wallet(2), "A", "n:1", 40).await;
        world.score(scorer, wallet(2)).await;
        world.on_day(12);
        world.verify(wallet(1), "A", "n:1", 50).await; // known, so its ingest takes the claim again
        assert_eq!(stamp(world, scorer, 2, "A").await, held(50));
        assert_eq!(stamp(world, scorer, 1, "A").await, counts("1.00000", 50));
    }

    async fn a_renewal_extends_the_claim_and_others_see_the_new_end(world: &World) {
        let scorer = scorer(world).await;
        world.verify(wallet(1), "A", "n:1", 10).await;
        world.score(scorer, wallet(1)).await;
        world.verify(wallet(2), "A", "n:1", 40).await;
        assert_eq!(stamp(world, scorer, 2, "A").await, held(10));
        world.on_day(5);
        world.verify(wallet(1), "A", "n:1", 25).await;
        assert_eq!(stamp(world, scorer, 2, "A").await, held(25));
        world.on_day(10);
        assert_eq!(stamp(world, scorer, 2, "A").await, held(25));
        assert_eq!(stamp(world, scorer, 1, "A").await, counts("1.00000", 25));
        world.on_day(25);
        assert_eq!(stamp(world, scorer, 2, "A").await, counts("1.00000", 40));
    }

    async fn a_holder_that_renews_after_another_took_over_is_the_duplicate(world: &World) {
        let scorer = scorer(world).await;
        world.verify(wallet(1), "A", "n:1", 10).await;
        world.score(scorer, wallet(1)).await;
        world.verify(wallet(2), "A", "n:1", 40).await;
        world.on_day(10);
        assert_eq!(stamp(world, scorer, 2, "A").await, counts("1.00000", 40));
        world.verify(wallet(1), "A", "n:1", 90).await;
        assert_eq!(stamp(world, scorer, 1, "A").await, held(40));
        assert_eq!(stamp(world, scorer, 2, "A").await, counts("1.00000", 40));
        world.on_day(40);
        assert_eq!(stamp(world, scorer, 1, "A").await, counts("1.00000", 90));
    }

    async fn deleting_does_not_free_so_no_credential_hops_between_wallets(world: &World) {
        let scorer = scorer(world).await;
        world.verify(wallet(1), "A", "n:1", 10).await;
        world.score(scorer, wallet(1)).await;
        world.verify(wallet(2), "A", "n:1", 40).await;
        assert_eq!(world.delete(wallet(1), "A").await.text, r#"{"removed":1}"#);
        assert_eq!(stamp(world, scorer, 1, "A").await, Value::Null);
        assert_eq!(stamp(world, scorer, 2, "A").await, held(10));
        // The holder may add one again, even a shorter one, which shortens nothing.
        world.on_day(1);
        world.verify(wallet(1), "A", "n:1", 5).await;
        assert_eq!(stamp(world, scorer, 1, "A").await, counts("1.00000", 5));
        assert_eq!(stamp(world, scorer, 2, "A").await, held(10));
        world.on_day(5);
        assert_eq!(stamp(world, scorer, 2, "A").await, held(10));
        world.on_day(10);
        assert_eq!(stamp(world, scorer, 2, "A").await, counts("1.00000", 40));
    }

    async fn one_clashing_nullifier_deduplicates_the_whole_stamp_which_claims_nothing(world: &World) {
        let scorer = scorer(world).await;
        world.verify(wallet(1), "A", "n:1", 10).await;
        world.score(scorer, wallet(1)).await;
        world.verify(wallet(2), "A", "n:1 n:2", 40).await;
        assert_eq!(stamp(world, scorer, 2, "A").await, held(10));
        // n:2 is the same account, which wallet 1 holds.
        world.verify(wallet(3), "B", "n:2", 30).await;
        assert_eq!(stamp(world, scorer, 3, "B").await, held(10));
        world.on_day(10);
        assert_eq!(stamp(world, scorer, 3, "B").await, counts("2.00000", 30));
        assert_eq!(stamp(world, scorer, 2, "A").await, held(30));
        world.on_day(30);
        assert_eq!(stamp(world, scorer, 2, "A").await, counts("1.00000", 40));
    }

    async fn the_missing_nullifiers_of_a_holder_are_filled_in(world: &World) {
        let scorer = scorer(world).await;
        world.verify(wallet(1), "A", "v0:1", 10).await;
        world.score(scorer, wallet(1)).await;
        world.on_day(2);
        world.verify(wallet(1), "A", "v0:1 v1:1", 20).await; // the issuer's newer form
        world.verify(wallet(2), "A", "v1:1", 40).await;
        assert_eq!(stamp(world, scorer, 2, "A").await, held(20));
        world.verify(wallet(3), "A", "v0:1", 40).await;
        assert_eq!(stamp(world, scorer, 3, "A").await, held(20));
        assert_eq!(stamp(world, scorer, 1, "A").await, counts("1.00000", 20));
    }

    async fn a_missing_nullifier_that_another_holds_is_a_clash(world: &World) {
        let scorer = scorer(world).await;
        world.verify(wallet(2), "A", "v1:1", 15).await;
        world.score(scorer, wallet(2)).await;
        world.verify(wallet(1), "A", "v0:1", 10).await;
        assert_eq!(stamp(world, scorer, 1, "A").await, counts("1.00000", 10));
        world.on_day(1);
        world.verify(wallet(1), "A", "v0:1 v1:1", 30).await;
        assert_eq!(stamp(world, scorer, 1, "A").await, held(15));
        // The whole account belongs to wallet 2.
        world.verify(wallet(3), "A", "v0:1", 40).await;
        assert_eq!(stamp(world, scorer, 3, "A").await, held(15));
    }

    async fn scorers_are_independent(world: &World) {
        let (one, two) = (scorer(world).await, scorer(world).await);
        for number in [1, 2] {
            world.verify(wallet(number), "A", "n:1", 20).await;
        }
        assert_eq!(stamp(world, one, 1, "A").await, counts("1.00000", 20));
        assert_eq!(stamp(world, two, 2, "A").await, counts("1.00000", 20));
        assert_eq!(stamp(world, one, 2, "A").await, held(20));
        assert_eq!(stamp(world, two, 1, "A").await, held(20));
    }

    async fn a_scorer_that_gives_a_stamp_no_weight_still_says_whose_it_is(world: &World) {
        let scorer = world.scorer("20", &[]).await;
        world.verify(wallet(1), "A", "n:1", 20).await;
        world.verify(wallet(2), "A", "n:1", 30).await;
        assert_eq!(stamp(world, scorer, 1, "A").await, counts("0.00000", 20));
        assert_eq!(stamp(world, scorer, 2, "A").await, held(20));
    }

    async fn revocation_frees_at_once(world: &World) {
        let scorer = scorer(world).await;
        let credential = world.verify(wallet(1), "A", "n:1 n:2", 50).await;
        world.score(scorer, wallet(1)).await;
        world.verify(wallet(2), "A", "n:1", 40).await;
        world.verify(wallet(3), "B", "n:2", 40).await;
        assert_eq!(stamp(world, scorer, 2, "A").await, held(50));
        assert_eq!(stamp(world, scorer, 3, "B").await, held(50));
        assert!(world.revoke(wallet(1), &credential).await.removed);
        assert_eq!(stamp(world, scorer, 1, "A").await, Value::Null);
        assert_eq!(stamp(world, scorer, 2, "A").await, counts("1.00000", 40));
        // It is still one account: it belongs to the first wallet that is scored.
        assert_eq!(stamp(world, scorer, 3, "B").await, held(40));
    }

    async fn revocation_frees_what_a_deleted_stamp_left_behind(world: &World) {
        let scorer = scorer(world).await;
        let credential = world.verify(wallet(1), "A", "n:1", 50).await;
        world.score(scorer, wallet(1)).await;
        world.verify(wallet(2), "A", "n:1", 40).await;
        world.delete(wallet(1), "A").await;
        assert_eq!(stamp(world, scorer, 2, "A").await, held(50));
        assert!(world.revoke(wallet(1), &credential).await.new);
        assert_eq!(stamp(world, scorer, 2, "A").await, counts("1.00000", 40));
    }

    async fn another_stamp_of_the_holder_keeps_a_claim_that_a_revoked_one_had(world: &World) {
        let scorer = scorer(world).await;
        let credential = world.verify(wallet(1), "A", "n:1", 50).await;
        world.verify(wallet(1), "B", "n:1", 30).await;
        world.score(scorer, wallet(1)).await;
        world.verify(wallet(2), "A", "n:1", 90).await;
        assert_eq!(stamp(world, scorer, 2, "A").await, held(50));
        world.revoke(wallet(1), &credential).await;
        assert_eq!(stamp(world, scorer, 2, "A").await, held(30));
        assert_eq!(stamp(world, scorer, 1, "B").await, counts("2.00000", 30));
    }

    async fn a_revoked_renewal_leaves_no_claim_however_long_the_one_before_would_have_lasted(world: &World) {
        let scorer = scorer(world).await;
        let renewed = [(1, 2, "n:1", 10), (3, 4, "n:2", 20), (5, 6, "n:3", 30)];
        for (holder, _, mark, _) in renewed {
            world.verify(wallet(holder), "A", mark, 20).await;
            assert_eq!(stamp(world, scorer, holder, "A").await, counts("1.00000", 20));
        }
        world.on_day(2);
        for (holder, other, mark, until) in renewed {
            let renewal = world.verify(wallet(holder), "A", mark, until).await;
            world.verify(wallet(other), "A", mark, 40).await;
            assert_eq!(stamp(world, scorer, other, "A").await["dedup"], true);
            world.revoke(wallet(holder), &renewal).await;
            assert_eq!(stamp(world, scorer, other, "A").await, counts("1.00000", 40), "until day {until}");
        }
    }

    async fn a_claim_of_a_deleted_stamp_outlives_the_revocation_of_another_with_its_nullifier(world: &World) {
        let scorer = scorer(world).await;
        world.verify(wallet(1), "A", "n:1", 50).await;
        let other = world.verify(wallet(1), "B", "n:1", 30).await;
        world.score(scorer, wallet(1)).await;
        world.verify(wallet(2), "A", "n:1", 90).await;
        assert_eq!(stamp(world, scorer, 2, "A").await, held(50));
        world.delete(wallet(1), "A").await;
        assert!(world.revoke(wallet(1), &other).await.removed);
        assert_eq!(stamp(world, scorer, 2, "A").await, held(50));
        world.on_day(49);
        assert_eq!(stamp(world, scorer, 2, "A").await, held(50));
        world.on_day(50);
        assert_eq!(stamp(world, scorer, 2, "A").await, counts("1.00000", 90));
    }

    async fn a_claim_of_a_deleted_stamp_ends_with_the_revocation_of_its_own_credential(world: &World) {
        let scorer = scorer(world).await;
        let deleted = world.verify(wallet(1), "A", "n:1", 50).await;
        let other = world.verify(wallet(1), "B", "n:1", 30).await;
        world.score(scorer, wallet(1)).await;
        world.verify(wallet(2), "A", "n:1", 90).await;
        world.delete(wallet(1), "A").await;
        world.revoke(wallet(1), &other).await;
        assert_eq!(stamp(world, scorer, 2, "A").await, held(50));
        world.revoke(wallet(1), &deleted).await;
        assert_eq!(stamp(world, scorer, 2, "A").await, counts("1.00000", 90));
    }

    async fn a_revocation_ends_in_each_scorer_what_stands_on_the_revoked_name_there(world: &World) {
        let (one, two) = (scorer(world).await, scorer(world).await);
        world.verify(wallet(1), "A", "n:1", 50).await;
        let other = world.verify(wallet(1), "B", "n:1", 30).await;
        world.score(one, wallet(1)).await;
        world.delete(wallet(1), "A").await;
        world.score(two, wallet(1)).await;
        world.verify(wallet(2), "A", "n:1", 90).await;
        assert_eq!(stamp(world, one, 2, "A").await, held(50));
        assert_eq!(stamp(world, two, 2, "A").await, held(30));
        world.revoke(wallet(1), &other).await;
        assert_eq!(stamp(world, one, 2, "A").await, held(50));
        assert_eq!(stamp(world, two, 2, "A").await, counts("1.00000", 90));
    }

    async fn a_claim_that_a_revoked_renewal_leaves_goes_to_another_stamp_of_the_holder(world: &World) {
        let scorer = scorer(world).await;
        world.verify(wallet(1), "A", "n:1", 50).await;
        world.verify(wallet(1), "B", "n:1", 30).await;
        world.score(scorer, wallet(1)).await;
        world.on_day(2);
        let renewal = world.verify(wallet(1), "A", "n:1", 20).await;
        world.verify(wallet(2), "A", "n:1", 90).await;
        assert_eq!(stamp(world, scorer, 2, "A").await, held(50));
        world.revoke(wallet(1), &renewal).await;
        assert_eq!(stamp(world, scorer, 2, "A").await, held(30));
    }

    async fn a_claim_from_before_names_were_kept_ends_with_any_revoked_stamp_of_its_holder(world: &World) {
        let scorer = scorer(world).await;
        world.verify(wallet(1), "A", "n:1", 50).await;
        let other = world.verify(wallet(1), "B", "n:1", 30).await;
        world.score(scorer, wallet(1)).await;
        world.verify(wallet(2), "A", "n:1", 90).await;
        world.delete(wallet(1), "A").await;
        world.sql("UPDATE claims SET provider = NULL").await;
        assert_eq!(stamp(world, scorer, 2, "A").await, held(50));
        world.revoke(wallet(1), &other).await;
        assert_eq!(stamp(world, scorer, 2, "A").await, counts("1.00000", 90));
    }

    async fn a_revoked_credential_is_refused_and_a_new_one_of_the_issuer_is_not(world: &World) {
        let scorer = scorer(world).await;
        let credential = world.verify(wallet(1), "A", "n:1", 50).await;
        world.score(scorer, wallet(1)).await;
        world.revoke(wallet(1), &credential).await;
        assert_eq!(world.bring(wallet(1), &[credential]).await, ["revoked"]);
        assert_eq!(stamp(world, scorer, 1, "A").await, Value::Null);
        world.on_day(1);
        world.verify(wallet(1), "A", "n:1", 60).await;
        assert_eq!(stamp(world, scorer, 1, "A").await, counts("1.00000", 60));
    }

    async fn the_same_nullifier_in_two_stamps_of_one_wallet_is_no_clash(world: &World) {
        let scorer = scorer(world).await;
        world.verify(wallet(1), "A", "n:1", 10).await;
        world.verify(wallet(1), "B", "n:1", 30).await;
        world.verify(wallet(1), "C", "n:1 n:2", 20).await;
        for (name, expected) in
            [("A", counts("1.00000", 10)), ("B", counts("2.00000", 30)), ("C", counts("4.00000", 20))]
        {
            assert_eq!(stamp(world, scorer, 1, name).await, expected);
        }
        // The one that lives longest holds it.
        world.verify(wallet(2), "A", "n:1", 90).await;
        assert_eq!(stamp(world, scorer, 2, "A").await, held(30));
    }

    async fn a_clash_of_one_stamp_is_none_of_the_others(world: &World) {
        let scorer = scorer(world).await;
        world.verify(wallet(1), "A", "n:1", 10).await;
        world.score(scorer, wallet(1)).await;
        world.verify(wallet(2), "A", "n:1", 20).await;
        world.verify(wallet(2), "B", "n:2", 30).await;
        let record = world.score(scorer, wallet(2)).await;
        assert_eq!(record["stamps"], json!({"A": held(10), "B": counts("2.00000", 30)}));
        assert_eq!(
            (&record["score"], &record["expiration_timestamp"]),
            (&json!("2.00000"), &json!(shown(day(30))))
        );
    }

    async fn a_credential_that_replaces_with_other_nullifiers_still_keeps_the_old_ones(world: &World) {
        // Otherwise another wallet could take the account behind n:1 while its first credential is live.
        let scorer = scorer(world).await;
        world.verify(wallet(1), "A", "n:1", 20).await;
        world.score(scorer, wallet(1)).await;
        world.on_day(1);
        world.verify(wallet(1), "A", "n:2", 30).await;
        world.verify(wallet(2), "A", "n:1", 40).await;
        world.verify(wallet(3), "A", "n:2", 40).await;
        assert_eq!(stamp(world, scorer, 2, "A").await, held(20));
        assert_eq!(stamp(world, scorer, 3, "A").await, held(30));
    }

    async fn workspaces_are_independent(world: &World) {
        let scorer = scorer(world).await;
        let (_, key, theirs) = world.neighbor().await;
        world.verify(wallet(1), "A", "n:1", 20).await;
        world.score(scorer, wallet(1)).await;
        let answer = world.get_as(&key, &score_path(theirs, wallet(1))).await;
        assert_eq!(answer.json()["stamps"], json!({}));
    }
}
