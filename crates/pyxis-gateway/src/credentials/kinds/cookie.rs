//! A cookie.

use http::HeaderMap;
use http::header::COOKIE;
use pyxis_core::auth::CookieName;
use zeroize::Zeroizing;

use super::Behavior;
use super::parts::{sensitive, single_text};
use crate::credentials::search_strings::SearchStrings;
use crate::error::{Error, Result};
use crate::runtime::secret_value::SecretValue;

impl Behavior for CookieName {
    fn check(&self, secret: &SecretValue) -> Result<()> {
        check_cookie_value(single_text(secret)?)?;
        self.put(secret, &mut HeaderMap::new(), "/").map(drop)
    }

    fn collect_secrets(
        &self,
        secret: &SecretValue,
        is_secret: fn(&str) -> bool,
        search_strings: &mut SearchStrings,
    ) {
        match secret.text() {
            Some(text) => search_strings.add_sent(text, || format!("{}={text}", self.name)),
            None => super::seek_parts(secret, is_secret, search_strings),
        }
    }

    fn put(
        &self,
        secret: &SecretValue,
        headers: &mut HeaderMap,
        _wire: &str,
    ) -> Result<Option<Zeroizing<String>>> {
        let cookie = Zeroizing::new(format!("{}={}", self.name, single_text(secret)?));
        headers.insert(COOKIE, sensitive(&cookie)?);
        Ok(None)
    }
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
