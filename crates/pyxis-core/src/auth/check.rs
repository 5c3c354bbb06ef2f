//! Checks of settings.

use super::settings::SettingError;
use crate::target::{Host, Scheme, Target};

/// Checks text that goes into a path, a header or a claim unchanged.
pub(super) fn part(field: &'static str, text: &str) -> Result<(), SettingError> {
    let plain = |byte: u8| byte.is_ascii_graphic() && !b"/?#%".contains(&byte);
    if !text.is_empty() && text.len() <= 256 && (field == "auth.issuer" || text.bytes().all(plain)) {
        return Ok(());
    }
    Err(SettingError::new(field, "must not be empty, and is written without spaces and slashes"))
}

/// Checks an address that secrets are sent to.
pub(super) fn url(field: &'static str, url: &str) -> Result<(), SettingError> {
    let target = Target::parse(url).map_err(|error| SettingError::new(field, error.to_string()))?;
    // The guard checks again when dialing, but a secret must not be sent unencrypted before that.
    let local = matches!(target.host(), Host::V4(ip) if ip.is_loopback());
    if target.scheme() == Scheme::Http && !local {
        return Err(SettingError::new(field, "must start with https://"));
    }
    Ok(())
}

/// Checks a header's name.
pub(super) fn header_name(name: &str) -> Result<(), SettingError> {
    let lower = name.to_ascii_lowercase();
    if !is_token(name) {
        return Err(SettingError::new("auth.name", "must be a header name (RFC 9110 token)"));
    }
    if crate::headers::never_forwarded(&lower) && lower != "cookie" {
        return Err(SettingError::new("auth.name", format!("{name} belongs to the connection or the proxy")));
    }
    Ok(())
}

/// True for a token of HTTP (RFC 9110).
pub(super) fn is_token(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}
