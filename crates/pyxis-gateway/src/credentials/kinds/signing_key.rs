//! A key that signs payloads and is never attached.

use http::HeaderMap;
use pyxis_core::auth::TokenSigningKey;
use zeroize::Zeroizing;

use super::Behavior;
use crate::credentials::signing_keys;
use crate::error::{Error, Result};
use crate::runtime::secret_value::SecretValue;

impl Behavior for TokenSigningKey {
    fn check(&self, secret: &SecretValue) -> Result<()> {
        signing_keys::open(self.algorithm, secret).map(drop)
    }

    fn put(
        &self,
        _secret: &SecretValue,
        _headers: &mut HeaderMap,
        _wire: &str,
    ) -> Result<Option<Zeroizing<String>>> {
        Err(Error::NoLongerAllowed("the credential is a signing key"))
    }
}
