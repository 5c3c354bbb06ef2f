//! Indexer data combined with imported activity.

use super::*;

/// A transfer at an hour with a counterparty whose popularity is its number.
fn event(chain: Chain, kind: Kind, party: Node, outgoing: bool, hour: u32) -> ScopedTransfer {
    let time = NonZeroU32::new(hour * 3600);
    ScopedTransfer { chain, kind, party: Some(party), outgoing, time, round: Some(party.is_multiple_of(2)) }
}

fn popularity(party: Node) -> f32 {
    crate::cast::to_float(party)
}

fn of_all(events: &[ScopedTransfer]) -> Features {
    Features::of_alone(events, &popularity, Some(100 * 3600)).unwrap()
}

fn on_base(chain: Chain) -> bool {
    chain == Chain::Base
}

#[test]
fn parts_without_anything_in_common_are_put_together_as_if_they_were_measured_at_once() {
    let base = [
        event(Chain::Base, Kind::Call, 2, true, 30),
        event(Chain::Base, Kind::Native, 9, false, 2),
        event(Chain::Base, Kind::Native, 9, false, 60),
    ];
    let polygon = [
        event(Chain::Polygon, Kind::Erc20, 4, true, 80),
        event(Chain::Polygon, Kind::Nft, 5, true, 90),
        event(Chain::Polygon, Kind::Nft, 7, false, 91),
    ];
    let local = of_all(&polygon);
    let found = local.with_imported_context(&base, &popularity, Some(100 * 3600), &on_base).unwrap();
    let whole = of_all(&[base, polygon].concat());
    assert_eq!(found.scopes, whole.scopes);
    for place in 0..SCOPE {
        // The median gap and its variation cannot be derived from those of the parts.
        if matches!(scope::NAMES[place].0, "gap_median_hours" | "gap_variation") {
            continue;
        }
        let (found, wanted) = (found.wallet[place], whole.wallet[place]);
        assert!((found - wanted).abs() < 1e-4, "{}: {found} is not {wanted}", feature_name(place));
    }
    close(of_wallet(&found, "chains"), 2.0);
}

#[test]
fn imported_tokens_of_a_chain_that_was_asked_do_not_count_twice() {
    let nft = |chain, party| event(chain, Kind::Nft, party, true, 1);
    let local = of_all(&[nft(Chain::Base, 1), nft(Chain::Base, 2)]);
    let asked = [nft(Chain::Base, 1), nft(Chain::Base, 2), nft(Chain::Base, 3)];
    let found = local.with_imported_context(&asked, &popularity, None, &on_base).unwrap();
    close(found.scope_input(ChainScope::Nft).unwrap()[WALLET], 3.0);
    // The queried chain has none: then there are none.
    let moved = [event(Chain::Base, Kind::Native, 1, true, 1), event(Chain::Base, Kind::Native, 1, true, 2)];
    let found = local.with_imported_context(&moved, &popularity, None, &on_base).unwrap();
    assert!(found.scope_input(ChainScope::Nft).is_none());
    // If both overlap, the one that saw more wins.
    let mixed =
        of_all(&[nft(Chain::Base, 1), nft(Chain::Base, 2), nft(Chain::Zksync, 3), nft(Chain::Zksync, 4)]);
    let found = mixed.with_imported_context(&asked, &popularity, None, &on_base).unwrap();
    close(found.scope_input(ChainScope::Nft).unwrap()[WALLET], 4.0);
}

#[test]
fn nothing_on_the_chains_that_were_asked_leaves_what_was_imported() {
    let local = of_all(&[
        event(Chain::Polygon, Kind::Nft, 4, true, 80),
        event(Chain::Polygon, Kind::Nft, 5, true, 90),
    ]);
    let found = local.with_imported_context(&[], &popularity, None, &on_base).unwrap();
    assert_eq!(found.to_bytes(), local.to_bytes());
    let gone = of_all(&[
        event(Chain::Base, Kind::Native, 4, true, 80),
        event(Chain::Base, Kind::Native, 5, true, 90),
    ]);
    assert_eq!(gone.with_imported_context(&[], &popularity, None, &on_base), None);
}

#[test]
fn whoever_never_sent_anything_has_no_features() {
    let got = [event(Chain::Base, Kind::Erc20, 1, false, 1), event(Chain::Base, Kind::Erc20, 2, false, 2)];
    assert_eq!(Features::of_alone(&got, &popularity, None), None);
}
