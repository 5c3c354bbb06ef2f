//! Properties of any wallet.

use proptest::prelude::*;

use super::*;

/// Stamps with distinct names, among few nullifiers so that they collide.
fn stamps() -> impl Strategy<Value = Vec<Stamp>> {
    let one = (0_i64..6, 1_i64..12, prop::collection::btree_set(0_u8..8, 1..4));
    prop::collection::vec(one, 0..6).prop_map(|all| {
        let names = ["A", "B", "C", "D", "Z", "Unknown"];
        let pairs = names.into_iter().zip(all);
        pairs
            .map(|(provider, (issued, until, nullifiers))| {
                let nullifiers: Vec<_> = nullifiers.iter().map(|number| format!("n{number}")).collect();
                Stamp { issued_at: day(issued), ..stamp(provider, until, &nullifiers.join(" ")) }
            })
            .collect()
    })
}

fn claims() -> impl Strategy<Value = Vec<Claim>> {
    prop::collection::btree_map(0_u8..8, (1_u8..4, 1_i64..12), 0..8).prop_map(|all| {
        all.into_iter().map(|(n, (holder, until))| claim(&format!("n{n}"), holder, until)).collect()
    })
}

proptest! {
    #[test]
    fn the_score_is_the_sum_of_what_the_stamps_contribute(
        stamps in stamps(), claims in claims(), now in 0_i64..12,
    ) {
        let found = compute_score(now, &stamps, &claims);
        prop_assert_eq!(found.score, found.stamps.iter().map(|entry| entry.score).sum());
        prop_assert_eq!(found.passing, found.score >= decimal("20"));
    }

    #[test]
    fn another_stamp_never_lowers_the_score(stamps in stamps(), claims in claims(), now in 0_i64..12) {
        let mut before = Decimal::ZERO;
        for count in 0..=stamps.len() {
            let score = compute_score(now, &stamps[..count], &claims).score;
            prop_assert!(score >= before);
            before = score;
        }
    }

    #[test]
    fn the_order_of_stamps_and_claims_never_matters(
        (stamps, shuffled) in stamps().prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle())),
        (claims, mixed) in claims().prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle())),
        now in 0_i64..12,
    ) {
        prop_assert_eq!(compute_score(now, &stamps, &claims), compute_score(now, &shuffled, &mixed));
    }

    #[test]
    fn nothing_changes_before_valid_until(stamps in stamps(), claims in claims(), now in 0_i64..12) {
        let found = compute_score(now, &stamps, &claims);
        let later = (now + 1..14).take_while(|later| day(*later) < found.valid_until);
        for later in later {
            let then = compute_score(later, &stamps, &claims);
            prop_assert_eq!((then.score, &then.stamps), (found.score, &found.stamps));
        }
    }

    #[test]
    fn no_nullifier_that_another_address_holds_is_claimed(
        stamps in stamps(), claims in claims(), now in 0_i64..12,
    ) {
        for new in compute_score(now, &stamps, &claims).claims {
            let held = claims.iter().find(|claim| claim.nullifier == new.nullifier);
            prop_assert!(held.is_none_or(|held| held.address == wallet(1) || held.expires_at <= day(now)));
            prop_assert!(new.expires_at > day(now));
        }
    }

    #[test]
    fn settling_again_after_writing_the_claims_changes_nothing(
        stamps in stamps(), claims in claims(), now in 0_i64..12,
    ) {
        let first = compute_score(now, &stamps, &claims);
        let mut written: Vec<Claim> = claims
            .into_iter()
            .filter(|old| first.claims.iter().all(|new| new.nullifier != old.nullifier))
            .collect();
        written.extend(first.claims.iter().cloned());
        let again = compute_score(now, &stamps, &written);
        prop_assert_eq!(again.claims.len(), 0);
        prop_assert_eq!((again.score, again.stamps), (first.score, first.stamps));
    }

    #[test]
    fn what_is_stored_reads_back_as_the_answer(
        score in any::<i64>(), threshold in any::<i64>(), computed_at in any::<i64>(),
        expires_at in proptest::option::of(any::<i64>()), passing in any::<bool>(),
        entries in prop::collection::vec(("[!-~]{1,100}", any::<i64>(), any::<bool>(), any::<i64>()), 0..20),
        error in proptest::option::of(any::<String>()),
    ) {
        let stamps = entries.into_iter().map(|(provider, score, dedup, expires_at)| StampEntry {
            provider: name(&provider),
            score: Decimal::from_units(score),
            dedup,
            expires_at: UnixMillis(expires_at),
        });
        let settled = ScoreResult {
            score: Decimal::from_units(score),
            passing,
            expires_at: expires_at.map(UnixMillis),
            stamps: stamps.collect(),
            ..compute_score(1, &[], &[])
        };
        let record = ScoreRecord {
            address: wallet(7),
            threshold: Decimal::from_units(threshold),
            computed_at: UnixMillis(computed_at),
            settled: &settled,
            error: error.as_deref(),
        };
        let json = stored_to_json(record.address, record.to_stored()).unwrap();
        prop_assert_eq!(&json, &record.to_json());
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        prop_assert_eq!(value["error"].as_str(), error.as_deref());
    }
}
