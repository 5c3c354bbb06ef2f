//! Deduplication (`docs/reference/behavior/scoring.md#deduplication`): the first holder keeps the claim. Days in the
//! life of a few wallets, through the API.

use pyxis_core::decimal::Decimal;
use pyxis_core::id::ScorerId;
use pyxis_testkit::engines;
use serde_json::{Value, json};

use super::scene::{Scene, day, score_path, timestamp, wallet};

/// A scorer that gives every Stamp of these tests a different weight.
async fn scorer(scene: &Scene) -> ScorerId {
    scene.scorer("20", &[("A", "1"), ("B", "2"), ("C", "4")]).await
}

/// A Stamp that counts until a day.
fn counts(score: &str, until: i64) -> Value {
    json!({"score": score, "dedup": false, "expiration_date": timestamp(day(until))})
}

/// A Stamp that another address holds until a day.
fn claimed_until(until: i64) -> Value {
    json!({"score": "0.00000", "dedup": true, "expiration_date": timestamp(day(until))})
}

/// The state of wallet `number`'s Stamp.
async fn stamp(scene: &Scene, scorer: ScorerId, number: u64, name: &str) -> Value {
    let record = scene.score(scorer, wallet(number)).await;
    let stamps = record["stamps"].as_object().unwrap().values();
    let sum: Decimal = stamps.map(|stamp| stamp["score"].as_str().unwrap().parse::<Decimal>().unwrap()).sum();
    assert_eq!(record["score"], sum.to_string());
    record["stamps"][name].clone()
}

