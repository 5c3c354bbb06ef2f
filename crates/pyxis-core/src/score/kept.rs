//! Weights that holders keep until their Stamp expires, after a change that lowered them.

use std::borrow::Cow;

use super::{Stamp, Weights};
use crate::clock::UnixMillis;
use crate::decimal::Decimal;
use crate::stamp::StampName;

/// An earlier weight of a Stamp, for credentials from before a change.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct KeptWeight {
    pub provider: StampName,
    /// The weight that such a credential keeps.
    pub weight: Decimal,
    /// Moment of the change: only credentials issued before it keep the weight.
    pub issued_before: UnixMillis,
}

/// The weights for one address: the scorer's, or a higher one that a Stamp keeps.
#[must_use]
pub fn weights_for<'w>(weights: &'w Weights, kept: &[KeptWeight], stamps: &[Stamp]) -> Cow<'w, Weights> {
    let mut found = Cow::Borrowed(weights);
    for stamp in stamps {
        let current = weights.get(&stamp.provider).copied().unwrap_or_default();
        let applies =
            |one: &&KeptWeight| one.provider == stamp.provider && stamp.issued_at < one.issued_before;
        let highest = kept.iter().filter(applies).map(|one| one.weight).max();
        if let Some(weight) = highest.filter(|weight| *weight > current) {
            found.to_mut().insert(stamp.provider.clone(), weight);
        }
    }
    found
}

/// The kept weights after a change of all weights. With `keeps_from`, a lowered weight is kept by credentials issued
/// before this moment. Without it, a lowered weight is kept by none.
#[must_use]
pub fn kept_after(
    kept: &[KeptWeight],
    before: &Weights,
    after: &Weights,
    keeps_from: Option<UnixMillis>,
) -> Vec<KeptWeight> {
    let weight = |weights: &Weights, name: &StampName| weights.get(name).copied().unwrap_or_default();
    let is_lowered = |name: &StampName| weight(after, name) < weight(before, name);
    let stays = |one: &&KeptWeight| {
        one.weight > weight(after, &one.provider) && (keeps_from.is_some() || !is_lowered(&one.provider))
    };
    let mut all: Vec<KeptWeight> = kept.iter().filter(stays).cloned().collect();
    let Some(issued_before) = keeps_from else { return all };
    let lowered = before.iter().filter(|(name, _)| is_lowered(name));
    all.extend(lowered.map(|(name, weight)| KeptWeight {
        provider: name.clone(),
        weight: *weight,
        issued_before,
    }));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weights(all: &[(&str, &str)]) -> Weights {
        all.iter().map(|(name, weight)| (name.parse().unwrap(), weight.parse().unwrap())).collect()
    }

    fn stamp(name: &str, issued_at: i64) -> Stamp {
        Stamp {
            provider: name.parse().unwrap(),
            digest: [0; 32],
            issued_at: UnixMillis(issued_at),
            expires_at: UnixMillis(i64::MAX),
            nullifiers: Vec::new(),
        }
    }

    fn kept_weight(name: &str, weight: &str, before: i64) -> KeptWeight {
        let (provider, weight) = (name.parse().unwrap(), weight.parse().unwrap());
        KeptWeight { provider, weight, issued_before: UnixMillis(before) }
    }

    #[test]
    fn a_credential_from_before_a_change_keeps_the_highest_weight_that_it_had() {
        let (now, all) = (
            weights(&[("A", "1")]),
            [kept_weight("A", "2", 10), kept_weight("A", "3", 5), kept_weight("B", "4", 5)],
        );
        let of = |stamps: &[Stamp]| weights_for(&now, &all, stamps).into_owned();
        assert_eq!(of(&[stamp("A", 4)]), weights(&[("A", "3")]));
        assert_eq!(of(&[stamp("A", 9), stamp("B", 4)]), weights(&[("A", "2"), ("B", "4")]));
        assert_eq!(of(&[stamp("A", 10), stamp("B", 5)]), now);
    }

    #[test]
    fn a_change_keeps_what_it_lowers_if_it_says_so_and_ends_what_was_kept_if_not() {
        let (before, after) = (weights(&[("A", "2"), ("B", "1")]), weights(&[("A", "1"), ("C", "1")]));
        let at = Some(UnixMillis(7));
        let expected = vec![kept_weight("A", "2", 7), kept_weight("B", "1", 7)];
        assert_eq!(kept_after(&[], &before, &after, at), expected);
        assert_eq!(kept_after(&[], &before, &after, None), []);
        // Lowered again.
        let lower = weights(&[("A", "0.5"), ("C", "1")]);
        let again = kept_after(&expected, &after, &lower, Some(UnixMillis(9)));
        assert_eq!(again, [kept_weight("A", "2", 7), kept_weight("B", "1", 7), kept_weight("A", "1", 9)]);
        assert_eq!(kept_after(&expected, &after, &lower, None), [kept_weight("B", "1", 7)]);
        // Raised above what was kept, or not touched.
        assert_eq!(kept_after(&expected, &after, &weights(&[("A", "2")]), None), [kept_weight("B", "1", 7)]);
        assert_eq!(kept_after(&expected, &after, &after, None), expected);
    }
}
