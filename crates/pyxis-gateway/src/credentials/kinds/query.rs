//! A query parameter.

use http::HeaderMap;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, utf8_percent_encode};
use pyxis_core::auth::QueryParameter;
use zeroize::Zeroizing;

use super::Behavior;
use super::parts::single_text;
use crate::credentials::search_strings::SearchStrings;
use crate::error::Result;
use crate::runtime::secret_value::SecretValue;

/// RFC 3986 unreserved characters stay.
const QUERY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

impl Behavior for QueryParameter {
    fn check(&self, secret: &SecretValue) -> Result<()> {
        single_text(secret).map(drop)
    }

    fn sets_parameter(&self, name: &str) -> bool {
        self.parameter == name
    }

    fn collect_secrets(
        &self,
        secret: &SecretValue,
        is_secret: fn(&str) -> bool,
        search_strings: &mut SearchStrings,
    ) {
        let Some(text) = secret.text() else {
            return super::seek_parts(secret, is_secret, search_strings);
        };
        let encoded = Zeroizing::new(query_encoded(text).to_string());
        search_strings.add_sent(text, || format!("{}={}", query_encoded(&self.parameter), &*encoded));
        search_strings.add_percent_encoded(&encoded);
    }

    fn put(
        &self,
        secret: &SecretValue,
        _headers: &mut HeaderMap,
        wire: &str,
    ) -> Result<Option<Zeroizing<String>>> {
        Ok(Some(with_parameter(wire, &self.parameter, single_text(secret)?)))
    }
}

/// `wire` with every parameter of this name removed and ours appended: the credential wins.
fn with_parameter(wire: &str, parameter: &str, value: &str) -> Zeroizing<String> {
    let (path, query) = wire.split_once('?').unwrap_or((wire, ""));
    let name = query_encoded(parameter).to_string();
    let same_name = |pair: &&str| {
        let raw = pair.split('=').next().unwrap_or_default().replace('+', " ");
        percent_encoding::percent_decode_str(&raw).decode_utf8_lossy() == parameter
    };
    let mut wire = Zeroizing::new(String::with_capacity(wire.len() + name.len() + 3 * value.len() + 2));
    wire.push_str(path);
    wire.push('?');
    for pair in query.split('&').filter(|pair| !pair.is_empty() && !same_name(pair)) {
        wire.push_str(pair);
        wire.push('&');
    }
    wire.push_str(&name);
    wire.push('=');
    wire.extend(query_encoded(value));
    wire
}

/// A name or value as it stands in a query.
fn query_encoded(text: &str) -> PercentEncode<'_> {
    utf8_percent_encode(text, QUERY)
}
