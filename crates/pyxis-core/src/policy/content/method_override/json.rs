//! Methods that a JSON body names.

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::{NamedMethod, mentions, of_parameter};

/// Members at the top of a JSON document of any size. `is_declared`: the request says that it is JSON.
pub(super) fn find_overrides(body: &[u8], is_declared: bool) -> Vec<NamedMethod> {
    match serde_json::from_slice::<TopMembers>(body) {
        Ok(TopMembers(found)) => found,
        // A lenient reader may find what is not found here.
        Err(_) if is_declared && (mentions(body) || body.windows(2).any(|pair| pair == b"\\u")) => {
            vec![NamedMethod { parameter: "_method in the malformed body".to_owned(), method: None }]
        }
        Err(_) => Vec::new(),
    }
}

struct TopMembers(Vec<NamedMethod>);

impl<'de> Deserialize<'de> for TopMembers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TopVisitor)
    }
}

struct TopVisitor;

impl<'de> Visitor<'de> for TopVisitor {
    type Value = TopMembers;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<TopMembers, A::Error> {
        let mut found = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            if mentions(name.as_bytes()) {
                let value: Value = map.next_value()?;
                found.extend(of_parameter(name, value.as_str()));
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(TopMembers(found))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<TopMembers, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(TopMembers(Vec::new()))
    }

    fn visit_bool<E>(self, _: bool) -> Result<TopMembers, E> {
        Ok(TopMembers(Vec::new()))
    }

    fn visit_i64<E>(self, _: i64) -> Result<TopMembers, E> {
        Ok(TopMembers(Vec::new()))
    }

    fn visit_u64<E>(self, _: u64) -> Result<TopMembers, E> {
        Ok(TopMembers(Vec::new()))
    }

    fn visit_f64<E>(self, _: f64) -> Result<TopMembers, E> {
        Ok(TopMembers(Vec::new()))
    }

    fn visit_str<E>(self, _: &str) -> Result<TopMembers, E> {
        Ok(TopMembers(Vec::new()))
    }

    fn visit_unit<E>(self) -> Result<TopMembers, E> {
        Ok(TopMembers(Vec::new()))
    }
}
