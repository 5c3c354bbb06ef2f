//! Attaching the secret: the last step before a request leaves.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{AUTHORIZATION, COOKIE};
use http::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, utf8_percent_encode};
use pyxis_core::auth::Auth;
use zeroize::Zeroizing;

use super::spellings::remove_spellings;
use crate::error::{Error, Result};
use crate::runtime::secret_value::SecretValue;

/// RFC 3986 unreserved characters stay.
const QUERY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Puts `secret` into `headers`; or into path and query, whose new wire form is then returned.
pub(crate) fn attach(
    auth: &Auth,
    secret: &SecretValue,
    headers: &mut HeaderMap,
    wire: &str,
) -> Result<Option<Zeroizing<String>>> {
    match auth {
        Auth::Bearer {} => {
            let text = Zeroizing::new(format!("Bearer {}", whole(secret)?));
            headers.insert(AUTHORIZATION, sensitive(&text)?);
        }
        Auth::Header(formats) => {
            // What the agent sent under another spelling could win at the host.
            formats.list().iter().for_each(|format| remove_spellings(headers, &format.name));
            for format in formats.list() {
                let name = HeaderName::try_from(format.name.as_str()).map_err(internal)?;
                headers.insert(name, sensitive(&expand(&format.format, secret)?)?);
            }
        }
        Auth::Basic {} => {
            let encoded = Zeroizing::new(STANDARD.encode(basic_pair(secret)?.as_bytes()));
            headers.insert(AUTHORIZATION, sensitive(&Zeroizing::new(format!("Basic {}", &*encoded)))?);
        }
        Auth::Query { parameter } => return Ok(Some(with_parameter(wire, parameter, whole(secret)?))),
        Auth::Cookie { name } => {
            headers.insert(COOKIE, sensitive(&Zeroizing::new(format!("{name}={}", whole(secret)?)))?);
        }
        Auth::SigningKey(_) => return Err(Error::NoLongerAllowed("the credential is a signing key")),
        Auth::Oauth1(_)
        | Auth::AwsSigv4(_)
        | Auth::Hmac(_)
        | Auth::Oauth2ClientCredentials(_)
        | Auth::Oauth2Refresh(_)
        | Auth::JwtBearer(_)
        | Auth::GithubApp(_)
        | Auth::Mtls {} => return Err(Error::NoLongerAllowed("the credential is attached in another way")),
    }
    Ok(None)
}

pub(super) fn whole(secret: &SecretValue) -> Result<&str> {
    secret.text().ok_or_else(|| Error::field("secret", "this auth kind takes one string"))
}

pub(super) fn basic_pair(secret: &SecretValue) -> Result<Zeroizing<String>> {
    if let Some(text) = secret.text() {
        return if text.contains(':') {
            Ok(Zeroizing::new(text.to_owned()))
        } else {
            Err(Error::field("secret", "basic takes \"username:password\" or an object with both"))
        };
    }
    let part = |name: &'static str| {
        secret.field(name).ok_or_else(|| Error::field(format!("secret.{name}"), "basic needs it"))
    };
    let (username, password) = (part("username")?, part("password")?);
    if username.contains(':') {
        return Err(Error::field("secret.username", "must not contain a colon (RFC 7617)"));
    }
    Ok(Zeroizing::new(format!("{username}:{password}")))
}

/// Fills `{secret}` and `{secret.field}` in.
pub(super) fn expand(format: &str, secret: &SecretValue) -> Result<Zeroizing<String>> {
    let mut text = Zeroizing::new(String::with_capacity(format.len() + 64));
    let mut rest = format;
    while let Some(start) = rest.find("{secret") {
        text.push_str(&rest[..start]);
        let end = rest[start..].find('}').ok_or_else(|| bad_format(format))? + start;
        let inner = &rest[start + "{secret".len()..end];
        match inner.strip_prefix('.') {
            Some(field) => text.push_str(secret.field(field).ok_or_else(|| {
                Error::field(format!("secret.{field}"), "the header format names it, but it is not there")
            })?),
            None if inner.is_empty() => text.push_str(whole(secret)?),
            None => return Err(bad_format(format)),
        }
        rest = &rest[end + 1..];
    }
    text.push_str(rest);
    Ok(text)
}

fn bad_format(format: &str) -> Error {
    Error::field("auth.headers.format", format!("write {{secret}} or {{secret.field}}: {format}"))
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
pub(super) fn query_encoded(text: &str) -> PercentEncode<'_> {
    utf8_percent_encode(text, QUERY)
}

