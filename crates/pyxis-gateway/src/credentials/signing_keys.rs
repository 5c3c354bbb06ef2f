//! Stored signing keys.

use pyxis_core::auth::{KeyAlgorithm, TokenSigningKey as Described};
use pyxis_core::entropy::Entropy;
use pyxis_core::hex;
use pyxis_signing::keys::{self, SigningKey};
use zeroize::Zeroizing;

use crate::error::{Error, Result};
use crate::runtime::secret_value::SecretValue;

/// The key of a stored or imported secret: 32 bytes in hexadecimal digits.
pub(crate) fn open(algorithm: KeyAlgorithm, secret: &SecretValue) -> Result<SigningKey> {
    let text = secret.text().ok_or_else(|| Error::field("secret", "a signing key is one string"))?;
    SigningKey::from_hex(algorithm, text.trim()).map_err(|error| Error::field("secret", error.to_string()))
}

/// A new key, made here.
pub(crate) fn generate(algorithm: KeyAlgorithm, entropy: &dyn Entropy) -> SecretValue {
    let secret = keys::generate(algorithm, entropy);
    let text = Zeroizing::new(hex::encode(secret.expose()));
    SecretValue::Text((*text).clone())
}

/// What may be told of a key.
pub(crate) fn describe(key: &SigningKey) -> Described {
    Described { algorithm: key.algorithm(), public_key: Some(key.public_key()), address: key.address() }
}
