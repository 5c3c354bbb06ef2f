//! Weights and thresholds as people and scripts write them.

use std::collections::BTreeMap;

use pyxis_core::decimal::Decimal;
use pyxis_core::score::Weights;
use pyxis_core::stamp::StampName;
use serde::{Deserialize, Deserializer, de};
use serde_json::Value;

/// A decimal number, written as text or as a JSON number: what counts is its digits.
#[derive(Clone, Copy, Debug)]
pub struct Amount(pub Decimal);

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = match Value::deserialize(deserializer)? {
            Value::String(text) => text,
            // Twelve digits at most: the shortest text of the number is what was sent.
            Value::Number(number) => number.to_string(),
            _ => return Err(de::Error::custom("expected a decimal number")),
        };
        text.parse().map(Self).map_err(de::Error::custom)
    }
}

/// Weights by the name of the Stamp.
pub type Amounts = BTreeMap<StampName, Amount>;

/// As scorers keep them.
pub fn weights(amounts: Amounts) -> Weights {
    amounts.into_iter().map(|(name, Amount(weight))| (name, weight)).collect()
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
}
