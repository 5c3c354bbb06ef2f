//! Effect of weights: which Stamps pass, alone or together.

use pyxis_core::decimal::Decimal;
use pyxis_core::score::Weights;

use crate::text::{count_noun, plain};
use crate::view::scorers::Reach;

/// The sum of the weights, and the Stamps that reach the threshold alone or together.
pub(super) fn weight_reach(weights: &Weights, threshold: Decimal) -> Reach {
    let mut heaviest: Vec<_> = weights.iter().filter(|(_, weight)| **weight > Decimal::ZERO).collect();
    heaviest.sort_by(|a, b| b.1.cmp(a.1));
    let sum: Decimal = heaviest.iter().map(|(_, weight)| **weight).sum();
    let alone: Vec<_> = heaviest
        .iter()
        .take_while(|(_, weight)| **weight >= threshold)
        .map(|(stamp, weight)| (stamp.to_string(), plain(**weight)))
        .collect();
    let warning = if threshold == Decimal::ZERO {
        Some("Every address with a Stamp passes, because the threshold is 0.".to_owned())
    } else if sum < threshold {
        Some(format!("No address can pass: all weights together are {}.", plain(sum)))
    } else {
        None
    };
    let have = if heaviest.len() == 1 { "has" } else { "have" };
    Reach {
        sum: plain(sum),
        weighed: format!("{} {have} a weight", count_noun(heaviest.len() as u64, "Stamp")),
        threshold: plain(threshold),
        together: if alone.is_empty() { fewest(&heaviest, threshold) } else { None },
        alone,
        warning,
    }
}

/// The fewest Stamps that pass together are the heaviest ones.
fn fewest(heaviest: &[(&pyxis_core::stamp::StampName, &Decimal)], threshold: Decimal) -> Option<String> {
    let mut sum = Decimal::ZERO;
    let mut used: Vec<&str> = Vec::new();
    for (stamp, weight) in heaviest {
        sum = sum + **weight;
        used.push(stamp.as_str());
        if sum >= threshold {
            let example = used.join(" + ");
            return Some(format!(
                "At least {}, for example {example} = {}.",
                count_noun(used.len() as u64, "Stamp"),
                plain(sum)
            ));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weights(weights: &[(&str, &str)], threshold: &str) -> Reach {
        let weights = weights.iter().map(|(name, weight)| (name.parse().unwrap(), weight.parse().unwrap()));
        weight_reach(&weights.collect(), threshold.parse().unwrap())
    }

    #[test]
    fn stamps_that_are_enough_alone_are_named_and_exactly_enough_is_enough() {
        let reach = weights(&[("A", "20"), ("B", "19.99999"), ("C", "0")], "20");
        assert_eq!(reach.alone, [("A".to_owned(), "20".to_owned())]);
        assert_eq!((reach.sum.as_str(), reach.weighed.as_str()), ("39.99999", "2 Stamps have a weight"));
        assert_eq!((reach.together, reach.warning), (None, None));
    }

    #[test]
    fn the_fewest_that_are_enough_together_are_the_heaviest() {
        let reach = weights(&[("A", "19.9"), ("B", "0.05"), ("C", "0.1")], "20");
        assert_eq!(reach.together.as_deref(), Some("At least 2 Stamps, for example A + C = 20."));
    }

    #[test]
    fn terms_that_nobody_or_everybody_meets_are_warned_of() {
        assert!(
            weights(&[("A", "1")], "20").warning.is_some_and(|text| text.starts_with("No address can pass"))
        );
        assert!(weights(&[], "0").warning.is_some_and(|text| text.starts_with("Every address with a Stamp")));
        assert!(weights(&[], "20").together.is_none());
    }
}
