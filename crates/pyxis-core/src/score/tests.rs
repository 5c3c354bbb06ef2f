//! The rules of scoring and deduplication, as a table of days in the life of a few wallets.

mod deduplication;
mod properties;
mod records;

use super::*;

fn wallet(number: u8) -> EvmAddress {
    EvmAddress([number; 20])
}

fn day(day: i64) -> UnixMillis {
    UnixMillis(day * 86_400_000)
}

fn name(text: &str) -> StampName {
    text.parse().unwrap()
}

fn decimal(text: &str) -> Decimal {
    text.parse().unwrap()
}

/// A Stamp that is valid from day 0 until `until`, with nullifiers separated by spaces.
fn stamp(provider: &str, until: i64, nullifiers: &str) -> Stamp {
    let mut digest = [0; 32];
    let identity = format!("{provider}{until}");
    digest[..identity.len()].copy_from_slice(identity.as_bytes());
    Stamp {
        provider: name(provider),
        digest,
        issued_at: day(0),
        expires_at: day(until),
        nullifiers: nullifiers.split(' ').map(|text| text.parse().unwrap()).collect(),
    }
}

fn claim(nullifier: &str, holder: u8, until: i64) -> Claim {
    Claim {
        nullifier: nullifier.parse().unwrap(),
        address: wallet(holder),
        provider: Some(name("A")),
        digest: [holder; 32],
        claimed_at: Some(day(0)),
        expires_at: day(until),
    }
}

fn weights() -> Weights {
    [("A", "1.5"), ("B", "2"), ("C", "19.9"), ("D", "0.1"), ("Z", "0")]
        .map(|(provider, weight)| (name(provider), decimal(weight)))
        .into()
}

/// The score of wallet 1 on day `now` with threshold 20.
fn compute_score(now: i64, stamps: &[Stamp], claims: &[Claim]) -> ScoreResult {
    compute(&Input {
        address: wallet(1),
        stamps,
        claims,
        weights: &weights(),
        threshold: decimal("20"),
        now: day(now),
    })
}

/// Name, score, dedup and day of expiry of each Stamp.
fn summarize(settled: &ScoreResult) -> Vec<(&str, String, bool, i64)> {
    let entries = settled.stamps.iter();
    entries
        .map(|e| (e.provider.as_str(), e.score.to_string(), e.dedup, e.expires_at.0 / 86_400_000))
        .collect()
}

/// Nullifier and last day of each claim to write.
fn claimed(settled: &ScoreResult) -> Vec<(&str, i64)> {
    settled.claims.iter().map(|c| (c.nullifier.as_str(), c.expires_at.0 / 86_400_000)).collect()
}

#[test]
fn an_address_without_stamps_scores_zero_and_never_passes() {
    let empty = compute_score(1, &[], &[]);
    assert_eq!((empty.score, empty.passing, empty.expires_at), (Decimal::ZERO, false, None));
    assert_eq!(empty.valid_until, UnixMillis(i64::MAX));
    let (stamps, weights) = ([], weights());
    let free = Input {
        address: wallet(1),
        stamps: &stamps,
        claims: &[],
        weights: &weights,
        threshold: Decimal::ZERO,
        now: day(1),
    };
    assert!(!compute(&free).passing);
}

#[test]
fn a_score_equal_to_the_threshold_passes() {
    let stamps = [stamp("C", 9, "c"), stamp("D", 9, "d")];
    let both = compute_score(1, &stamps, &[]);
    assert_eq!((both.score.to_string().as_str(), both.passing), ("20.00000", true));
    assert!(!compute_score(1, &stamps[..1], &[]).passing);
}

#[test]
fn a_stamp_without_weight_is_listed_and_does_not_move_the_expiry() {
    let stamps = [stamp("A", 9, "a"), stamp("Z", 3, "z"), stamp("Unknown", 2, "u")];
    let found = compute_score(1, &stamps, &[]);
    assert_eq!(found.expires_at, Some(day(9)));
    assert_eq!(found.valid_until, day(2));
    let listed = [("A", "1.50000", 9), ("Unknown", "0.00000", 2), ("Z", "0.00000", 3)]
        .map(|(n, s, d)| (n, s.to_owned(), false, d));
    assert_eq!(summarize(&found), listed);
    assert_eq!(compute_score(1, &stamps[1..], &[]).expires_at, None);
}

#[test]
fn a_stamp_counts_from_its_issuance_until_just_before_its_expiry() {
    let stamps = [Stamp { issued_at: day(2), ..stamp("A", 4, "a") }];
    let before = compute_score(1, &stamps, &[]);
    assert!(before.stamps.is_empty() && before.claims.is_empty());
    assert_eq!(before.valid_until, day(2));
    for (now, live) in [(2, true), (3, true), (4, false), (5, false)] {
        assert_eq!(compute_score(now, &stamps, &[]).stamps.len() == 1, live, "day {now}");
    }
    assert_eq!(compute_score(4, &stamps, &[]).valid_until, UnixMillis(i64::MAX));
}
