//! Parts of a secret, and values made of them.

use http::HeaderValue;

use crate::error::{Error, Result};
use crate::runtime::secret_value::SecretValue;

/// The secret of a kind that takes one string.
pub(super) fn single_text(secret: &SecretValue) -> Result<&str> {
    secret.text().ok_or_else(|| Error::field("secret", "this auth kind takes one string"))
}

/// A part that the kind needs.
pub(super) fn required_part<'a>(secret: &'a SecretValue, name: &'static str) -> Result<&'a str> {
    let found = secret.field(name).filter(|value| !value.is_empty());
    found.ok_or_else(|| Error::field(format!("secret.{name}"), "this auth kind needs it"))
}

/// The name that inputs give a part of a secret; one string alone has no name.
pub(super) fn input(name: &str) -> String {
    if name.is_empty() { "secret".to_owned() } else { format!("secret.{name}") }
}

/// A header's value that is a secret.
pub(crate) fn sensitive(text: &str) -> Result<HeaderValue> {
    let mut value = HeaderValue::from_str(text)
        .map_err(|_| Error::field("secret", "has characters that a header cannot carry"))?;
    value.set_sensitive(true);
    Ok(value)
}