fn sensitive(text: &str) -> Result<HeaderValue> {
    let mut value = HeaderValue::from_str(text)
        .map_err(|_| Error::field("secret", "has characters that a header cannot carry"))?;
    value.set_sensitive(true);
    Ok(value)
}

fn internal(error: http::header::InvalidHeaderName) -> Error {
    Error::Internal(Box::new(error))
}

#[cfg(test)]
mod tests {
    use super::super::validate::check;
    use super::*;
    use pyxis_core::auth::{HeaderFormat, HeaderList, Headers};
    use serde_json::json;

    fn secret(value: serde_json::Value) -> SecretValue {
        SecretValue::from_json(value).unwrap()
    }

    fn several(headers: Vec<HeaderFormat>) -> Auth {
        Auth::Header(Headers::Several(HeaderList { headers }))
    }

    #[test]
    fn every_kind_puts_the_secret_where_it_belongs() {
        let mut headers = HeaderMap::new();
        attach(&Auth::Bearer {}, &secret(json!("tok")), &mut headers, "/").unwrap();
        assert_eq!(headers["authorization"], "Bearer tok");

        let pair = secret(json!({"username": "Aladdin", "password": "open sesame"}));
        attach(&Auth::Basic {}, &pair, &mut headers, "/").unwrap();
        assert_eq!(headers["authorization"], "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");

        attach(&Auth::Cookie { name: "sid".into() }, &secret(json!("x1")), &mut headers, "/").unwrap();
        assert_eq!(headers["cookie"], "sid=x1");

        let formats = vec![
            HeaderFormat { name: "X-Key".into(), format: "{secret.key}".into() },
            HeaderFormat { name: "X-Sig".into(), format: "v1={secret.sig};".into() },
        ];
        let both = secret(json!({"key": "k", "sig": "s"}));
        attach(&several(formats), &both, &mut headers, "/").unwrap();
        assert_eq!(
            (&headers["x-key"], &headers["x-sig"]),
            (&"k".parse().unwrap(), &"v1=s;".parse().unwrap())
        );
    }

    #[test]
    fn a_query_credential_replaces_what_the_agent_put_there_under_any_spelling() {
        let auth = Auth::Query { parameter: "api_key".into() };
        let wire = "/v1?a=1&api%5Fkey=mine&api_key=mine2&b=2";
        let changed = attach(&auth, &secret(json!("a&b=c")), &mut HeaderMap::new(), wire).unwrap();
        assert_eq!(changed.unwrap().as_str(), "/v1?a=1&b=2&api_key=a%26b%3Dc");
    }

    #[test]
    fn a_cookie_is_one_value_of_characters_that_a_cookie_may_have() {
        let auth = Auth::Cookie { name: "sid".into() };
        for value in
            ["abc", "a=b&c", "\"quoted\"", "s%3Aabc.def/+=", "{x:[1]}", "!#$%&'()*+-./:<=>?@[]^_`{|}~"]
        {
            assert!(check(&auth, &secret(json!(value))).is_ok(), "{value}");
        }
        for (value, named) in [
            ("a; other=1", "semicolon"),
            ("a;", "semicolon"),
            ("\"a;b\"", "semicolon"),
            ("a,b", "comma"),
            ("a b", "space"),
            ("a\"b", "quotation mark"),
            ("\"", "quotation mark"),
            ("\"a", "quotation mark"),
            ("a\\b", "backslash"),
            ("a\tb", "control character"),
            ("a\u{7f}", "control character"),
            ("é", "outside ASCII"),
        ] {
            let error = check(&auth, &secret(json!(value))).unwrap_err();
            let Error::InvalidField { field, detail } = &error else { panic!("{value:?}: {error:?}") };
            assert_eq!(field, "secret", "{value:?}");
            assert!(detail.contains(named), "{value:?}: {detail}");
        }
        // What is stored with one kind is looked at again when it becomes a cookie.
        assert!(check(&Auth::Bearer {}, &secret(json!("a; b"))).is_ok());
    }

    #[test]
    fn a_secret_without_the_needed_parts_is_refused_when_written() {
        assert!(check(&Auth::Basic {}, &secret(json!("no colon"))).is_err());
        assert!(check(&Auth::Bearer {}, &secret(json!({"a": "b"}))).is_err());
        assert!(check(&Auth::Bearer {}, &secret(json!("line\nbreak"))).is_err());
        let format = HeaderFormat { name: "X".into(), format: "{secret.missing}".into() };
        assert!(check(&several(vec![format]), &secret(json!({"a": "b"}))).is_err());
    }
}
