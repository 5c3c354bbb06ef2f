//! `Authorization: Bearer`.

use http::HeaderMap;
use http::header::AUTHORIZATION;
use pyxis_core::auth::BearerToken;
use zeroize::Zeroizing;

use super::Behavior;
use super::parts::{sensitive, single_text};
use crate::credentials::search_strings::SearchStrings;
use crate::error::Result;
use crate::runtime::secret_value::SecretValue;

impl Behavior for BearerToken {
    fn check(&self, secret: &SecretValue) -> Result<()> {
        self.put(secret, &mut HeaderMap::new(), "/").map(drop)
    }

    fn collect_secrets(
        &self,
        secret: &SecretValue,
        is_secret: fn(&str) -> bool,
        search_strings: &mut SearchStrings,
    ) {
        match secret.text() {
            Some(token) => collect_token(token, search_strings),
            None => super::seek_parts(secret, is_secret, search_strings),
        }
    }

    fn put(
        &self,
        secret: &SecretValue,
        headers: &mut HeaderMap,
        _wire: &str,
    ) -> Result<Option<Zeroizing<String>>> {
        let text = Zeroizing::new(format!("Bearer {}", single_text(secret)?));
        headers.insert(AUTHORIZATION, sensitive(&text)?);
        Ok(None)
    }
}

/// Adds a token as it goes out.
pub(super) fn collect_token(token: &str, search_strings: &mut SearchStrings) {
    search_strings.add_sent(token, || format!("Bearer {token}"));
}
