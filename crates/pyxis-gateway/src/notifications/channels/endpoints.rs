//! Named endpoints of the operator's settings. Their URLs are secrets: everything else names them.

use std::collections::BTreeMap;

use http::Uri;
use pyxis_core::BoxError;
use pyxis_core::secret::SecretString;
use pyxis_net::HostPort;

use super::platform::{Delivery, DeliveryError};
use super::settings::{SettingKey, SettingsSource};
use crate::runtime::chat_health::ChatHealth;

/// Longest name.
const NAME_MAX: usize = 64;

/// Endpoints with their URLs.
#[derive(Clone, Debug, Default)]
pub struct Endpoints(BTreeMap<String, Endpoint>);

/// A URL that was checked.
#[derive(Clone, Debug)]
struct Endpoint {
    url: SecretString,
    host: HostPort,
}

impl Endpoints {
    /// Endpoints of `NAME=URL` entries, separated by line breaks or blanks. An error names the entry, not the URL.
    pub fn parse(text: &str) -> Result<Self, BoxError> {
        let mut all = BTreeMap::new();
        for (name, url) in entries(text, "NAME=URL")? {
            let endpoint = endpoint(url).map_err(|wrong| format!("`{name}`: {wrong}"))?;
            all.insert(name, endpoint);
        }
        Ok(Self(all))
    }

    /// Reads the endpoints of a secret setting; none if it is not set.
    pub(super) fn read(source: &dyn SettingsSource, key: &'static str) -> Result<Self, BoxError> {
        let Some(text) = source.secret(key)? else { return Ok(Self::default()) };
        let named = |wrong| format!("{}: {wrong}", SettingKey::variable(key)).into();
        Self::parse(text.expose()).map_err(named)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The URL of an endpoint.
    pub(super) fn uri(&self, name: &str) -> Delivery<Uri> {
        let endpoint = self.0.get(name).ok_or_else(|| DeliveryError::Refused(self.unknown(name)))?;
        let invalid = |_| DeliveryError::Refused("its URL is invalid".to_owned());
        endpoint.url.expose().parse().map_err(invalid)
    }

    /// The sentence about a name that no endpoint has. Text that cannot be a name may be a URL, so it is not repeated.
    pub(super) fn unknown(&self, name: &str) -> String {
        let known = self.names().collect::<Vec<_>>().join(", ");
        if is_name(name) {
            format!("no endpoint has the name {name:?}; known names: {known}")
        } else {
            format!("enter the name of an endpoint, not its URL; known names: {known}")
        }
    }

    /// Examines an endpoint without a message. A webhook says nothing about itself, so the best result is unknown.
    pub(super) async fn examine(&self, net_private: &pyxis_net::Client, name: &str) -> ChatHealth {
        let Some(endpoint) = self.0.get(name) else { return ChatHealth::Unusable(self.unknown(name)) };
        match net_private.check(&endpoint.host).await {
            Err(pyxis_net::Error::Blocked(blocked)) => {
                ChatHealth::Unusable(format!("its URL is not allowed: {blocked}"))
            }
            Ok(()) | Err(_) => ChatHealth::Unknown,
        }
    }
}

/// The URL, if the secret in it would not be sent unencrypted.
fn endpoint(url: &str) -> Result<Endpoint, &'static str> {
    const RULE: &str = "write an https URL; http is only possible to this machine";
    let uri: Uri = url.parse().map_err(|_| RULE)?;
    let host = HostPort::from_uri(&uri).map_err(|_| RULE)?;
    let local = host.host() == "localhost"
        || host.host().trim_matches(['[', ']']).parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback());
    let with_user = uri.authority().is_some_and(|authority| authority.as_str().contains('@'));
    match uri.scheme_str() {
        _ if with_user => return Err("a URL with a user name or password is not possible"),
        Some("https") => {}
        Some("http") if local => {}
        _ => return Err(RULE),
    }
    Ok(Endpoint { url: SecretString::new(url.to_owned()), host })
}

