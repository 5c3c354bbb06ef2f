//! Client data of a passkey ceremony: members about the frame in which the browser ran it (Web Authentication Level 3,
//! section 5.8.1).
//!
//! The library checks type, challenge and origin. It checks `crossOrigin` only at registration, and ignores
//! `topOrigin`. Both are therefore read here, from the bytes that the passkey signed.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde_json::Value;
use webauthn_rs::prelude::{PublicKeyCredential, RegisterPublicKeyCredential};

use crate::error::{Error, Result};

/// Credential of either kind of ceremony, with its client data.
pub(crate) trait Credential: serde::de::DeserializeOwned {
    /// Decoded `clientDataJSON`: the bytes that the library checks and hashes.
    fn client_data(&self) -> &[u8];
}

impl Credential for PublicKeyCredential {
    fn client_data(&self) -> &[u8] {
        &self.response.client_data_json
    }
}

impl Credential for RegisterPublicKeyCredential {
    fn client_data(&self) -> &[u8] {
        &self.response.client_data_json
    }
}

/// Refuses client data from a frame of another site, and client data that two parsers could read differently.
///
/// # Errors
/// `PasskeyRefused`.
pub(crate) fn check(bytes: &[u8]) -> Result<()> {
    let members: Members =
        serde_json::from_slice(bytes).map_err(|_| Error::PasskeyRefused("its client data cannot be read"))?;
    if members.repeated {
        return Err(Error::PasskeyRefused("its client data has a duplicate member"));
    }
    if members.top_origin {
        return Err(Error::PasskeyRefused(FRAMED));
    }
    match members.cross_origin {
        None | Some(Value::Bool(false)) => Ok(()),
        Some(Value::Bool(true)) => Err(Error::PasskeyRefused(FRAMED)),
        Some(_) => Err(Error::PasskeyRefused("crossOrigin of its client data is neither true nor false")),
    }
}

const FRAMED: &str = "it was used in a frame of another site; open Pyxis in its own tab";

/// Relevant members of the client data.
#[derive(Default)]
struct Members {
    cross_origin: Option<Value>,
    top_origin: bool,
    /// True if any name occurs twice at the top level.
    repeated: bool,
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_map(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Members;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Members, A::Error> {
        let (mut members, mut names) = (Members::default(), Vec::<String>::new());
        while let Some(name) = map.next_key::<String>()? {
            let value: Value = map.next_value()?;
            match name.as_str() {
                "crossOrigin" => members.cross_origin = Some(value),
                "topOrigin" => members.top_origin = true,
                _ => {}
            }
            if names.len() == MAX_MEMBERS {
                return Err(A::Error::custom("too many members"));
            }
            members.repeated |= names.contains(&name);
            names.push(name);
        }
        Ok(members)
    }
}

/// Maximum number of members; browsers write 3 to 6.
const MAX_MEMBERS: usize = 32;

#[cfg(test)]
mod tests {
    use super::check;

    fn with(more: &str) -> bool {
        let text =
            format!(r#"{{"type":"webauthn.get","challenge":"AA","origin":"https://px.example"{more}}}"#);
        check(text.as_bytes()).is_ok()
    }

    #[test]
    fn client_data_of_a_page_of_its_own_is_accepted() {
        assert!(with(""), "browsers before Level 2 write no crossOrigin");
        assert!(with(r#","crossOrigin":false"#));
        // Chromium occasionally adds such a member, so that no one compares with a template.
        assert!(with(r#","crossOrigin":false,"other_keys_can_be_added_here":"do not compare""#));
        assert!(with(r#","tokenBinding":{"status":"supported"},"extra":{"crossOrigin":true}"#));
    }

    #[test]
    fn client_data_of_a_frame_of_another_site_is_refused() {
        for framed in [
            r#","crossOrigin":true"#,
            r#","\u0063rossOrigin":true"#,
            r#","topOrigin":"https://evil.example""#,
            r#","crossOrigin":false,"topOrigin":"https://evil.example""#,
            r#","crossOrigin":false,"topOrigin":"https://px.example""#,
            r#","crossOrigin":false,"topOrigin":null"#,
        ] {
            assert!(!with(framed), "{framed}");
        }
    }

    #[test]
    fn client_data_that_can_be_read_in_two_ways_is_refused() {
        for odd in [
            r#","crossOrigin":true,"crossOrigin":false"#,
            r#","crossOrigin":false,"crossOrigin":true"#,
            r#","crossOrigin":false,"crossOrigin":false"#,
            r#","type":"webauthn.get""#,
            r#","origin":"https://evil.example""#,
            r#","other":1,"other":2"#,
            r#","crossOrigin":"false""#,
            r#","crossOrigin":"true""#,
            r#","crossOrigin":0"#,
            r#","crossOrigin":1"#,
            r#","crossOrigin":null"#,
            r#","crossOrigin":[]"#,
            r#"} {"a":1"#,
        ] {
            assert!(!with(odd), "{odd}");
        }
        for unreadable in ["", "null", "[]", "true", "\u{feff}{}", "{\"crossOrigin\":false"] {
            assert!(check(unreadable.as_bytes()).is_err(), "{unreadable}");
        }
        let many: Vec<String> = (0..40).map(|number| format!(",\"m{number}\":0")).collect();
        let many = many.concat();
        assert!(!with(&many));
    }
}
