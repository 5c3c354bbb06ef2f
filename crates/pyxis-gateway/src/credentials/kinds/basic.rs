//! `Authorization: Basic` (RFC 7617).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use pyxis_core::auth::BasicPair;
use zeroize::Zeroizing;

use super::Behavior;
use super::parts::{input, sensitive};
use crate::credentials::search_strings::{SearchStrings, is_long};
use crate::error::{Error, Result};
use crate::runtime::secret_value::SecretValue;

/// Length from which a user name with a short password may be a key, in bytes.
const KEY_LENGTH: usize = 16;
/// Passwords that services tell people to enter with a key that is the user name.
const PLACEHOLDERS: [&str; 8] =
    ["x-oauth-basic", "api_token", "password", "anything", "anystring", "ignored", "unused", "nopassword"];

impl Behavior for BasicPair {
    fn check(&self, secret: &SecretValue) -> Result<()> {
        self.put(secret, &mut HeaderMap::new(), "/").map(drop)
    }

    /// The pair as it was given and as it goes out, and of its halves the one that is the secret.
    fn collect_secrets(
        &self,
        secret: &SecretValue,
        _is_secret: fn(&str) -> bool,
        search_strings: &mut SearchStrings,
    ) {
        let Ok(pair) = basic_pair(secret) else {
            return secret.parts().for_each(|part| search_strings.add(part));
        };
        if let Some((username, password)) = pair.split_once(':') {
            search_strings.add(if is_key(username, password) { username } else { password });
        }
        search_strings.add(&pair);
        search_strings.add(&Zeroizing::new(STANDARD.encode(pair.as_bytes())));
    }

    fn short_parts(&self, secret: &SecretValue, is_secret: fn(&str) -> bool) -> Vec<String> {
        let Ok(pair) = basic_pair(secret) else {
            return super::short(secret.named_parts().filter(|(name, _)| is_secret(name)));
        };
        let (username, password) = pair.split_once(':').unwrap_or_default();
        let (field, value) =
            if is_key(username, password) { ("username", username) } else { ("password", password) };
        let field = input(if secret.text().is_some() { "" } else { field });
        if is_long(value) { Vec::new() } else { vec![field] }
    }

    fn put(
        &self,
        secret: &SecretValue,
        headers: &mut HeaderMap,
        _wire: &str,
    ) -> Result<Option<Zeroizing<String>>> {
        let encoded = Zeroizing::new(STANDARD.encode(basic_pair(secret)?.as_bytes()));
        headers.insert(AUTHORIZATION, sensitive(&Zeroizing::new(format!("Basic {}", &*encoded)))?);
        Ok(None)
    }
}

fn basic_pair(secret: &SecretValue) -> Result<Zeroizing<String>> {
    if let Some(text) = secret.text() {
        return if text.contains(':') {
            Ok(Zeroizing::new(text.to_owned()))
        } else {
            Err(Error::field("secret", "basic takes \"username:password\" or an object with both"))
        };
    }
    let part = |name: &'static str| {
        secret.field(name).ok_or_else(|| Error::field(format!("secret.{name}"), "basic needs it"))
    };
    let (username, password) = (part("username")?, part("password")?);
    if username.contains(':') {
        return Err(Error::field("secret.username", "must not contain a colon (RFC 7617)"));
    }
    Ok(Zeroizing::new(format!("{username}:{password}")))
}

/// True if the user name of a basic pair is the secret. Services that take a key as the user name want no
/// password, a placeholder, or a short one. Any other user name is a word or an id that answers may well have in
/// them.
fn is_key(username: &str, password: &str) -> bool {
    let may_be = username.len() >= KEY_LENGTH && !username.contains('@');
    password.is_empty() || PLACEHOLDERS.contains(&password) || (!is_long(password) && may_be)
}
