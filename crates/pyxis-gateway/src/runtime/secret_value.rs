//! A credential's secret: one string, or an object of named strings.

use std::collections::BTreeMap;

use pyxis_core::secret::{SecretBytes, clean_input, entered_some};
use serde_json::Value;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::error::{Error, Result};

/// A secret as written in a request body and, sealed, in the store.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub enum SecretValue {
    /// One string.
    Text(String),
    /// Named strings, for authentication methods with several parts.
    Fields(#[zeroize(skip)] BTreeMap<String, Zeroizing<String>>),
}

impl std::fmt::Debug for SecretValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretValue(..)")
    }
}

impl SecretValue {
    /// Parses the `secret` member of a request body. Errors never contain the value.
    pub fn from_json(value: Value) -> Result<Self> {
        match value {
            Value::String(text) if !text.is_empty() => Ok(Self::Text(text)),
            Value::Object(object) if !object.is_empty() => {
                let mut fields = BTreeMap::new();
                for (name, value) in object {
                    let Value::String(text) = value else {
                        return Err(Error::field(format!("secret.{name}"), "must be a string"));
                    };
                    fields.insert(name, Zeroizing::new(text));
                }
                Ok(Self::Fields(fields))
            }
            _ => Err(Error::field("secret", "must be a non-empty string or an object of strings")),
        }
    }

    /// Cleans up pasted input ([`pyxis_core::secret::clean_input`]). Single parts may be empty, but not all of them.
    pub(crate) fn clean_input(mut self) -> Result<Self> {
        let meant = |name: &str, text: &str| {
            let place = if name.is_empty() { "secret".to_owned() } else { format!("secret.{name}") };
            let meant = if name.is_empty() { entered_some(text) } else { clean_input(text) };
            meant.map(str::to_owned).map_err(|error| Error::field(place, error.to_string()))
        };
        match &mut self {
            Self::Text(text) => {
                let new = meant("", text)?;
                text.zeroize();
                *text = new;
            }
            Self::Fields(fields) => {
                for (name, text) in fields {
                    if entered_some(name) != Ok(name.as_str()) {
                        let why = format!("the field name {name:?} has invisible characters; write it again");
                        return Err(Error::field("secret", why));
                    }
                    *text = Zeroizing::new(meant(name, text)?);
                }
            }
        }
        Ok(self)
    }

    /// Parses the output of [`SecretValue::to_bytes`].
    pub fn from_bytes(bytes: &SecretBytes) -> Result<Self> {
        let value = serde_json::from_slice(bytes.expose()).map_err(|error| Error::Internal(error.into()))?;
        Self::from_json(value)
    }

    /// Serialized form for sealing.
    pub fn to_bytes(&self) -> SecretBytes {
        let text = match self {
            Self::Text(text) => serde_json::to_vec(text),
            Self::Fields(fields) => {
                serde_json::to_vec(&fields.iter().map(|(k, v)| (k, v.as_str())).collect::<BTreeMap<_, _>>())
            }
        };
        SecretBytes::new(text.unwrap_or_default())
    }

    /// The string, if the secret is a single one.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Fields(_) => None,
        }
    }

    /// The part with this name.
    pub fn field(&self, name: &str) -> Option<&str> {
        match self {
            Self::Text(_) => None,
            Self::Fields(fields) => fields.get(name).map(|value| value.as_str()),
        }
    }

    /// All named parts. A single string has no name.
    pub fn named_parts(&self) -> impl Iterator<Item = (&str, &str)> {
        let (text, fields) = match self {
            Self::Text(text) => (Some(("", text.as_str())), None),
            Self::Fields(fields) => {
                (None, Some(fields.iter().map(|(name, value)| (name.as_str(), value.as_str()))))
            }
        };
        text.into_iter().chain(fields.into_iter().flatten())
    }

    /// All strings in the secret.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        let (text, fields) = match self {
            Self::Text(text) => (Some(text.as_str()), None),
            Self::Fields(fields) => (None, Some(fields.values().map(|value| value.as_str()))),
        };
        text.into_iter().chain(fields.into_iter().flatten())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_secret_survives_sealing_form_and_prints_nothing() {
        for value in [json!("s3cret"), json!({"username": "u", "password": "p"})] {
            let secret = SecretValue::from_json(value).unwrap();
            let again = SecretValue::from_bytes(&secret.to_bytes()).unwrap();
            assert!(again.parts().eq(secret.parts()));
            assert_eq!(format!("{again:?}"), "SecretValue(..)");
        }
    }

    #[test]
    fn a_secret_is_taken_as_it_was_meant_and_a_bad_part_is_named() {
        let entered = |value| SecretValue::from_json(value).unwrap().clean_input();
        assert_eq!(entered(json!("\u{feff}key-1\r\n")).unwrap().text(), Some("key-1"));
        let fields = entered(json!({"username": "\u{feff}u\n", "password": "p\n", "token": ""})).unwrap();
        assert!(fields.parts().eq(["p", "", "u"]));
        let error = entered(json!({"username": "u", "password": "12\u{0}345"})).unwrap_err();
        let Error::InvalidField { field, detail } = error else { panic!("{error}") };
        assert!(
            field == "secret.password" && detail.contains("U+0000") && !detail.contains("345"),
            "{detail}"
        );
        assert!(entered(json!("\n")).is_err());
        assert!(entered(json!({"a": "value-12345", "b\n": "c"})).is_err());
    }

    #[test]
    fn a_bad_secret_is_refused_without_repeating_it() {
        for value in [json!(""), json!(12345), json!({}), json!({"a": 12345}), json!(["12345"])] {
            let error = SecretValue::from_json(value).unwrap_err().to_string();
            assert!(!error.contains("12345"), "{error}");
        }
    }
}
