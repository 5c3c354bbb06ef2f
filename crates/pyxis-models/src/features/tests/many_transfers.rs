//! Features that need many transfers, worked out by hand.

use super::*;

/// An address beyond the first 256.
fn far(number: u16) -> EvmAddress {
    let mut bytes = [0xee; 20];
    bytes[..2].copy_from_slice(&number.to_be_bytes());
    EvmAddress(bytes)
}

/// `user` gets a counterparty for each number below `count`.
fn popular(mut story: Story, user: u8, count: u16) -> Story {
    for number in 0..count {
        let (from, to) = (story.0.node(address(user)), story.0.node(far(number)));
        let chain = Chain::Gnosis;
        story.0.add(Transfer { from, to, time: None, chain, kind: Kind::Native, round: None });
    }
    story
}

#[test]
fn calls_and_round_amounts_are_shares() {
    let mut story = Story::new();
    let [own, other] = [1, 2].map(|byte| story.0.node(address(byte)));
    for (kind, round) in [
        (Kind::Call, Some(true)),
        (Kind::Call, Some(false)),
        (Kind::Native, Some(false)),
        // A missing amount does not enter the share of round ones.
        (Kind::Call, None),
    ] {
        story.0.add(Transfer { from: own, to: other, time: None, chain: Chain::Ethereum, kind, round });
    }
    let found = story.look_at(1).unwrap();
    close(of_ethereum(&found, "contract_share"), 0.75);
    close(of_ethereum(&found, "round_share"), 1.0 / 3.0);
}

#[test]
fn senders_and_receivers_are_quiet_hubs_or_neither() {
    // 1 sends to the hub 8 and to 3, and receives from the hub 9, from 10 and from 11.
    let story = Story::new().sends(1, 8, 1).sends(1, 3, 1).sends(9, 1, 1).sends(10, 1, 1).sends(11, 1, 1);
    // Eight and nine deal with 1,000 each, one of them wallet 1; ten with five.
    let story = popular(popular(popular(story, 8, 999), 9, 999), 10, 4);
    let found = story.look_at(1).unwrap();
    let wanted = [
        ("out_hub_share", 0.5),
        ("out_quiet_share", 0.5),
        ("in_hub_share", 1.0 / 3.0),
        ("in_quiet_share", 1.0 / 3.0),
        ("in_popularity_max", 1001.0_f32.ln()),
        ("in_popularity_min", 2.0_f32.ln()),
        ("in_popularity_mean", (1001.0_f32.ln() + 6.0_f32.ln() + 2.0_f32.ln()) / 3.0),
    ];
    for (name, wanted) in wanted {
        close(of_ethereum(&found, name), wanted);
    }
}

#[test]
fn the_most_generous_small_funder_counts_and_large_ones_do_not() {
    // 7 funds three, 6 funds two, and 5 funds hundreds.
    let story = Story::new().sends(7, 1, 1).sends(7, 2, 1).sends(7, 3, 1).sends(6, 1, 1).sends(6, 4, 1);
    let found = popular(story.sends(5, 1, 1), 5, 301).look_at(1).unwrap();
    close(of_wallet(&found, "funder_fanout"), 3.0);
    close(of_wallet(&found, "sink_fanin"), 0.0);
}

#[test]
fn counterparties_are_shared_with_few_some_or_many_users() {
    // All send to 200, the first twenty to 201, and 1 and 2 to 202.
    let mut story = Story::new();
    for user in 1..=60 {
        story = story.sends(user, 200, 1).bridged(user, 1, 0.0);
        if user <= 20 {
            story = story.sends(user, 201, 1);
        }
    }
    let found = story.sends(1, 202, 1).sends(2, 202, 1).sends(1, 203, 1).look_at(1).unwrap();
    for (name, wanted) in [("shared_few", 1.0), ("shared_some", 1.0), ("shared_many", 1.0), ("twins", 59.0)] {
        close(of_wallet(&found, name), wanted);
    }
}
