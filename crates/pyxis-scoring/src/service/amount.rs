//! Weights and thresholds as people and scripts write them.

use std::collections::btree_map::Entry;
use std::fmt;

use pyxis_core::decimal::Decimal;
use pyxis_core::score::Weights;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A decimal number, written as text or as a JSON number: only its digits count.
#[derive(Clone, Copy, Debug)]
pub struct Amount(pub Decimal);

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = match Value::deserialize(deserializer)? {
            Value::String(text) => text,
            // At most twelve digits: the shortest text of the number is what was sent.
            Value::Number(number) => number.to_string(),
            _ => return Err(de::Error::custom("expected a decimal number")),
        };
        text.parse().map(Self).map_err(de::Error::custom)
    }
}

/// Weights by Stamp name. Duplicate names are refused because the intended one is unknown.
#[derive(Debug)]
pub struct Amounts(Weights);

impl<'de> Deserialize<'de> for Amounts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ByName)
    }
}

struct ByName;

impl<'de> Visitor<'de> for ByName {
    type Value = Amounts;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("must be an object from Stamp names to decimal numbers")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Amounts, A::Error> {
        let mut weights = Weights::new();
        while let Some((name, Amount(weight))) = map.next_entry()? {
            match weights.entry(name) {
                Entry::Vacant(free) => free.insert(weight),
                Entry::Occupied(taken) => {
                    return Err(de::Error::custom(format_args!(
                        "the Stamp {} is listed twice; keep one",
                        taken.key()
                    )));
                }
            };
        }
        Ok(Amounts(weights))
    }
}

/// Weights in the scorers' representation.
pub fn weights(Amounts(weights): Amounts) -> Weights {
    weights
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_number_are_read_by_their_digits() {
        for (json, written) in [
            ("\"0.1\"", "0.10000"),
            ("0.1", "0.10000"),
            ("16.021", "16.02100"),
            ("20", "20.00000"),
            ("20.0", "20.00000"),
            ("9999999.99999", "9999999.99999"),
        ] {
            assert_eq!(serde_json::from_str::<Amount>(json).ok().unwrap().0.to_string(), written, "{json}");
        }
        for json in ["-1", "1e9", "0.000001", "\"\"", "\"1,5\"", "true", "null", "[1]", "10000000"] {
            assert!(serde_json::from_str::<Amount>(json).is_err(), "{json}");
        }
    }

    #[test]
    fn a_name_that_stands_twice_is_refused_and_said() {
        let read = |json| serde_json::from_str::<Amounts>(json).map(weights);
        assert_eq!(read(r#"{"A": 1, "B": "2.5"}"#).unwrap().len(), 2);
        let refused = read(r#"{"A": 1, "B": 2, "\u0041": 1}"#).unwrap_err().to_string();
        assert!(refused.starts_with("the Stamp A is listed twice; keep one"), "{refused}");
    }
}
