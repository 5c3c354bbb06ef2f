//! The three cookies: session, visit before sign-in, and notice of the last action.

use std::time::Duration;

use axum::response::Response;
use http::header::{COOKIE, SET_COOKIE};
use http::{HeaderMap, HeaderValue};

/// One of the dashboard's cookies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cookie {
    /// The session token.
    Session,
    /// The CSRF token of forms before sign-in.
    Visit,
    /// The code of a [`crate::notice::Notice`].
    Notice,
}

/// Cookie attributes on this origin.
///
/// On https they carry the `__Host-` prefix and Secure, so no other host and no plain-http page can set them. An http
/// origin must be a loopback one (anything else refuses to start), and there neither is possible.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cookies {
    secure: bool,
}

impl Cookies {
    pub(crate) fn for_origin(base_url: &str) -> Self {
        Self { secure: base_url.starts_with("https://") }
    }

    fn name(self, cookie: Cookie) -> &'static str {
        match (cookie, self.secure) {
            (Cookie::Session, true) => "__Host-px_session",
            (Cookie::Session, false) => "px_session",
            (Cookie::Visit, true) => "__Host-px_visit",
            (Cookie::Visit, false) => "px_visit",
            (Cookie::Notice, true) => "__Host-px_notice",
            (Cookie::Notice, false) => "px_notice",
        }
    }

    /// The value that the browser sent.
    pub(crate) fn read(self, headers: &HeaderMap, cookie: Cookie) -> Option<&str> {
        let wanted = self.name(cookie);
        headers
            .get_all(COOKIE)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|line| line.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .find(|(name, value)| *name == wanted && !value.is_empty())
            .map(|(_, value)| value)
    }

    /// A `Set-Cookie`. Our values are hexadecimal or codes and need no quoting; `None` for any other value.
    pub(crate) fn set(self, cookie: Cookie, value: &str, lifetime: Duration) -> Option<HeaderValue> {
        let secure = if self.secure { "; Secure" } else { "" };
        let text = format!(
            "{}={value}; Path=/; Max-Age={}; HttpOnly; SameSite=Lax{secure}",
            self.name(cookie),
            lifetime.as_secs()
        );
        let plain = value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
        let mut header = HeaderValue::try_from(text).ok().filter(|_| plain)?;
        header.set_sensitive(true);
        Some(header)
    }

    /// A `Set-Cookie` that removes the cookie.
    pub(crate) fn clear(self, cookie: Cookie) -> Option<HeaderValue> {
        self.set(cookie, "", Duration::ZERO)
    }
}

/// Adds a cookie to a response, if there is one.
pub(crate) fn append(response: &mut Response, cookie: Option<HeaderValue>) {
    if let Some(cookie) = cookie {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_https_origin_gets_the_host_prefix_and_secure_and_loopback_neither() {
        let set = |origin| {
            let header = Cookies::for_origin(origin).set(Cookie::Session, "abc", Duration::from_mins(1));
            header.unwrap().to_str().unwrap().to_owned()
        };
        assert_eq!(
            set("https://px.example"),
            "__Host-px_session=abc; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Secure"
        );
        assert_eq!(
            set("http://localhost:8700"),
            "px_session=abc; Path=/; Max-Age=60; HttpOnly; SameSite=Lax"
        );
    }

    #[test]
    fn a_cookie_is_found_by_its_whole_name() {
        let cookies = Cookies::for_origin("http://localhost");
        let mut headers = HeaderMap::new();
        headers.append(COOKIE, HeaderValue::from_static("xpx_session=no; px_session=yes"));
        assert_eq!(cookies.read(&headers, Cookie::Session), Some("yes"));
        assert_eq!(cookies.read(&headers, Cookie::Visit), None);
    }

    #[test]
    fn a_value_that_could_add_attributes_is_never_set() {
        let cookies = Cookies::for_origin("http://localhost");
        assert!(cookies.set(Cookie::Notice, "a; Domain=b", Duration::ZERO).is_none());
    }
}
