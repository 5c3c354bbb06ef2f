//! Wallets that arrived together, worked out by hand.

use super::*;

/// 1 sends to 2 twice, and to 9 on two chains; 3 sends to 1; 2 sends to 9 as well. 4 is a stranger.
fn peer_story() -> Story {
    Story::new().sends(1, 2, 1).sends(1, 2, 2).sends(3, 1, 3).sends(1, 9, 4).sends(2, 9, 5).on(
        Chain::Polygon,
        Kind::Erc20,
        1,
        9,
    )
}

fn checked(found: &Features, wanted: &[(&str, f32)]) {
    for (name, wanted) in wanted {
        let found = of_wallet(found, name);
        assert!((found - wanted).abs() < 1e-4, "{name} is {found}, not {wanted}");
    }
}

#[test]
fn who_bridged_at_the_same_time_and_alike_is_counted() {
    let story = peer_story().bridged(1, 10, 100.0).bridged(2, 10, 100.0).bridged(3, 20, 100.1);
    let found = story.bridged(4, 12, 5_000.0).look_at(1).unwrap();
    let wanted = [
        ("cohort_ten_minutes", 1.0),
        ("cohort_hour", 1.0),
        ("cohort_alike", 1.0),
        // 2, and 3 ten days later.
        ("volume_copies", 2.0),
        ("cohort_nearest", 0.0),
    ];
    checked(&found, &wanted);
}

#[test]
fn twins_share_a_rare_counterparty() {
    let story = peer_story().bridged(1, 10, 100.0).bridged(2, 11, 1_000.0).bridged(3, 20, 100.0);
    let found = story.look_at(1).unwrap();
    let wanted = [
        // Only 9 is rare for 1; for 2 it is 9, and 1, with whom 2 and 3 deal: one of two.
        ("twin_five", 0.5 / 5.0),
        ("twin_second", 0.0),
        ("twin_best_hours", 24.0),
        ("twin_near_hours", 24.0),
        ("twin_best_volume", 1_001.0_f32.ln() - 101.0_f32.ln()),
        // 2 deals with 1 and 9, 1 with 2, 3 and 9.
        ("twin_best_parties", 1.0),
        ("twins_same_hour", 0.0),
        ("twins_same_day", 0.0),
    ];
    checked(&found, &wanted);
}

#[test]
fn transfers_with_other_users_and_their_group_are_told() {
    let story = peer_story().bridged(1, 10, 100.0).bridged(2, 10, 100.0).bridged(3, 20, 1_000.0);
    let found = story.bridged(4, 12, 5_000.0).look_at(1).unwrap();
    let spread = 1_001.0_f32.ln() - 101.0_f32.ln();
    let wanted = [
        ("peers_in", 1.0),
        ("peers_out", 1.0),
        ("peer_transfers", 3.0),
        ("peer_share", 0.6),
        // 2 is similar by one half, 3 not at all.
        ("peer_likeness", 0.25),
        ("peer_volume_spread", spread),
        ("peer_parties", 1.0),
        // Of zero hours and ten days, the latter; two links of three users; from the least to the most.
        ("group_gap_hours", 240.0),
        ("group_links", 2.0 / 3.0),
        ("group_volume_spread", spread),
        ("many_chains_share", 1.0 / 3.0),
    ];
    checked(&found, &wanted);
}

#[test]
fn what_nobody_knows_of_company_is_unknown() {
    let alone = Story::new().sends(1, 8, 1).sends(1, 8, 2).sends(7, 1, 3).look_at(1).unwrap();
    for name in ["cohort_hour", "volume_copies", "twin_best_hours", "peer_likeness", "group_gap_hours"] {
        assert!(of_wallet(&alone, name).is_nan(), "{name}");
    }
    checked(&alone, &[("peers_in", 0.0), ("twin_five", 0.0), ("peer_share", 0.0)]);
}
