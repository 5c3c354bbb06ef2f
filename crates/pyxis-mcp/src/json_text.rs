//! JSON that is passed on as it was written, without a tree of its values.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The object or array in a text, as it stands there. `None` for everything that would not become a tree either: other
/// values, text that is no JSON, depths and numbers beyond what parsers accept.
pub(crate) fn container(text: &str) -> Option<&RawValue> {
    if !matches!(text.trim_ascii_start().as_bytes().first(), Some(b'{' | b'[')) {
        return None;
    }
    // A raw value alone takes any depth, any number, and halves of surrogate pairs.
    serde_json::from_str::<IgnoredValue>(text).ok()?;
    serde_json::from_str(text).ok()
}

/// A value that was read and forgotten.
struct IgnoredValue;

impl<'de> Deserialize<'de> for IgnoredValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for IgnoredValue {
    type Value = Self;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self, A::Error> {
        while items.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self, A::Error> {
        while members.next_entry::<Self, Self>()?.is_some() {}
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn what_becomes_a_tree_is_passed_on_as_written_and_nothing_else_is() {
        let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        let texts = [
            "{}",
            " \n[1, 2.50, -3e2, 12345678901234567890123, null, true]\n",
            "{\"b\": 1, \"a\": {\"a\": \"\\ud83d\\ude42 \\n\"}, \"b\": 2}",
            "{\"\\u0061\": []}",
            "{\"a\": 1} x",
            "{\"a\": 1",
            "[1e999]",
            "[\"\\ud83d\"]",
            "{\"\\ude42\": 1}",
            "{1: 2}",
            "[01]",
            "[\"\n\"]",
            "[,]",
            "\u{feff}[]",
            "",
            &deep(127),
            &deep(128),
            &deep(100_000),
        ];
        for text in texts {
            let tree = serde_json::from_str::<Value>(text).ok();
            let passed = container(text).map(RawValue::get);
            assert_eq!(passed, tree.as_ref().map(|_| text.trim_ascii()), "{text:.60}");
            let read_again = passed.map(|passed| serde_json::from_str::<Value>(passed).unwrap());
            assert_eq!(read_again, tree);
        }
        for other in ["1", "\"text\"", "null", "true"] {
            assert!(container(other).is_none(), "{other}");
        }
    }
}
