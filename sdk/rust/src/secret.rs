//! A key that nothing prints by accident.

use reqwest::header::HeaderValue;
use zeroize::Zeroizing;

use crate::error::{Error, Result};

const MAX_LENGTH: usize = 1024;

/// A key for a header. It has no `Display`, its `Debug` hides it, and it is wiped when dropped.
pub(crate) struct Secret(Zeroizing<String>);

impl Secret {
    /// Fails on a key that no header can hold, without repeating it.
    pub(crate) fn new(name: &str, value: &str) -> Result<Self> {
        if value.is_empty() {
            return Err(Error::InvalidArgument(format!("{name} is empty: pass the key as text")));
        }
        if value.len() > MAX_LENGTH || !value.bytes().all(|byte| byte.is_ascii_graphic()) {
            let rest = "has spaces, line ends or characters that no key has: copy it again";
            return Err(Error::InvalidArgument(format!("{name} {rest}")));
        }
        Ok(Self(Zeroizing::new(value.to_owned())))
    }

    /// The key as the value of a header, marked as sensitive.
    pub(crate) fn header(&self) -> HeaderValue {
        let mut value = HeaderValue::from_str(&self.0).expect("checked when it was made");
        value.set_sensitive(true);
        value
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Secret(…)")
    }
}