engines! {
    async fn the_first_that_a_scorer_scores_holds_no_matter_who_brought_it_first(scene: &Scene) {
        let scorer = scorer(scene).await;
        scene.verify(wallet(1), "A", "n:1", 20).await;
        scene.verify(wallet(2), "A", "n:1", 30).await;
        assert_eq!(stamp(scene, scorer, 2, "A").await, counts("1.00000", 30));
        assert_eq!(stamp(scene, scorer, 1, "A").await, claimed_until(30));
        assert_eq!(stamp(scene, scorer, 2, "A").await, counts("1.00000", 30));
    }

    async fn an_ingest_claims_where_the_address_is_known_already(scene: &Scene) {
        let scorer = scorer(scene).await;
        scene.verify(wallet(1), "B", "b:1", 20).await;
        scene.score(scorer, wallet(1)).await; // from here on the scorer knows wallet 1
        scene.verify(wallet(1), "A", "n:1", 20).await;
        scene.verify(wallet(2), "A", "n:1", 30).await;
        assert_eq!(stamp(scene, scorer, 2, "A").await, claimed_until(20));
        assert_eq!(stamp(scene, scorer, 1, "A").await, counts("1.00000", 20));
    }

    async fn a_batch_and_a_bulk_run_claim_too(scene: &Scene) {
        let scorer = scorer(scene).await;
        scene.verify(wallet(1), "A", "n:1", 20).await;
        scene.verify(wallet(2), "A", "n:1", 30).await;
        let items = scene.scores(scorer, &[wallet(2), wallet(1)]).await.json();
        let dedup = |index: usize| items["items"][index]["stamps"]["A"]["dedup"].as_bool().unwrap();
        assert_ne!(dedup(0), dedup(1), "{items}");
    }

    async fn a_claim_ends_when_the_credential_of_the_holder_expires(scene: &Scene) {
        let scorer = scorer(scene).await;
        scene.verify(wallet(1), "A", "n:1", 10).await;
        scene.score(scorer, wallet(1)).await;
        scene.verify(wallet(2), "A", "n:1", 40).await;
        scene.verify(wallet(3), "A", "n:1", 30).await;
        assert_eq!(stamp(scene, scorer, 2, "A").await, claimed_until(10));
        assert_eq!(stamp(scene, scorer, 3, "A").await, claimed_until(10));
        scene.on_day(9);
        assert_eq!(stamp(scene, scorer, 3, "A").await, claimed_until(10));
        scene.on_day(10);
        assert_eq!(stamp(scene, scorer, 3, "A").await, counts("1.00000", 30));
        assert_eq!(stamp(scene, scorer, 2, "A").await, claimed_until(30));
        assert_eq!(stamp(scene, scorer, 1, "A").await, Value::Null);
    }

    async fn nobody_takes_an_ended_claim_until_scored(scene: &Scene) {
        let scorer = scorer(scene).await;
        scene.verify(wallet(1), "A", "n:1", 10).await;
        scene.score(scorer, wallet(1)).await;
        scene.verify(wallet(2), "A", "n:1", 40).await;
        scene.score(scorer, wallet(2)).await;
        scene.on_day(12);
        scene.verify(wallet(1), "A", "n:1", 50).await; // known, so its ingest takes the claim again
        assert_eq!(stamp(scene, scorer, 2, "A").await, claimed_until(50));
        assert_eq!(stamp(scene, scorer, 1, "A").await, counts("1.00000", 50));
    }

    async fn a_renewal_extends_the_claim_and_others_see_the_new_end(scene: &Scene) {
        let scorer = scorer(scene).await;
        scene.verify(wallet(1), "A", "n:1", 10).await;
        scene.score(scorer, wallet(1)).await;
        scene.verify(wallet(2), "A", "n:1", 40).await;
        assert_eq!(stamp(scene, scorer, 2, "A").await, claimed_until(10));
        scene.on_day(5);
        scene.verify(wallet(1), "A", "n:1", 25).await;
        assert_eq!(stamp(scene, scorer, 2, "A").await, claimed_until(25));
        scene.on_day(10);
        assert_eq!(stamp(scene, scorer, 2, "A").await, claimed_until(25));
        assert_eq!(stamp(scene, scorer, 1, "A").await, counts("1.00000", 25));
        scene.on_day(25);
        assert_eq!(stamp(scene, scorer, 2, "A").await, counts("1.00000", 40));
    }

    async fn a_holder_that_renews_after_another_took_over_is_the_duplicate(scene: &Scene) {
        let scorer = scorer(scene).await;
        scene.verify(wallet(1), "A", "n:1", 10).await;
        scene.score(scorer, wallet(1)).await;
        scene.verify(wallet(2), "A", "n:1", 40).await;
        scene.on_day(10);
        assert_eq!(stamp(scene, scorer, 2, "A").await, counts("1.00000", 40));
        scene.verify(wallet(1), "A", "n:1", 90).await;
        assert_eq!(stamp(scene, scorer, 1, "A").await, claimed_until(40));
        assert_eq!(stamp(scene, scorer, 2, "A").await, counts("1.00000", 40));
        scene.on_day(40);
        assert_eq!(stamp(scene, scorer, 1, "A").await, counts("1.00000", 90));
    }

    async fn deleting_does_not_free_so_no_credential_hops_between_wallets(scene: &Scene) {
        let scorer = scorer(scene).await;
        scene.verify(wallet(1), "A", "n:1", 10).await;
        scene.score(scorer, wallet(1)).await;
        scene.verify(wallet(2), "A", "n:1", 40).await;
        assert_eq!(scene.delete(wallet(1), "A").await.text, r#"{"removed":1}"#);
        assert_eq!(stamp(scene, scorer, 1, "A").await, Value::Null);
        assert_eq!(stamp(scene, scorer, 2, "A").await, claimed_until(10));
        // The holder may add one again, even a shorter one, which shortens nothing.
        scene.on_day(1);
        scene.verify(wallet(1), "A", "n:1", 5).await;
        assert_eq!(stamp(scene, scorer, 1, "A").await, counts("1.00000", 5));
        assert_eq!(stamp(scene, scorer, 2, "A").await, claimed_until(10));
        scene.on_day(5);
        assert_eq!(stamp(scene, scorer, 2, "A").await, claimed_until(10));
        scene.on_day(10);
        assert_eq!(stamp(scene, scorer, 2, "A").await, counts("1.00000", 40));
    }

    async fn one_clashing_nullifier_deduplicates_the_whole_stamp_which_claims_nothing(scene: &Scene) {
        let scorer = scorer(scene).await;
        scene.verify(wallet(1), "A", "n:1", 10).await;
        scene.score(scorer, wallet(1)).await;
        scene.verify(wallet(2), "A", "n:1 n:2", 40).await;
        assert_eq!(stamp(scene, scorer, 2, "A").await, claimed_until(10));
        // n:2 is the same account, which wallet 1 holds.
        scene.verify(wallet(3), "B", "n:2", 30).await;
        assert_eq!(stamp(scene, scorer, 3, "B").await, claimed_until(10));
        scene.on_day(10);
        assert_eq!(stamp(scene, scorer, 3, "B").await, counts("2.00000", 30));
        assert_eq!(stamp(scene, scorer, 2, "A").await, claimed_until(30));
        scene.on_day(30);
        assert_eq!(stamp(scene, scorer, 2, "A").await, counts("1.00000", 40));
    }

    async fn the_missing_nullifiers_of_a_holder_are_filled_in(scene: &Scene) {
        let scorer = scorer(scene).await;
        scene.verify(wallet(1), "A", "v0:1", 10).await;
        scene.score(scorer, wallet(1)).await;
        scene.on_day(2);
        scene.verify(wallet(1), "A", "v0:1 v1:1", 20).await; // the issuer's newer form
        scene.verify(wallet(2), "A", "v1:1", 40).await;
        assert_eq!(stamp(scene, scorer, 2, "A").await, claimed_until(20));
        scene.verify(wallet(3), "A", "v0:1", 40).await;
        assert_eq!(stamp(scene, scorer, 3, "A").await, claimed_until(20));
        assert_eq!(stamp(scene, scorer, 1, "A").await, counts("1.00000", 20));
    }

    async fn a_missing_nullifier_that_another_holds_is_a_clash(scene: &Scene) {
        let scorer = scorer(scene).await;
        scene.verify(wallet(2), "A", "v1:1", 15).await;
        scene.score(scorer, wallet(2)).await;
        scene.verify(wallet(1), "A", "v0:1", 10).await;
        assert_eq!(stamp(scene, scorer, 1, "A").await, counts("1.00000", 10));
        scene.on_day(1);
        scene.verify(wallet(1), "A", "v0:1 v1:1", 30).await;
        assert_eq!(stamp(scene, scorer, 1, "A").await, claimed_until(15));
        // The whole account belongs to wallet 2.
        scene.verify(wallet(3), "A", "v0:1", 40).await;
        assert_eq!(stamp(scene, scorer, 3, "A").await, claimed_until(15));
    }

    async fn scorers_are_independent(scene: &Scene) {
        let (one, two) = (scorer(scene).await, scorer(scene).await);
        for number in [1, 2] {
            scene.verify(wallet(number), "A", "n:1", 20).await;
        }
        assert_eq!(stamp(scene, one, 1, "A").await, counts("1.00000", 20));
        assert_eq!(stamp(scene, two, 2, "A").await, counts("1.00000", 20));
        assert_eq!(stamp(scene, one, 2, "A").await, claimed_until(20));
        assert_eq!(stamp(scene, two, 1, "A").await, claimed_until(20));
    }

    async fn a_scorer_that_gives_a_stamp_no_weight_still_says_whose_it_is(scene: &Scene) {
        let scorer = scene.scorer("20", &[]).await;
        scene.verify(wallet(1), "A", "n:1", 20).await;
        scene.verify(wallet(2), "A", "n:1", 30).await;
        assert_eq!(stamp(scene, scorer, 1, "A").await, counts("0.00000", 20));
        assert_eq!(stamp(scene, scorer, 2, "A").await, claimed_until(20));
    }

    async fn revocation_frees_at_once(scene: &Scene) {
        let scorer = scorer(scene).await;
        let credential = scene.verify(wallet(1), "A", "n:1 n:2", 50).await;
        scene.score(scorer, wallet(1)).await;
        scene.verify(wallet(2), "A", "n:1", 40).await;
        scene.verify(wallet(3), "B", "n:2", 40).await;
        assert_eq!(stamp(scene, scorer, 2, "A").await, claimed_until(50));
        assert_eq!(stamp(scene, scorer, 3, "B").await, claimed_until(50));
        assert!(scene.revoke(wallet(1), &credential).await.removed);
        assert_eq!(stamp(scene, scorer, 1, "A").await, Value::Null);
        assert_eq!(stamp(scene, scorer, 2, "A").await, counts("1.00000", 40));
        // It is still one account: it belongs to the first wallet that is scored.
        assert_eq!(stamp(scene, scorer, 3, "B").await, claimed_until(40));
    }

    async fn revocation_frees_what_a_deleted_stamp_left_behind(scene: &Scene) {
        let scorer = scorer(scene).await;
        let credential = scene.verify(wallet(1), "A", "n:1", 50).await;
        scene.score(scorer, wallet(1)).await;
        scene.verify(wallet(2), "A", "n:1", 40).await;
        scene.delete(wallet(1), "A").await;
        assert_eq!(stamp(scene, scorer, 2, "A").await, claimed_until(50));
        assert!(scene.revoke(wallet(1), &credential).await.new);
        assert_eq!(stamp(scene, scorer, 2, "A").await, counts("1.00000", 40));
    }

    async fn another_stamp_of_the_holder_keeps_a_claim_that_a_revoked_one_had(scene: &Scene) {
        let scorer = scorer(scene).await;
        let credential = scene.verify(wallet(1), "A", "n:1", 50).await;
        scene.verify(wallet(1), "B", "n:1", 30).await;
        scene.score(scorer, wallet(1)).await;
        scene.verify(wallet(2), "A", "n:1", 90).await;
        assert_eq!(stamp(scene, scorer, 2, "A").await, claimed_until(50));
        scene.revoke(wallet(1), &credential).await;
        assert_eq!(stamp(scene, scorer, 2, "A").await, claimed_until(30));
        assert_eq!(stamp(scene, scorer, 1, "B").await, counts("2.00000", 30));
    }

    async fn a_revoked_renewal_leaves_no_claim_however_long_the_one_before_would_have_lasted(scene: &Scene) {
        let scorer = scorer(scene).await;
        let renewed = [(1, 2, "n:1", 10), (3, 4, "n:2", 20), (5, 6, "n:3", 30)];
        for (holder, _, mark, _) in renewed {
            scene.verify(wallet(holder), "A", mark, 20).await;
            assert_eq!(stamp(scene, scorer, holder, "A").await, counts("1.00000", 20));
        }
        scene.on_day(2);
        for (holder, other, mark, until) in renewed {
            let renewal = scene.verify(wallet(holder), "A", mark, until).await;
            scene.verify(wallet(other), "A", mark, 40).await;
            assert_eq!(stamp(scene, scorer, other, "A").await["dedup"], true);
            scene.revoke(wallet(holder), &renewal).await;
            assert_eq!(stamp(scene, scorer, other, "A").await, counts("1.00000", 40), "until day {until}");
        }
    }

    async fn a_claim_of_a_deleted_stamp_outlives_the_revocation_of_another_with_its_nullifier(scene: &Scene) {
        let scorer = scorer(scene).await;
        scene.verify(wallet(1), "A", "n:1", 50).await;
        let other = scene.verify(wallet(1), "B", "n:1", 30).await;
        scene.score(scorer, wallet(1)).await;
        scene.verify(wallet(2), "A", "n:1", 90).await;
        assert_eq!(stamp(scene, scorer, 2, "A").await, claimed_until(50));
        scene.delete(wallet(1), "A").await;
        assert!(scene.revoke(wallet(1), &other).await.removed);
        assert_eq!(stamp(scene, scorer, 2, "A").await, claimed_until(50));
        scene.on_day(49);
        assert_eq!(stamp(scene, scorer, 2, "A").await, claimed_until(50));
        scene.on_day(50);
        assert_eq!(stamp(scene, scorer, 2, "A").await, counts("1.00000", 90));
    }

    async fn a_claim_of_a_deleted_stamp_ends_with_the_revocation_of_its_own_credential(scene: &Scene) {
        let scorer = scorer(scene).await;
        let deleted = scene.verify(wallet(1), "A", "n:1", 50).await;
        let other = scene.verify(wallet(1), "B", "n:1", 30).await;
        scene.score(scorer, wallet(1)).await;
        scene.verify(wallet(2), "A", "n:1", 90).await;
        scene.delete(wallet(1), "A").await;
        scene.revoke(wallet(1), &other).await;
        assert_eq!(stamp(scene, scorer, 2, "A").await, claimed_until(50));
        scene.revoke(wallet(1), &deleted).await;
        assert_eq!(stamp(scene, scorer, 2, "A").await, counts("1.00000", 90));
    }

    async fn a_revocation_ends_in_each_scorer_what_stands_on_the_revoked_name_there(scene: &Scene) {
        let (one, two) = (scorer(scene).await, scorer(scene).await);
        scene.verify(wallet(1), "A", "n:1", 50).await;
        let other = scene.verify(wallet(1), "B", "n:1", 30).await;
        scene.score(one, wallet(1)).await;
        scene.delete(wallet(1), "A").await;
        scene.score(two, wallet(1)).await;
        scene.verify(wallet(2), "A", "n:1", 90).await;
        assert_eq!(stamp(scene, one, 2, "A").await, claimed_until(50));
        assert_eq!(stamp(scene, two, 2, "A").await, claimed_until(30));
        scene.revoke(wallet(1), &other).await;
        assert_eq!(stamp(scene, one, 2, "A").await, claimed_until(50));
        assert_eq!(stamp(scene, two, 2, "A").await, counts("1.00000", 90));
    }

    async fn a_claim_that_a_revoked_renewal_leaves_goes_to_another_stamp_of_the_holder(scene: &Scene) {
        let scorer = scorer(scene).await;
        scene.verify(wallet(1), "A", "n:1", 50).await;
        scene.verify(wallet(1), "B", "n:1", 30).await;
        scene.score(scorer, wallet(1)).await;
        scene.on_day(2);
        let renewal = scene.verify(wallet(1), "A", "n:1", 20).await;
        scene.verify(wallet(2), "A", "n:1", 90).await;
        assert_eq!(stamp(scene, scorer, 2, "A").await, claimed_until(50));
        scene.revoke(wallet(1), &renewal).await;
        assert_eq!(stamp(scene, scorer, 2, "A").await, claimed_until(30));
    }

    async fn a_claim_from_before_names_were_kept_ends_with_any_revoked_stamp_of_its_holder(scene: &Scene) {
        let scorer = scorer(scene).await;
        scene.verify(wallet(1), "A", "n:1", 50).await;
        let other = scene.verify(wallet(1), "B", "n:1", 30).await;
        scene.score(scorer, wallet(1)).await;
        scene.verify(wallet(2), "A", "n:1", 90).await;
        scene.delete(wallet(1), "A").await;
        scene.sql("UPDATE claims SET provider = NULL").await;
        assert_eq!(stamp(scene, scorer, 2, "A").await, claimed_until(50));
        scene.revoke(wallet(1), &other).await;
        assert_eq!(stamp(scene, scorer, 2, "A").await, counts("1.00000", 90));
    }

    async fn a_revoked_credential_is_refused_and_a_new_one_of_the_issuer_is_not(scene: &Scene) {
        let scorer = scorer(scene).await;
        let credential = scene.verify(wallet(1), "A", "n:1", 50).await;
        scene.score(scorer, wallet(1)).await;
        scene.revoke(wallet(1), &credential).await;
        assert_eq!(scene.bring(wallet(1), &[credential]).await, ["revoked"]);
        assert_eq!(stamp(scene, scorer, 1, "A").await, Value::Null);
        scene.on_day(1);
        scene.verify(wallet(1), "A", "n:1", 60).await;
        assert_eq!(stamp(scene, scorer, 1, "A").await, counts("1.00000", 60));
    }

    async fn the_same_nullifier_in_two_stamps_of_one_wallet_is_no_clash(scene: &Scene) {
        let scorer = scorer(scene).await;
        scene.verify(wallet(1), "A", "n:1", 10).await;
        scene.verify(wallet(1), "B", "n:1", 30).await;
        scene.verify(wallet(1), "C", "n:1 n:2", 20).await;
        for (name, expected) in
            [("A", counts("1.00000", 10)), ("B", counts("2.00000", 30)), ("C", counts("4.00000", 20))]
        {
            assert_eq!(stamp(scene, scorer, 1, name).await, expected);
        }
        // The one that lives longest holds it.
        scene.verify(wallet(2), "A", "n:1", 90).await;
        assert_eq!(stamp(scene, scorer, 2, "A").await, claimed_until(30));
    }

    async fn a_clash_of_one_stamp_is_none_of_the_others(scene: &Scene) {
        let scorer = scorer(scene).await;
        scene.verify(wallet(1), "A", "n:1", 10).await;
        scene.score(scorer, wallet(1)).await;
        scene.verify(wallet(2), "A", "n:1", 20).await;
        scene.verify(wallet(2), "B", "n:2", 30).await;
        let record = scene.score(scorer, wallet(2)).await;
        assert_eq!(record["stamps"], json!({"A": claimed_until(10), "B": counts("2.00000", 30)}));
        assert_eq!(
            (&record["score"], &record["expiration_timestamp"]),
            (&json!("2.00000"), &json!(timestamp(day(30))))
        );
    }

    async fn a_credential_that_replaces_with_other_nullifiers_still_keeps_the_old_ones(scene: &Scene) {
        // Otherwise another wallet could take the account behind n:1 while its first credential is live.
        let scorer = scorer(scene).await;
        scene.verify(wallet(1), "A", "n:1", 20).await;
        scene.score(scorer, wallet(1)).await;
        scene.on_day(1);
        scene.verify(wallet(1), "A", "n:2", 30).await;
        scene.verify(wallet(2), "A", "n:1", 40).await;
        scene.verify(wallet(3), "A", "n:2", 40).await;
        assert_eq!(stamp(scene, scorer, 2, "A").await, claimed_until(20));
        assert_eq!(stamp(scene, scorer, 3, "A").await, claimed_until(30));
    }

    async fn workspaces_are_independent(scene: &Scene) {
        let scorer = scorer(scene).await;
        let (_, key, theirs) = scene.neighbor().await;
        scene.verify(wallet(1), "A", "n:1", 20).await;
        scene.score(scorer, wallet(1)).await;
        let answer = scene.get_as(&key, &score_path(theirs, wallet(1))).await;
        assert_eq!(answer.json()["stamps"], json!({}));
    }
}
