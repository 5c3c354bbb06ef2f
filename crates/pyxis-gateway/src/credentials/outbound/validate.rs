//! Validation of a secret before it is stored.

use http::HeaderMap;
use pyxis_core::auth::Auth;

use super::derived;
use super::inject::{attach, whole};
use crate::credentials::signing_keys;
use crate::error::{Error, Result};
use crate::runtime::secret_value::SecretValue;

/// Checks that `secret` has the parts that `auth` needs and fits where it goes.
pub(crate) fn check(auth: &Auth, secret: &SecretValue) -> Result<()> {
    if let Auth::SigningKey(key) = auth {
        return signing_keys::open(key.algorithm, secret).map(drop);
    }
    if auth.is_derived() {
        return derived::check(auth, secret);
    }
    if let Auth::Cookie { .. } = auth {
        check_cookie_value(whole(secret)?)?;
    }
    attach(auth, secret, &mut HeaderMap::new(), "/").map(drop)
}

/// Refuses a text that is not one cookie's value (RFC 6265, section 4.1.1). Quotation marks may stand around all of it.
fn check_cookie_value(text: &str) -> Result<()> {
    let bare = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(text);
    let Some(wrong) = bare.chars().find(|c| !c.is_ascii_graphic() || "\",;\\".contains(*c)) else {
        return Ok(());
    };
    let name = match wrong {
        ';' => "a semicolon, behind which another cookie begins",
        ',' => "a comma",
        ' ' => "a space",
        '"' => "a quotation mark",
        '\\' => "a backslash",
        c if c.is_control() => "a control character",
        _ => "a character outside ASCII",
    };
    let detail =
        format!("a cookie's value cannot have {name}; give the value of one cookie, without its name");
    Err(Error::field("secret", detail))
}
