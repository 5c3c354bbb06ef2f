//! `Authorization: Bearer`.

use http::HeaderMap;
use http::header::AUTHORIZATION;
use pyxis_core::auth::BearerToken;
use zeroize::Zeroizing;

use super::Behavior;
use super::parts::{sensitive, single_text};
use crate::credentials::sought::Sought;
use crate::error::Result;
use crate::runtime::secret_value::SecretValue;

impl Behavior for BearerToken {
    fn check(&self, secret: &SecretValue) -> Result<()> {
        self.put(secret, &mut HeaderMap::new(), "/").map(drop)
    }

    fn collect_secrets(&self, secret: &SecretValue, is_secret: fn(&str) -> bool, sought: &mut Sought) {
        match secret.text() {
            Some(token) => collect_token(token, sought),
            None => super::seek_parts(secret, is_secret, sought),
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
pub(super) fn collect_token(token: &str, sought: &mut Sought) {
    sought.add_sent(token, || format!("Bearer {token}"));
}
