//! Deduplication: the first holder keeps the claim.

use super::*;

/// One day of wallet 1.
struct Day {
    what: &'static str,
    now: i64,
    stamps: Vec<Stamp>,
    claims: Vec<Claim>,
    /// Names of its deduplicated Stamps with the displayed day of expiry.
    dedup: Vec<(&'static str, i64)>,
    /// Nullifiers it claims or extends, with the last day.
    claimed: Vec<(&'static str, i64)>,
    /// The day on which time alone changes something.
    until: i64,
}

#[expect(clippy::too_many_lines, reason = "a table")]
fn days() -> Vec<Day> {
    vec![
        Day {
            what: "the first holder claims every nullifier",
            now: 1,
            stamps: vec![stamp("A", 9, "a1 a2")],
            claims: vec![],
            dedup: vec![],
            claimed: vec![("a1", 9), ("a2", 9)],
            until: 9,
        },
        Day {
            what: "a later one is deduplicated, and shown the holder's expiry",
            now: 1,
            stamps: vec![stamp("A", 9, "a")],
            claims: vec![claim("a", 2, 5)],
            dedup: vec![("A", 5)],
            claimed: vec![],
            until: 5,
        },
        Day {
            what: "its own expiry comes first if the holder's is later",
            now: 1,
            stamps: vec![stamp("A", 4, "a")],
            claims: vec![claim("a", 2, 7)],
            dedup: vec![("A", 7)],
            claimed: vec![],
            until: 4,
        },
        Day {
            what: "a claim that has ended is taken, at the very moment it ends",
            now: 5,
            stamps: vec![stamp("A", 9, "a")],
            claims: vec![claim("a", 2, 5)],
            dedup: vec![],
            claimed: vec![("a", 9)],
            until: 9,
        },
        Day {
            what: "renewal extends the claim",
            now: 4,
            stamps: vec![stamp("A", 20, "a")],
            claims: vec![claim("a", 1, 9)],
            dedup: vec![],
            claimed: vec![("a", 20)],
            until: 20,
        },
        Day {
            what: "a claim that is already right is not written again",
            now: 4,
            stamps: vec![stamp("A", 9, "a")],
            claims: vec![claim("a", 1, 9)],
            dedup: vec![],
            claimed: vec![],
            until: 9,
        },
        Day {
            what: "a claim does not become shorter with a shorter credential",
            now: 4,
            stamps: vec![stamp("A", 6, "a")],
            claims: vec![claim("a", 1, 9)],
            dedup: vec![],
            claimed: vec![],
            until: 6,
        },
        Day {
            what: "one clash deduplicates the whole Stamp, which then claims nothing",
            now: 1,
            stamps: vec![stamp("A", 9, "a1 a2")],
            claims: vec![claim("a2", 2, 5)],
            dedup: vec![("A", 5)],
            claimed: vec![],
            until: 5,
        },
        Day {
            what: "of several clashes the one that lasts longest is shown",
            now: 1,
            stamps: vec![stamp("A", 9, "a1 a2")],
            claims: vec![claim("a1", 2, 5), claim("a2", 3, 7)],
            dedup: vec![("A", 7)],
            claimed: vec![],
            until: 7,
        },
        Day {
            what: "missing nullifiers of a Stamp whose others are owned are filled in",
            now: 1,
            stamps: vec![stamp("A", 9, "a1 a2")],
            claims: vec![claim("a1", 1, 9)],
            dedup: vec![],
            claimed: vec![("a2", 9)],
            until: 9,
        },
        Day {
            what: "a clash does not take away what the address owns of the same Stamp",
            now: 1,
            stamps: vec![stamp("A", 9, "a1 a2")],
            claims: vec![claim("a1", 1, 6), claim("a2", 2, 5)],
            dedup: vec![("A", 5)],
            claimed: vec![],
            until: 5,
        },
        Day {
            what: "the same nullifier in two Stamps of one wallet is no clash",
            now: 1,
            stamps: vec![stamp("A", 9, "n"), stamp("B", 12, "n")],
            claims: vec![],
            dedup: vec![],
            claimed: vec![("n", 12)],
            until: 9,
        },
        Day {
            what: "a deduplicated Stamp does not keep its nullifier from another Stamp of the wallet",
            now: 1,
            stamps: vec![stamp("A", 9, "n lost"), stamp("B", 12, "n")],
            claims: vec![claim("lost", 2, 30)],
            dedup: vec![("A", 30)],
            claimed: vec![("n", 12)],
            until: 9,
        },
        Day {
            what: "an expired Stamp neither counts nor claims",
            now: 9,
            stamps: vec![stamp("A", 9, "a"), stamp("B", 12, "b")],
            claims: vec![claim("a", 1, 9)],
            dedup: vec![],
            claimed: vec![("b", 12)],
            until: 12,
        },
    ]
}

#[test]
fn the_first_holder_keeps() {
    for Day { what, now, stamps, claims, dedup, claimed: wanted, until } in days() {
        let found = compute_score(now, &stamps, &claims);
        let deduplicated: Vec<_> =
            summarize(&found).into_iter().filter(|e| e.2).map(|(name, _, _, until)| (name, until)).collect();
        assert_eq!(deduplicated, dedup, "{what}: deduplicated");
        assert_eq!(claimed(&found), wanted, "{what}: claims");
        assert_eq!(found.valid_until, day(until), "{what}: valid until");
        assert!(found.claims.iter().all(|claim| claim.address == wallet(1)), "{what}");
        let zero = found.stamps.iter().filter(|entry| entry.dedup).all(|entry| entry.score == Decimal::ZERO);
        assert!(zero, "{what}: a deduplicated Stamp contributes nothing");
    }
}

#[test]
fn the_longest_lived_stamp_of_the_wallet_stands_behind_the_claim() {
    let stamps = [stamp("A", 9, "n"), stamp("B", 12, "n")];
    for order in [[0, 1], [1, 0]] {
        let stamps = order.map(|index: usize| stamps[index].clone());
        let claim = &compute_score(1, &stamps, &[]).claims[0];
        assert_eq!((&claim.provider, claim.digest), (&Some(name("B")), stamp("B", 12, "n").digest));
    }
}