/// Signing secrets of endpoints: `NAME=SECRET` entries.
pub(super) fn read_secrets(
    source: &dyn SettingsSource,
    key: &'static str,
) -> Result<BTreeMap<String, SecretString>, BoxError> {
    let Some(text) = source.secret(key)? else { return Ok(BTreeMap::new()) };
    let named = |wrong: BoxError| -> BoxError { format!("{}: {wrong}", SettingKey::variable(key)).into() };
    let entries = entries(text.expose(), "NAME=SECRET").map_err(named)?;
    Ok(entries.into_iter().map(|(name, secret)| (name, SecretString::new(secret.to_owned()))).collect())
}

/// Checks that the default room, if there is one, is a known endpoint.
pub(super) fn default_of(
    source: &dyn SettingsSource,
    key: &'static str,
    endpoints: &Endpoints,
) -> Result<Option<String>, BoxError> {
    let name = source.text(key)?.trim().to_owned();
    if name.is_empty() || endpoints.is_empty() {
        return Ok(None);
    }
    if !endpoints.0.contains_key(&name) {
        return Err(format!("{}: {}", SettingKey::variable(key), endpoints.unknown(&name)).into());
    }
    Ok(Some(name))
}

/// Names and values, separated by line breaks or blanks. An error does not repeat the entry, which may be a secret.
fn entries<'a>(text: &'a str, form: &str) -> Result<Vec<(String, &'a str)>, BoxError> {
    let mut all: Vec<(String, &str)> = Vec::new();
    for (number, entry) in text.split_whitespace().enumerate() {
        let wrong = || {
            format!(
                "entry {} is not {form}: a name has 1 to {NAME_MAX} letters, digits, ., _ and -",
                number + 1
            )
        };
        let (name, value) = entry.split_once('=').ok_or_else(wrong)?;
        if !is_name(name) || value.is_empty() {
            return Err(wrong().into());
        }
        if all.iter().any(|(known, _)| known == name) {
            return Err(format!("`{name}` is there twice: give each endpoint its own name").into());
        }
        all.push((name.to_owned(), value));
    }
    Ok(all)
}

fn is_name(text: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    (1..=NAME_MAX).contains(&text.len()) && text.bytes().all(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_named_on_lines_or_between_blanks() {
        let all =
            Endpoints::parse("ops=https://h.example/a?sig=1&b==\n  night=http://127.0.0.1:1/x ").unwrap();
        assert_eq!(all.names().collect::<Vec<_>>(), ["night", "ops"]);
        assert_eq!(all.uri("ops").unwrap().to_string(), "https://h.example/a?sig=1&b==");
        assert_eq!(all.unknown("opz"), r#"no endpoint has the name "opz"; known names: night, ops"#);
        let known = "enter the name of an endpoint, not its URL; known names: night, ops";
        assert_eq!(all.unknown("https://h.example/a?sig=1&b=="), known);
        assert!(Endpoints::parse(" \n").unwrap().is_empty());
    }

    #[test]
    fn a_wrong_entry_is_named_without_its_url() {
        for (text, says) in [
            ("https://h.example/?sig=S3CRET", "entry 1 is not NAME=URL"),
            ("a=https://h.example/ S3CRET", "entry 2 is not NAME=URL"),
            ("a=", "entry 1 is not NAME=URL"),
            ("a=http://h.example/S3CRET", "`a`: write an https URL"),
            ("a=ftp://h.example/S3CRET", "`a`: write an https URL"),
            ("a=S3CRET", "`a`: write an https URL"),
            ("a=https://u:S3CRET@h.example/", "`a`: a URL with a user name"),
            ("a=https://h.example/1 a=https://h.example/S3CRET", "`a` is there twice"),
        ] {
            let error = Endpoints::parse(text).unwrap_err().to_string();
            assert!(error.starts_with(says) && !error.contains("S3CRET"), "{text}: {error}");
        }
    }

    #[test]
    fn urls_are_not_in_debug_output() {
        let all = Endpoints::parse("ops=https://h.example/S3CRET").unwrap();
        let shown = format!("{all:?}");
        assert!(shown.contains("ops") && !shown.contains("S3CRET"), "{shown}");
    }
}
